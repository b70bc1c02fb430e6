"""Subagents: a context of their own, one message back, bounded."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from harness.kit import World, call, calls, of, results, say

from skilleval.errors import InputError
from skilleval.harness.agents import GENERAL, AgentType, read_agents, task_prompt
from skilleval.harness.session import SessionLimits
from skilleval.trace.reader import read_events


def task(prompt: str = "Count to three.", **more: Any) -> tuple[str, dict[str, Any]]:
    return "Agent", {"description": "count", "prompt": prompt, **more}


def script(parent: list[dict[str, Any]], child: list[dict[str, Any]]) -> dict[str, Any]:
    return {"turns": parent, "conversations": [{"when": "Objective:", "turns": child}]}


def test_only_the_prompt_goes_in_and_the_last_message_comes_out(world: World) -> None:
    child = [{"text": "Let me see.", **call("Bash", command="seq 3")}, say("One, two, three.")]
    events = world.run(script([calls(task()), say("The agent counted.")], child), "secret words")
    assert results(events) == ["One, two, three."]
    started = of(events, "agent")[0]
    theirs = list(read_events(str(world.folder / started["trace"])))
    assert "secret words" not in str(theirs)
    assert "Let me see." not in str(events)
    assert {event.get("agent") for event in theirs} == {started["agent_id"]}
    assert theirs[-1]["outcome"] == "completed"
    assert "Agent" not in [tool["name"] for tool in theirs[0]["tools"]]


def test_several_work_at_once(world: World) -> None:
    child = [call("Bash", command="sleep 0.3; date +%s%N"), say("done")]
    parent = [calls(*[task(f"Task {n}.") for n in range(3)]), say("All done.")]
    events = world.run(script(parent, child))
    ids = [event["agent_id"] for event in of(events, "agent")]
    assert len(set(ids)) == 3
    order = [event["type"] for event in events if event["type"] in ("agent", "result")]
    assert order == ["agent"] * 3 + ["result"] * 3


def test_their_number_and_depth_are_bounded(world: World) -> None:
    parent = [calls(task("One."), task("Two.")), say("ok")]
    events = world.run(script(parent, [say("done")]), limits=SessionLimits(agents=1))
    assert sorted(results(events))[0].startswith("1 agents were started")
    start = world.run([say("ok")], "x", resuming=False, limits=SessionLimits(depth=0))
    assert "Agent" not in [tool["name"] for tool in start[-3].get("tools", [])]


def test_one_that_does_not_finish_says_so(world: World) -> None:
    child = [{**call("Bash", command="true"), "repeat": "forever"}]
    events = world.run(script([calls(task()), say("ok")], child), limits=SessionLimits(turns=3))
    result = of(events, "result")[0]
    assert result["is_error"] and "did not finish (max turns" in result["content"]


def test_kinds_come_from_the_workspace_and_have_their_own_tools(world: World) -> None:
    folder = world.workspace / ".claude" / "agents"
    folder.mkdir(parents=True)
    (folder / "looker.md").write_text(
        "---\nname: looker\ndescription: Looks.\ntools: Read, Grep\n---\nYou only look.\n"
    )
    parent = [calls(task(subagent_type="looker")), say("ok")]
    events = world.run(script(parent, [say("seen")]))
    started = of(events, "agent")[0]
    theirs = list(read_events(str(world.folder / started["trace"])))
    assert sorted(tool["name"] for tool in theirs[0]["tools"]) == ["Grep", "Read"]
    assert theirs[0]["system"][0]["text"].startswith("You only look.")
    assert "looker: Looks." in str(events[0]["tools"])


def test_an_agent_can_have_a_working_tree_of_its_own(world: World) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    for words in (["init", "-q"], [*identity, "commit", "-q", "--allow-empty", "-m", "one"]):
        subprocess.run(["git", *words], cwd=world.workspace, check=True)
    child = [call("Bash", command="pwd; echo x > new.txt"), say("written")]
    parent = [calls(task(isolation="worktree")), say("ok")]
    events = world.run(script(parent, child))
    assert "Its changes are in the working tree /workspace/.worktrees/agent-" in results(events)[0]
    assert not (world.workspace / "new.txt").exists()
    assert list(world.workspace.glob(".worktrees/agent-*/new.txt"))


def test_the_contract_names_objective_format_guidance_and_boundaries() -> None:
    text = task_prompt("Find it.", "One line.", "Use Grep.", "Change nothing.")
    assert text == (
        "Objective: Find it.\n\nOutput format: One line.\n\nGuidance: Use Grep.\n\n"
        "Boundaries: Change nothing."
    )
    assert task_prompt("Find it.", "", " ", "") == "Objective: Find it."


def test_definitions_are_read(tmp_path: Path) -> None:
    assert read_agents(str(tmp_path)) == [GENERAL]
    folder = tmp_path / ".claude" / "agents"
    folder.mkdir(parents=True)
    (folder / "a.md").write_text(
        "---\nname: a\ndescription: Does a.\nmodel: inherit\n---\n\nBe brief.\n"
    )
    assert read_agents(str(tmp_path))[1] == AgentType("a", "Does a.", "Be brief.")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("no frontmatter", "no frontmatter"),
        ("---\nname: a\n---\n", "no description"),
        ("---\ndescription: a\n---\n", "no name"),
        ("---\nname: [\n---\n", "a.md"),
    ],
)
def test_a_broken_definition_is_one_clear_error(tmp_path: Path, text: str, words: str) -> None:
    folder = tmp_path / ".claude" / "agents"
    folder.mkdir(parents=True)
    (folder / "a.md").write_text(text)
    with pytest.raises(InputError, match=words) as error:
        read_agents(str(tmp_path))
    assert "a.md" in error.value.message
