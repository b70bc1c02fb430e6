"""Which hooks an event calls, and with what."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from harness.hooks.kit import facts, fire, sample, says

from skilleval.harness.hooks import Hook, HookEvent, Hooks, Verdict

E = HookEvent


def names(verdict: Verdict) -> list[str]:
    return [outcome.name for outcome in verdict.outcomes]


def test_no_hook_no_verdict() -> None:
    assert fire(E.STOP) == Verdict()
    assert fire(E.STOP, says(None, E.PRE_TOOL_USE)) == Verdict()


def test_matchers_are_tried_on_the_subject_of_the_event() -> None:
    hooks = [
        says(None, E.PRE_TOOL_USE, matcher=matcher, name=matcher)
        for matcher in ("Bash", "Edit|Write", "*", "mcp__.*")
    ]
    assert names(fire(E.PRE_TOOL_USE, *hooks)) == ["Bash", "*"]
    assert names(fire(E.PRE_TOOL_USE, *hooks, fields={"tool_name": "mcp__a__b"})) == [
        "*",
        "mcp__.*",
    ]
    watching = says(None, E.FILE_CHANGED, matcher=".env", name="env")
    assert names(fire(E.FILE_CHANGED, watching)) == ["env"]
    assert names(fire(E.FILE_CHANGED, watching, fields={"file_path": "/x/.envrc"})) == []


def test_a_subject_can_be_given() -> None:
    hooks = Hooks([says(None, E.PRE_TOOL_USE, matcher="Shell", name="x")], session=facts())
    fired = hooks.fire(E.PRE_TOOL_USE, "Shell", **sample(E.PRE_TOOL_USE))
    assert names(asyncio.run(fired)) == ["x"]


def test_the_same_command_runs_once(tmp_path: Any) -> None:
    line = "echo x >> ran; exit 1"
    hooks = [
        Hook(E.PRE_TOOL_USE, command=line, name="one"),
        Hook(E.PRE_TOOL_USE, command=line, matcher="Bash", on_failure="block", name="two"),
        Hook(E.PRE_TOOL_USE, command=f"{line} ", name="three"),
        Hook(E.PRE_TOOL_USE, command=line, shell="bash", name="four"),
    ]
    verdict = fire(E.PRE_TOOL_USE, *hooks, cwd=tmp_path)
    assert names(verdict) == ["one", "three", "four"]
    assert (tmp_path / "ran").read_text() == "x\nx\nx\n"
    assert (verdict.behavior, verdict.decided_by) == ("deny", "one")


def test_conditions_are_asked_of_the_permission_rules() -> None:
    def fits(rule: str, tool: str, given: Mapping[str, Any]) -> bool:
        return rule == f"{tool}({given['command']})"

    hooks = [
        says(None, E.PRE_TOOL_USE, condition=rule, name=rule)
        for rule in ("Bash(ls)", "Bash(git *)", "")
    ]
    hooks[2] = replace(hooks[2], name="always")
    assert names(fire(E.PRE_TOOL_USE, *hooks, rule_matches=fits)) == ["Bash(ls)", "always"]
    assert names(fire(E.PRE_TOOL_USE, *hooks)) == ["Bash(ls)", "Bash(git *)", "always"]


def test_common_fields_follow_the_session() -> None:
    seen: list[dict[str, Any]] = []
    hooks = Hooks([Hook(E.STOP, "callable", function=seen.append)], session=facts("/a"))
    given = sample(E.STOP)
    asyncio.run(hooks.fire(E.STOP, **given))
    hooks.session = replace(hooks.session, cwd="/b", permission_mode="plan", prompt_id="p1")
    asyncio.run(hooks.fire(E.STOP, **given, agent_id="a1", agent_type=""))
    asyncio.run(hooks.fire(E.STOP, **given, agent_id=None, agent_type=None, prompt_id="p2"))
    first, second, third = seen
    assert (first["cwd"], first["permission_mode"]) == ("/a", "default")
    assert not first.keys() & {"prompt_id", "agent_id", "agent_type"}
    assert (second["cwd"], second["permission_mode"], second["prompt_id"]) == ("/b", "plan", "p1")
    assert (second["agent_id"], second["agent_type"]) == ("a1", "")
    assert third["prompt_id"] == "p2" and "agent_id" not in third


def test_a_field_that_may_be_null_stays() -> None:
    seen: list[dict[str, Any]] = []
    hook = Hook(E.PRE_COMPACT, "callable", function=seen.append)
    fire(E.PRE_COMPACT, hook, fields={"custom_instructions": None})
    assert seen[0]["custom_instructions"] is None


def test_what_json_can_not_hold_is_refused() -> None:
    with pytest.raises(TypeError):
        fire(E.PRE_TOOL_USE, says(None), fields={"tool_input": {"a": object()}})


def test_outcomes_stand_in_the_order_of_registration() -> None:
    async def slow(payload: dict[str, Any]) -> str:
        await asyncio.sleep(0.05)
        return "slow"

    event = E.SESSION_START
    hooks = [Hook(event, "callable", function=slow, name="slow"), says("fast", event, name="fast")]
    verdict = fire(event, *hooks)
    assert names(verdict) == ["slow", "fast"]
    assert verdict.additional_context == ("slow", "fast")
    assert verdict.outcomes[0].ms >= 50
