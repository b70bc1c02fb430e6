"""Subagents: a context of their own, one message back, bounded."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from harness.kit import World, call, calls, of, results, say
from harness.test_calls import hook

from skilleval.errors import InputError
from skilleval.harness.agents import GENERAL, AgentType, read_agents, task_prompt
from skilleval.harness.session import SessionLimits
from skilleval.models.settings import ModelSettings
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
    repository(world)
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


def repository(world: World) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    for words in (["init", "-q"], [*identity, "commit", "-q", "--allow-empty", "-m", "one"]):
        subprocess.run(["git", *words], cwd=world.workspace, check=True)


def define(world: World, text: str) -> None:
    folder = world.workspace / ".claude" / "agents"
    folder.mkdir(parents=True)
    (folder / "own.md").write_text(f"---\nname: own\ndescription: Does it.\n{text}\n---\nWork.\n")


def test_their_events_say_which_call_started_them(world: World) -> None:
    parent = [calls(task("One."), task("Two.")), say("ok")]
    events = world.run(script(parent, [call("Bash", command="true"), say("done")]))
    called = {event["agent_id"]: event["tool_use"] for event in of(events, "agent")}
    assert set(called.values()) == {event["tool_use"] for event in of(events, "tool")}
    for started in of(events, "agent"):
        theirs = list(read_events(str(world.folder / started["trace"])))
        assert {event["parent"] for event in theirs} == {called[started["agent_id"]]}


def test_hooks_are_told_where_each_agent_is(world: World) -> None:
    repository(world)
    note = f"open({str(world.folder / 'notes')!r}, 'a').write(json.dumps(p) + chr(10))"
    settings = world.settings(hooks={"PreToolUse": [hook(note)]})
    child = [call("Bash", command="true"), say("done")]
    parent = [call("Bash", command="true"), calls(task(isolation="worktree"))]
    parent += [call("Bash", command="true"), say("ok")]
    world.run(script(parent, child), settings=[settings])
    told = [json.loads(line) for line in (world.folder / "notes").read_text().splitlines()]
    before, _, theirs, after = ((each["cwd"], each["prompt_id"]) for each in told)
    assert before == after and before[0] == str(world.workspace)
    assert "/.worktrees/agent-" in theirs[0] and theirs[1] != before[1]


@pytest.mark.parametrize("model", ["offline/nothing", "claude-haiku-4-5", "no/such"])
def test_one_that_can_not_be_had_leaves_nothing_behind(world: World, model: str) -> None:
    repository(world)
    define(world, f"model: {model}")
    parent = [calls(task(subagent_type="own", isolation="worktree")), say("I do it myself.")]
    events = world.run(script(parent, [say("x")]))
    assert "The agent own can't be had" in results(events)[0]
    assert not of(events, "agent")
    assert not list(world.workspace.glob(".worktrees/*"))
    assert world.last.ended and world.last.ended.outcome == "completed"


def test_one_whose_price_is_not_known_does_not_work_on_a_budget(world: World) -> None:
    define(world, "model: costly")
    known = {"costly": ModelSettings(base_url="http://127.0.0.1:1")}
    parent = [calls(task(subagent_type="own")), say("ok")]
    events = world.run(script(parent, [say("x")]), limits=SessionLimits(dollars=1.0), known=known)
    assert "the price of costly is not known" in results(events)[0]
    assert world.last.ended and world.last.ended.outcome == "completed"


def test_a_workspace_without_a_repository_has_no_second_tree(world: World) -> None:
    events = world.run(script([calls(task(isolation="worktree")), say("ok")], [say("x")]))
    assert "can't be given a second working tree" in results(events)[0]
    assert not of(events, "agent")


def test_a_tree_in_which_nothing_was_changed_is_gone(world: World) -> None:
    repository(world)
    events = world.run(script([calls(task(isolation="worktree")), say("ok")], [say("Nothing.")]))
    assert results(events) == ["Nothing."]
    assert of(events, "agent")[0]["worktree"].startswith("/workspace/.worktrees/agent-")
    assert not list(world.workspace.glob(".worktrees/*"))


def test_agents_of_agents_count(world: World) -> None:
    define(world, "tools: Agent, Bash")
    mine = ("Agent", {"description": "d", "prompt": "Objective", "subagent_type": "own"})
    turns = {"when": "Objective:", "turns": [calls(mine, mine), say("done")]}
    events = world.run(
        {"turns": [calls(mine), say("ok")], "conversations": [turns]},
        limits=SessionLimits(agents=2, depth=3),
    )
    assert results(events) == ["done"]
    traces = list(world.folder.glob("**/agent-*.jsonl"))
    assert len(traces) == 2
    said = "".join(path.read_text() for path in traces)
    assert "2 agents were started, which is the limit" in said


def test_they_know_nothing_of_the_files_that_their_parent_has_read(world: World) -> None:
    (world.workspace / "a.txt").write_text("old")
    edit = call("Edit", file_path="a.txt", old_string="old", new_string="new")
    parent = [call("Read", file_path="a.txt"), calls(task("Edit it.")), edit, say("ok")]
    events = world.run(script(parent, [edit, say("done")]))
    theirs = list(read_events(str(world.folder / of(events, "agent")[0]["trace"])))
    assert of(theirs, "result")[0]["is_error"] and "Read" in results(theirs)[0]
    assert (world.workspace / "a.txt").read_text() == "new"  # the parent's edit was good


def test_the_last_generation_can_start_none(world: World) -> None:
    define(world, "tools: Agent, Bash")
    mine = ("Agent", {"description": "d", "prompt": "Go.", "subagent_type": "own"})
    for depth, has in ((1, False), (2, True)):
        events = world.run(script([calls(mine), say("ok")], [say("done")]),
                           limits=SessionLimits(depth=depth))  # fmt: skip
        start = next(read_events(str(world.folder / of(events, "agent")[0]["trace"])))
        assert ("Agent" in {tool["name"] for tool in start["tools"]}) is has
        world.trace.unlink()


def test_no_more_work_at_once_than_may(world: World) -> None:
    child = [call("Bash", command="echo x >> log; sleep 0.2; cat log; rm log"), say("done")]
    parent = [calls(*[task(f"Task {n}.") for n in range(3)]), say("ok")]
    events = world.run(script(parent, child), limits=SessionLimits(at_once=1))
    for started in of(events, "agent"):
        theirs = read_events(str(world.folder / started["trace"]))
        assert results(list(theirs)) == ["x"]
