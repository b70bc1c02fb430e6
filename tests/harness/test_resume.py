"""Sessions that go on after they were killed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from harness.kit import World, call, of, say
from harness.test_calls import hook

from skilleval.errors import InputError
from skilleval.harness.context.history import History
from skilleval.harness.permissions import Answer, Mode
from skilleval.harness.resume import resume

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
