"""The loop: every way to go on, and every way to end."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest
from harness.kit import World, call, calls, of, results, say

from skilleval.errors import ExitCode
from skilleval.harness.context.manager import Thresholds
from skilleval.harness.session import Outcome, Purse, SessionLimits


def ended(world: World) -> tuple[str, str]:
    assert world.last.ended
    return str(world.last.ended.outcome), world.last.ended.reason


def test_it_asks_acts_and_answers(world: World) -> None:
    (world.workspace / "a.txt").write_text("hello\n")
    events = world.run([call("Bash", command="cat a.txt; echo $((6*7))"), say("It says hello.")])
    assert ended(world) == ("completed", "")
    assert world.last.ended and world.last.ended.text == "It says hello."
    assert "hello\n42" in results(events)[0]
    kinds = [event["type"] for event in events]
    assert kinds == [
        "start", "prompt", "request", "reply", "tool", "permission", "result", "request", "reply",
        "end",
    ]  # fmt: skip
    assert [event["n"] for event in events] == list(range(len(events)))
    assert len({event["prompt"] for event in events[1:]}) == 1


def test_the_first_event_says_what_was_visible(world: World) -> None:
    (world.workspace / "CLAUDE.md").write_text("Use tabs.")
    start = world.run([say("ok")])[0]
    assert start["instructions"] == ["CLAUDE.md"]
    assert {tool["name"] for tool in start["tools"]} >= {"Read", "Write", "Edit", "Bash", "Grep"}
    assert start["sandbox"] in ("bubblewrap", "landlock")
    assert start["mode"] == "bypassPermissions"
    assert start["servers"] == [] and start["skills"] == []
    assert "Use tabs." in str(start["system"])


def test_the_prefix_is_the_same_in_every_request(world: World) -> None:
    sent: list[dict[str, Any]] = []
    turns = [call("Bash", command=f"echo {n} > {n}.txt") for n in range(3)] + [say("done")]

    from skilleval.models.endpoint import Endpoint

    answer = Endpoint.answer

    async def watched(self: Endpoint, request: dict[str, Any], **more: Any) -> Any:
        sent.append(request)
        return await answer(self, request, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Endpoint, "answer", watched)
        world.run(turns)
    prefixes = {repr((request["tools"], request["system"])) for request in sent}
    assert len(sent) == 4 and len(prefixes) == 1
    for request in sent:
        marks = repr(request).count("cache_control")
        assert marks <= 4
    for before, after in itertools.pairwise(sent):
        start = repr(before["messages"]).replace(", 'cache_control': {'type': 'ephemeral'}", "")
        whole = repr(after["messages"]).replace(", 'cache_control': {'type': 'ephemeral'}", "")
        assert whole.startswith(start.removesuffix("]"))


def test_reads_run_together_and_writes_in_order(world: World) -> None:
    for name in "abc":
        (world.workspace / name).write_text(name)
    turn = calls(
        ("Read", {"file_path": "a"}),
        ("Read", {"file_path": "b"}),
        ("Bash", {"command": "echo one > order"}),
        ("Bash", {"command": "echo two >> order; cat order"}),
        ("Read", {"file_path": "c"}),
    )
    events = world.run([turn, say("done")])
    kinds = [(event["type"], event.get("name")) for event in events if "tool_use" in event]
    started = [name for kind, name in kinds if kind == "tool"]
    assert started == ["Read", "Read", "Bash", "Bash", "Read"]
    first = [kind for kind, _ in kinds].index("result")
    assert [kind for kind, _ in kinds][:first].count("tool") == 2  # both reads before any result
    assert "one\ntwo" in results(events)[3]
    message = world.last.history.messages[2]
    ids = [block["tool_use_id"] for block in message["content"]]
    replied = of(events, "reply")[0]["content"]
    assert ids == [block["id"] for block in replied if block["type"] == "tool_use"]


def test_a_bad_call_is_a_result_that_guides(world: World) -> None:
    turns = [
        call("Nothing", x=1),
        call("Read", path="a"),
        call("Read", file_path="missing.txt"),
        say("done"),
    ]
    unknown, wrong, missing = results(world.run(turns))
    assert "There is no tool Nothing" in unknown and "Read" in unknown
    assert "file_path" in wrong
    assert "missing.txt" in missing
    assert world.last.ended and world.last.ended.outcome is Outcome.COMPLETED


@pytest.mark.parametrize(
    ("turn", "outcome", "words"),
    [
        (say("no", stop_reason="refusal", explanation="harmful"), "refused", "harmful"),
        ({"error": {"status": 400, "message": "bad thing"}}, "error", "bad thing"),
        ({"error": {"status": 401, "message": "no key"}}, "error", "no key"),
    ],
)
def test_it_ends_with_a_named_outcome(
    world: World, turn: dict[str, Any], outcome: str, words: str
) -> None:
    events = world.run([turn])
    assert ended(world)[0] == outcome
    assert words in ended(world)[1]
    assert of(events, "end")[0]["outcome"] == outcome


def test_what_the_user_set_up_wrong_ends_with_its_own_exit_code(world: World) -> None:
    world.run([{"error": {"status": 401, "message": "no key"}}])
    assert world.last.ended and world.last.ended.exit_code is ExitCode.USAGE


def test_too_many_turns(world: World) -> None:
    turn = {**call("Bash", command="true"), "repeat": "forever"}
    world.run([turn], limits=SessionLimits(turns=3))
    assert ended(world) == ("max turns", "3 answers were not enough")
    assert world.last.turns == 3


def test_a_deadline_ends_a_command_that_hangs(world: World) -> None:
    events = world.run([call("Bash", command="sleep 60")], limits=SessionLimits(seconds=1.0))
    assert ended(world)[0] == "deadline"
    assert of(events, "end")


def test_a_deadline_ends_a_model_that_hangs(world: World) -> None:
    world.run([say("late", delay=60)], limits=SessionLimits(seconds=0.3))
    assert ended(world)[0] == "deadline"


def test_a_cut_answer_goes_on(world: World) -> None:
    events = world.run([say("first half", stop_reason="max_tokens"), say("second half")])
    assert ended(world)[0] == "completed"
    told = of(events, "prompt")[1]
    assert told["internal"] and "cut off at its limit" in told["content"][0]["text"]


def test_an_answer_that_is_always_cut_ends(world: World) -> None:
    world.run([say("x", stop_reason="max_tokens", repeat="forever")])
    assert ended(world)[0] == "error" and "longer than" in ended(world)[1]


def test_a_pause_goes_on(world: World) -> None:
    world.run([say("thinking", stop_reason="pause_turn"), say("done")])
    assert ended(world) == ("completed", "")
    assert world.last.turns == 2


def test_an_overloaded_model_is_asked_again(world: World) -> None:
    error = {"error": {"status": 529, "message": "Overloaded", "retry_after": 0.01}}
    events = world.run([error, say("done")])
    assert ended(world)[0] == "completed"
    assert of(events, "reply")[0]["attempts"] == 2


def test_a_full_window_is_rescued_once(world: World) -> None:
    long = {"status": 400, "message": "prompt is too long: 250000 tokens > 200000 maximum"}
    script = {
        "turns": [
            call("Bash", command="echo " + "x" * 3_000),
            {"error": long, "repeat": "forever"},
        ],
        "conversations": [
            {
                "when": "Sum up the conversation so far",
                "turns": [say("-"), say("<summary>The file was looked at.</summary>")],
            },
            {"when": "was summed up to save context", "turns": [{"error": long}, say("done")]},
        ],
    }
    events = world.run(script)
    assert [event["shaper"] for event in of(events, "shaped")] == ["summary"]
    assert "The file was looked at." in str(world.last.history.messages)
    assert ended(world)[0] == "error" and "prompt is too long" in ended(world)[1]


def test_pressure_clears_old_results(world: World) -> None:
    turns = [call("Bash", command=f"head -c 20000 /dev/zero | tr '\\0' {n}") for n in range(9)]
    events = world.run(
        [*turns, say("done")],
        thresholds=Thresholds(results=0.02, snip=0.9, microcompact=0.9, collapse=0.9),
    )
    assert "results" in [event["shaper"] for event in of(events, "shaped")]
    assert ended(world)[0] == "completed"


def test_an_interruption_is_written_down(world: World) -> None:
    async def interrupted() -> None:
        from harness.kit import Setup

        from skilleval.harness.permissions import Mode

        setup = Setup(
            model=world.script([say("late", delay=60)]),
            workspace=str(world.workspace),
            mode=Mode.BYPASS,
        )
        started = asyncio.Event()

        def watch(event: dict[str, Any]) -> None:
            if event["type"] == "request":
                started.set()

        task = asyncio.create_task(world._run(setup, "Do it.", False, {"watch": watch}, {}))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(interrupted())
    from skilleval.trace.reader import read_events

    last = list(read_events(str(world.trace)))[-1]
    assert (last["type"], last["outcome"]) == ("end", "interrupted")


def test_a_purse_is_empty_when_it_is_spent_or_when_nobody_knows() -> None:
    purse = Purse(1.0)
    purse.pay(0.4)
    assert not purse.empty
    purse.pay(0.7)
    assert purse.empty
    unknown = Purse(1.0)
    unknown.pay(None)
    assert unknown.empty and unknown.spent is None
    assert (purse.why_empty, unknown.why_empty) == (
        "the budget of $1 is spent", "what was spent of the budget of $1 is not known",
    )  # fmt: skip
