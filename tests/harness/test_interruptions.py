"""Broken off in the middle of anything: what ends, what is written down, what goes on."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any

import pytest
from harness.kit import World, call, calls, of, say
from harness.raw import Raw, RawModels, message, use
from harness.test_calls import hook

from skilleval.harness.context.manager import Thresholds
from skilleval.harness.loop import State, work
from skilleval.harness.opening import Setup, open_session
from skilleval.harness.permissions import Mode
from skilleval.harness.resume import resume
from skilleval.harness.session import SessionLimits
from skilleval.trace.reader import read_events

SHORT = SessionLimits(seconds=1.5)
AGENT = ("Agent", {"description": "d", "prompt": "Wait."})


def cancelled(world: World, turns: Any, when: Callable[[dict[str, Any]], bool]) -> None:
    """Work until an event comes, and be interrupted there, as by Ctrl-C."""
    setup = Setup(world.script(turns), str(world.workspace), mode=Mode.BYPASS)

    async def run() -> None:
        reached = asyncio.Event()
        watch = {"watch": lambda event: reached.set() if when(event) else None}
        task = asyncio.create_task(world._run(setup, "Do it.", False, watch, {}))
        await reached.wait()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())


def last(world: World) -> dict[str, Any]:
    return list(read_events(str(world.trace)))[-1]


@pytest.mark.parametrize("kind", ["request", "reply", "tool", "permission", "result"])
def test_an_interruption_at_any_event_is_written_down_and_the_session_goes_on(
    world: World, kind: str
) -> None:
    turns = [calls(("Bash", {"command": "sleep 1"}), ("Read", {"file_path": "a"})), say("ok")]
    cancelled(world, turns, lambda event: event["type"] == kind)
    assert (last(world)["type"], last(world)["outcome"]) == ("end", "interrupted")
    events = world.run([*turns, say("ok")], "Go on.", resuming=True)
    assert of(events, "end")[-1]["outcome"] == "completed"


def test_what_a_broken_off_step_has_cost_is_counted(world: World) -> None:
    turns = [call("Bash", command="sleep 60"), say("ok")]
    events = world.run(turns, limits=SHORT)
    assert (last(world)["outcome"], last(world)["turns"]) == ("deadline", 1)
    assert sum(last(world)["usage"]) == sum(of(events, "reply")[0]["usage"]) > 0
    assert world.last.history.messages[-1]["role"] == "user"  # no call without its result
    world.trace.unlink()
    cancelled(world, turns, lambda event: event["type"] == "permission")
    assert (last(world)["outcome"], last(world)["turns"]) == ("interrupted", 1)


def test_a_command_ends_with_the_session(world: World) -> None:
    script = "echo $$ > pid; exec sleep 61.25"
    world.run([call("Bash", command=f"bash -c '{script}' & wait"), say("ok")], limits=SHORT)
    running = [name for name in os.listdir("/proc") if name.isdigit() and _command(name)]
    assert not running


def _command(process: str) -> bool:
    try:
        with open(f"/proc/{process}/cmdline", "rb") as file:
            return file.read() == b"sleep\x0061.25\x00"
    except OSError:
        return False


@pytest.mark.parametrize("event", ["PreToolUse", "UserPromptSubmit", "Stop", "PostToolBatch"])
def test_the_time_is_up_in_a_hook(world: World, event: str) -> None:
    slow = world.settings(hooks={event: [hook("import time; time.sleep(60)")]})
    world.run([call("Bash", command="true"), say("ok")], limits=SHORT, settings=[slow])
    assert (last(world)["type"], last(world)["outcome"]) == ("end", "deadline")


def test_the_time_is_up_in_a_summary(world: World) -> None:
    script = {
        "turns": [call("Bash", command="seq 30000"), say("ok")],
        "conversations": [
            {"when": "Sum up the conversation so far", "turns": [say("-"), say("x", delay=60)]}
        ],
    }
    tight = Thresholds(1, 1, 1, 1, 0.005, warn=(1,))
    world.run(script, limits=SHORT, thresholds=tight)
    assert last(world)["outcome"] == "deadline"


def test_the_time_is_up_while_an_agent_works(world: World) -> None:
    child = {"when": "Objective:", "turns": [call("Bash", command="sleep 60")]}
    events = world.run(
        {"turns": [calls(AGENT, AGENT), say("ok")], "conversations": [child]}, limits=SHORT
    )
    assert last(world)["outcome"] == "deadline"
    for started in of(events, "agent"):
        theirs = list(read_events(str(world.folder / started["trace"])))
        assert theirs[-1]["outcome"] in ("interrupted", "deadline")
    assert len(resume(str(world.trace)).lost) == 2


def test_a_slow_reader_of_events_is_not_what_the_deadline_stops(world: World) -> None:
    raw = Raw([message(use("Bash", command="true")), message("Done.")])
    limits = SessionLimits(seconds=0.5)

    async def run() -> State:
        setup = Setup("raw", str(world.workspace), mode=Mode.BYPASS, limits=limits)
        async with (
            RawModels(raw) as models,
            open_session(setup, models, str(world.trace)) as session,
        ):
            async for item in work(session, "Do it."):
                if isinstance(item, State):
                    return item
                if item["type"] == "prompt":
                    await asyncio.sleep(0.7)
        raise AssertionError("there is no state")

    state = asyncio.run(run())
    assert state.ended and state.ended.outcome == "deadline"


def test_who_stops_listening_interrupts(world: World) -> None:
    raw = Raw([message(use("Bash", command="true")), message("Done.")])

    async def run() -> None:
        setup = Setup("raw", str(world.workspace), mode=Mode.BYPASS)
        async with (
            RawModels(raw) as models,
            open_session(setup, models, str(world.trace)) as session,
        ):
            events = work(session, "Do it.")
            async for item in events:
                if isinstance(item, dict) and item["type"] == "result":
                    break
            await events.aclose()

    asyncio.run(run())
    assert (last(world)["outcome"], last(world)["turns"]) == ("interrupted", 1)
