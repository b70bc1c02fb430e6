"""Sessions that go on after they were killed."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from harness.kit import World, call, calls, of, say
from harness.test_calls import hook

from skilleval.errors import InputError
from skilleval.harness.context.history import History
from skilleval.harness.context.manager import Thresholds
from skilleval.harness.opening import Setup, open_session
from skilleval.harness.permissions import Answer, Mode
from skilleval.harness.resume import resume
from skilleval.models.opening import Models
from skilleval.trace.writer import TraceWriter

TURNS = [call("Bash", command="echo one"), call("Bash", command="echo two"), say("done")]


def assert_valid(history: History) -> None:
    """Each call is answered in the next message, by nothing but its result."""
    open_calls: list[str] = []
    for message in history.messages:
        results = [b["tool_use_id"] for b in message["content"] if b["type"] == "tool_result"]
        assert sorted(results) == sorted(open_calls)
        open_calls = [b["id"] for b in message["content"] if b["type"] == "tool_use"]
    assert not open_calls


def test_it_is_as_it_was(world: World) -> None:
    world.run(TURNS)
    before = world.last.history
    found = resume(str(world.trace))
    assert found.history.messages == before.messages
    assert found.history.tokens == before.tokens
    assert (found.turns, found.prompts, found.outcome) == (3, 1, "completed")


def test_it_goes_on_from_any_point(world: World) -> None:
    world.run(TURNS)
    lines = world.trace.read_bytes().splitlines(keepends=True)
    for kept in range(1, len(lines) + 1):
        world.trace.write_bytes(b"".join(lines[:kept]))
        found = resume(str(world.trace))
        assert_valid(found.history)
        events = world.run([*TURNS, say("again")], "Go on.", resuming=True)
        assert world.last.ended and world.last.ended.outcome == "completed", kept
        assert_valid(world.last.history)
        assert [event["n"] for event in events] == list(range(len(events)))
        assert of(events, "resume")[0]["session"] == events[0]["session"]


def test_a_call_that_was_under_way_is_said_to_be_lost(world: World) -> None:
    world.run(TURNS)
    lines = world.trace.read_bytes().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if json.loads(line)["type"] == "tool")
    world.trace.write_bytes(b"".join(lines[: at + 1]) + lines[at + 1][:20])
    found = resume(str(world.trace))
    assert len(found.lost) == 1
    assert "not known" in str(found.history.messages[-1])


def test_grants_are_earned_again(world: World) -> None:
    asked: list[str] = []

    async def person(*words: object) -> Answer:
        asked.append("asked")
        return Answer(True, "", "Bash(touch:*)")

    turns = [call("Bash", command="touch x"), say("ok"), call("Bash", command="touch y"), say("ok")]
    parts = {"mode": Mode.DEFAULT, "opening": {"callback": person}}
    world.run(turns, **parts)
    assert len(asked) == 1
    world.run(turns, "Again.", resuming=True, **parts)
    assert len(asked) == 2


def test_a_resumed_session_says_so_to_hooks(world: World) -> None:
    settings = world.settings(hooks={"SessionStart": [hook("print('source '+p['source'])")]})
    world.run([say("one"), say("two")], settings=[settings])
    events = world.run([say("one"), say("two")], "More.", resuming=True, settings=[settings])
    assert "source resume" in str(of(events, "prompt")[1]["content"])


def test_progress_of_an_earlier_session_is_told(world: World) -> None:
    (world.workspace / "PROGRESS.md").write_text("Half of the parser is done.")
    events = world.run([say("ok")])
    assert "Half of the parser is done." in str(of(events, "prompt")[0]["content"])


@pytest.mark.parametrize("content", ["", '{"type":"prompt"}\n', '{"type":"start","driver":"x"}\n'])
def test_what_can_not_go_on_says_so(tmp_path: Path, content: str) -> None:
    path = tmp_path / "t"
    path.write_text(content)
    with pytest.raises(InputError):
        resume(str(path))


def hooked(world: World) -> str:
    """Settings whose hooks tell the model something with each prompt, call and batch."""
    told = {
        event: [hook(f"print(json.dumps({{'hookSpecificOutput': {{'hookEventName': {event!r}, "
                     f"'additionalContext': {event!r}}}}}))")]
        for event in ("UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolBatch")
    }  # fmt: skip
    return world.settings(hooks=told)


def skill(world: World, name: str) -> None:
    folder = world.folder / "skills" / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Does {name}.\n---\nDo it.\n")


WARN = (0.02, 0.04, 0.1)
SHAPED = {
    "results": Thresholds(results=0.02, warn=WARN),
    "microcompact": Thresholds(1, 1, 0.02, 1, 1, warn=WARN),
    "collapse": Thresholds(1, 1, 1, 0.02, 1, warn=WARN),
}


def rich(world: World, shaper: str) -> dict[str, Any]:
    """A session with all that can be in one: hooks, skills, progress, pressure."""
    (world.workspace / "PROGRESS.md").write_text("Half is done.")
    for name in ("one", "two"):
        skill(world, name)
    (world.workspace / "a.txt").write_text(("word " * 16 + "\n") * 3_000)
    reads = [("Read", {"file_path": "a.txt", "limit": n + 700}) for n in range(3)]
    turns = [
        calls(*reads),
        calls(("Skill", {"skill": "one"}), ("Skill", {"skill": "two"})),
        call("Bash", command="seq 9000"),
        calls(*reads),
        call("Bash", command="true"),
        calls(("Read", {"file_path": "a.txt", "limit": 1})),
        say("Done."),
        say("Done."),
        say("Done."),
    ]
    return {
        "turns": turns,
        "skills": world.folder / "skills",
        "settings": [hooked(world)],
        "thresholds": SHAPED[shaper],
    }


@pytest.mark.parametrize("shaper", SHAPED)
def test_all_that_the_model_was_told_comes_back(world: World, shaper: str) -> None:
    events = world.run(**rich(world, shaper))
    assert {event["shaper"] for event in of(events, "shaped")} == {shaper}
    assert "of the context window is used" in str(of(events, "reminder"))
    found = resume(str(world.trace))
    assert found.history.messages == world.last.history.messages
    assert found.history.tokens == world.last.history.tokens
    assert found.loaded == ["one", "two"]


@pytest.mark.slow
def test_it_goes_on_twice_from_any_point(world: World) -> None:
    setup = rich(world, "results")
    turns = setup.pop("turns")
    world.run(turns, **setup)
    lines = world.trace.read_bytes().splitlines(keepends=True)
    for kept in range(1, len(lines) + 1, 2):
        world.trace.write_bytes(b"".join(lines[:kept]) + [*lines, b""][kept][:30])
        for _ in range(2):  # killed, gone on, killed at once, gone on
            world.run(turns, "Go on.", resuming=True, **setup)
            assert world.last.ended and world.last.ended.outcome == "completed", kept
            assert_valid(world.last.history)
            assert resume(str(world.trace)).history.messages == world.last.history.messages


def test_calls_that_were_lost_before_stay_where_they_were(world: World) -> None:
    world.run(TURNS)
    lines = world.trace.read_bytes().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if json.loads(line)["type"] == "tool")
    world.trace.write_bytes(b"".join(lines[: at + 1]))
    world.run([*TURNS, say("again")], "Go on.", resuming=True)
    found = resume(str(world.trace))
    assert_valid(found.history)
    assert not found.lost
    assert found.history.messages == world.last.history.messages


def test_one_session_at_a_time_writes_a_trace(world: World) -> None:
    world.run(TURNS)
    with TraceWriter(str(world.trace), "other"), pytest.raises(InputError, match="another session"):
        world.run(TURNS, resuming=True)
    world.run([*TURNS, say("again")], resuming=True)


def test_a_trace_that_grows_while_it_is_read_is_read_again(world: World) -> None:
    world.run([*TURNS, say("again")])
    before = resume(str(world.trace))
    world.run([*TURNS, say("again")], resuming=True)
    setup = Setup(world.script(TURNS), str(world.workspace))

    async def late() -> None:
        async with (
            Models({}) as models,
            open_session(setup, models, str(world.trace), resumed=before),
        ):
            pass  # pragma: no cover

    with pytest.raises(InputError, match="has grown"):
        asyncio.run(late())


START = {"type": "start", "driver": "native", "session": "s", "n": 0}


@pytest.mark.parametrize(
    "event",
    [
        {"type": "prompt"},
        {"type": "prompt", "content": 5},
        {"type": "prompt", "content": ["x"]},
        {"type": "prompt", "content": [{"type": []}]},
        {"type": "prompt", "content": [{"type": "text"}]},
        {"type": "prompt", "content": [{"type": "text", "text": 1}]},
        {"type": "reply", "content": [{"type": "tool_use", "id": "a"}]},
        {"type": "reply", "content": [{"type": "tool_use", "id": [], "name": "x", "input": {}}]},
        {"type": "reply", "content": [{"type": "tool_use", "id": "a", "name": "x", "input": 1}]},
        {"type": "reply", "content": [], "usage": ["x"]},
        {"type": "reply", "content": [], "usage": [1] * 9},
        {"type": "reply", "content": [], "cost": "free"},
        {"type": "reply", "content": [], "cost": -5},
        {"type": "reminder", "content": None},
        {"type": "shaped", "messages": 5},
        {"type": "shaped", "messages": [[]]},
        {"type": "shaped", "messages": [{"role": "user"}]},
        {"type": "shaped", "messages": [], "folded": "x"},
        {"type": "warning", "about": "summary", "cost": []},
        {"type": "end", "n": "x"},
        {"type": "end", "n": 1e999},
    ],
)
def test_a_foreign_trace_that_makes_no_sense_is_one_clear_error(
    tmp_path: Path, event: dict[str, Any]
) -> None:
    path = tmp_path / "t"
    path.write_text(json.dumps(START) + "\n" + json.dumps(event) + "\n")
    with pytest.raises(InputError, match=r"event 1 .* makes no sense"):
        resume(str(path))


def test_the_trace_of_a_subagent_does_not_go_on(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text(json.dumps({**START, "agent": "abc"}) + "\n")
    with pytest.raises(InputError, match="subagent"):
        resume(str(path))


def test_what_subagents_and_summaries_cost_is_spent(tmp_path: Path) -> None:
    path, theirs = tmp_path / "t.jsonl", tmp_path / "agents" / "agent-a1.jsonl"
    theirs.parent.mkdir()
    reply = {"type": "reply", "content": [], "usage": [1, 1]}
    events = [
        START,
        {**reply, "cost": 1.0},
        {"type": "agent", "agent_id": "a1"},
        {"type": "agent", "agent_id": "../../a1"},
        {"type": "agent", "agent_id": "killedbeforeitbegan"},
        {"type": "warning", "about": "summary", "cost": 0.25},
    ]
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    started = {**START, "agent": "a1"}
    theirs.write_text(json.dumps(started) + "\n" + json.dumps({**reply, "agent": "a1", "cost": 2}))
    assert resume(str(path)).cost == 3.25
    theirs.write_text(json.dumps(started) + "\n" + json.dumps({**reply, "agent": "a1"}) + "\n")
    assert resume(str(path)).cost is None
