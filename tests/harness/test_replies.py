"""Replies that no good endpoint gives: the session goes on, and stays one that can be sent."""

from __future__ import annotations

from typing import Any

import pytest
from harness.kit import World, of, results
from harness.raw import message, say_raw, use

from skilleval.errors import Failure, ModelError
from skilleval.harness.context.manager import Thresholds
from skilleval.harness.resume import resume
from skilleval.harness.session import SessionLimits
from skilleval.harness.tools import Budgets

THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "x"}
TWO = ("Do it.", "And then?")
DEEP: dict[str, Any] = {}
for _ in range(90):
    DEEP = {"a": DEEP}

ODD = {
    "nothing": [message()],
    "thoughts only": [message(THOUGHT)],
    "thoughts that are cut": [message(THOUGHT, stop="max_tokens"), message("So.")],
    "a blank text": [message(" \n")],
    "a blank text before a call": [message("", use("Bash", command="true")), message("x")],
    "a call in a refusal": [message(use("Bash", command="touch x"), stop="refusal")],
    "a call in an unknown end": [message(use("Bash", command="touch x"), stop="novelty")],
    "a call in a cut answer": [
        message(use("Bash", command="touch x"), stop="max_tokens"), message("x"),
    ],
    "a call in a pause": [message(use("Bash", command="true"), stop="pause_turn"), message("x")],
    "a call of an ended turn": [message(use("Bash", command="true")), message("x")],
    "no call where one is said to be": [message("x", stop="tool_use")],
    "no reason": [message("x", stop=None)],
    "the same id twice": [
        message(use("Bash", "a", command="echo 1"), use("Bash", "a", command="echo 2")),
        message("x"),
    ],
    "the same id in two turns": [
        message(use("Bash", "a", command="echo 1")),
        message(use("Bash", "a", command="echo 2")),
        message("x"),
    ],
    "no id": [message(use("Bash", "", command="true"), use("Bash", "", command="true")),
              message("x")],
    "an odd id": [message(use("Bash", "a b\x1b\ud800" * 99, command="true")), message("x")],
    "no name": [message(use("")), message("x")],
    "an odd name": [message(use("\x1b[31m\n\ud800é")), message("x")],
    "a huge name": [message(use("x" * 1_000_000)), message("x")],
    "a deep input": [message(use("Bash", **DEEP)), message("x")],
    "a number that is none": [message(use("Read", file_path="a", offset=1e400)), message("x")],
    "lone surrogates": [
        message(
            use("Bash", command="echo \ud800"),
            use("Read", file_path="\ud800"),
            use("Write", file_path="\ud800", content="x"),
            use("Write", file_path="a", content="\ud800"),
            use("Edit", file_path="\ud800", old_string="a", new_string="b"),
            use("Grep", pattern="\ud800"),
            use("Glob", pattern="\ud800*"),
            use("memory", command="create", path="/memories/\ud800", file_text="\ud800"),
        ),
        message("\ud800"),
    ],
    "bytes that no path holds": [
        message(use("Bash", command="a\0b"), use("Read", file_path="a\0b")), message("x"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_the_next_prompt_is_answered(world: World, name: str) -> None:
    events, raw = say_raw(world, *ODD[name], message("Fine."), prompts=TWO)
    assert not raw.answers
    last = of(events, "end")[-1]
    assert (last["outcome"], last["text"]) == ("completed", "Fine.")
    assert not (world.workspace / "x").exists()
    assert resume(str(world.trace)).history.messages == world.last.history.messages


def test_each_call_has_a_result_of_its_own(world: World) -> None:
    events, _ = say_raw(world, *ODD["the same id twice"])
    assert results(events) == ["1", "2"]
    assert len({event["tool_use"] for event in of(events, "result")}) == 2


def test_an_input_that_is_too_long_for_the_trace_does_not_end_the_session(world: World) -> None:
    huge = message(use("Bash", command="x" * 17_000_000))
    limit = Budgets(bash_characters=100)
    say_raw(world, huge, message("No."), budgets=limit)
    events, _ = say_raw(world, message("Fine."), prompts=["Go on."], resuming=True)
    assert of(events, "end")[-1]["outcome"] == "completed"
    assert "too long for a trace" in str(of(events, "reply")[0]["content"])


def test_the_same_failing_call_for_ever_ends(world: World) -> None:
    again = [message(use("Read", file_path="missing")) for _ in range(9)]
    events, raw = say_raw(world, *again, limits=SessionLimits(turns=4))
    assert of(events, "end")[0]["outcome"] == "max turns"
    assert len(raw.sent) == 4


def test_pauses_without_end_end(world: World) -> None:
    events, _ = say_raw(
        world, *[message("…", stop="pause_turn")] * 9, limits=SessionLimits(turns=4)
    )
    assert of(events, "end")[0]["outcome"] == "max turns"


def test_a_summary_that_fails_is_an_outcome(world: World) -> None:
    full = message("x", usage={"input_tokens": 190_000, "output_tokens": 5})
    broken = ModelError(Failure.INVALID_REQUEST, "no summaries today")
    events, _ = say_raw(
        world, full, broken, prompts=TWO,
        thresholds=Thresholds(summary=0.5, collapse=1, microcompact=1, snip=1, results=1),
    )  # fmt: skip
    ends = of(events, "end")
    assert [end["outcome"] for end in ends] == ["completed", "error"]
    assert ends[1]["reason"] == "no summaries today"
