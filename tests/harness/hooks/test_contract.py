"""The contract says something of every event, and payloads are those that were recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import SHARED
from harness.hooks.kit import facts, fire, sample

from skilleval.harness.hooks import EVENTS, Hook, HookEvent, Hooks
from skilleval.harness.hooks.describe import POWERS, render
from skilleval.harness.hooks.events import Power

SAMPLES = SHARED / "claude-code" / "samples"
PAGE = render()
NAMES = """SessionStart Setup UserPromptSubmit UserPromptExpansion PreToolUse PermissionRequest
PermissionDenied PostToolUse PostToolUseFailure PostToolBatch Stop StopFailure Notification
SubagentStart SubagentStop TaskCreated TaskCompleted InstructionsLoaded ConfigChange CwdChanged
FileChanged PreCompact PostCompact SessionEnd""".split()


def section(event: HookEvent) -> str:
    return PAGE.split(f"\n### {event}\n")[1].split("\n### ")[0]


def test_the_events_are_those_promised() -> None:
    assert [str(event) for event in HookEvent] == NAMES
    assert list(EVENTS) == list(HookEvent)


@pytest.mark.parametrize("event", HookEvent)
def test_every_event_is_documented(event: HookEvent) -> None:
    contract = EVENTS[event]
    assert contract.when.endswith(".") and contract.fields and contract.timeout > 0
    assert bool(contract.subject) == bool(contract.values)
    assert contract.can_block or not contract.powers & {Power.BLOCK, Power.PERMISSION}
    text = section(event)
    for part in (
        contract.when,
        f"- exit code 0: {contract.exit_zero}",
        f"- exit code 2: {contract.exit_two}",
        f"- any other exit code: {contract.exit_other}",
        f"- time-out: {contract.timeout:g} s",
        f"answers rubbish: {contract.failure}",
        *(f"- `{field.name}`: {field.meaning}" for field in contract.fields),
        *(POWERS[power][0] for power in contract.powers),
    ):
        assert part in text


def test_the_page_is_whole() -> None:
    assert set(POWERS) == set(Power)
    assert "deny beats defer beats ask beats allow" in PAGE
    assert "  \n" not in PAGE and PAGE.endswith("\n")


@pytest.mark.parametrize("event", HookEvent)
def test_payload_holds_what_the_contract_says(event: HookEvent) -> None:
    seen: list[dict[str, Any]] = []
    verdict = fire(event, Hook(event, "callable", function=seen.append))
    assert [outcome.status for outcome in verdict.outcomes] == ["silent"]
    expected = {"session_id", "transcript_path", "cwd", "hook_event_name"} | {
        field.name for field in EVENTS[event].fields if field.needed or field.default is not None
    }
    expected |= {"permission_mode"} if EVENTS[event].mode else set()
    assert seen[0].keys() == expected
    assert seen[0]["hook_event_name"] == event


@pytest.mark.parametrize("event", HookEvent)
def test_a_field_that_is_not_in_the_contract_is_refused(event: HookEvent) -> None:
    with pytest.raises(TypeError, match="has no field nonsense"):
        fire(event, fields={"nonsense": 1})


def test_a_field_that_is_missing_is_refused() -> None:
    import asyncio

    hooks = Hooks([], session=facts())
    with pytest.raises(TypeError, match="lacks its field tool_input, tool_use_id"):
        asyncio.run(hooks.fire(HookEvent.PRE_TOOL_USE, tool_name="Bash"))


def recorded() -> list[dict[str, Any]]:
    paths = sorted(Path(SAMPLES).glob("hook-payloads*.jsonl"))
    lines = [line for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    return [json.loads(line) for line in lines]


def test_payloads_are_those_of_the_real_client() -> None:
    payloads = recorded()
    if not payloads:
        pytest.skip("the recorded payloads are not here")
    compared = set()
    for payload in payloads:
        if payload["hook_event_name"] not in NAMES:
            continue
        event = HookEvent(payload["hook_event_name"])
        common = {"session_id", "transcript_path", "cwd", "hook_event_name", "permission_mode"}
        seen: list[dict[str, Any]] = []
        session = facts(
            payload["cwd"],
            session_id=payload["session_id"],
            transcript_path=payload["transcript_path"],
            permission_mode=payload.get("permission_mode", "default"),
        )
        hook = Hook(event, "callable", function=seen.append)
        fields = {key: value for key, value in payload.items() if key not in common}
        fire(event, hook, session=session, fields=fields)
        assert seen == [payload]
        assert sample(event).keys() <= payload.keys()
        compared.add(event)
    assert len(compared) >= 14
