"""A model that says what no script can say: messages as they are, however odd.

What is sent to it is checked as the API checks it.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from typing import Any

from harness.kit import World

from skilleval.errors import Failure, ModelError
from skilleval.harness.loop import State, work
from skilleval.harness.opening import Setup, open_session
from skilleval.harness.permissions import Mode
from skilleval.harness.resume import resume
from skilleval.models.endpoint import Endpoint
from skilleval.models.messages import OnEvent, Request
from skilleval.models.offline.checks import problem_of
from skilleval.models.opening import Models
from skilleval.models.settings import find_model
from skilleval.trace.reader import read_events

Message = dict[str, Any]
_ids = itertools.count()


def message(*content: Any, stop: str | None = "end_turn", **more: Any) -> Message:
    """A message with these blocks, texts among them as they are."""
    blocks = [{"type": "text", "text": each} if isinstance(each, str) else each for each in content]
    usage = {"input_tokens": 10, "output_tokens": 5}
    return {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "model": "raw",
        "content": blocks,
        "stop_reason": stop,
        "usage": usage,
        **more,
    }


def use(name: str, identity: str | None = None, **input: Any) -> dict[str, Any]:
    """A block that calls a tool."""
    found = f"toolu_{next(_ids)}" if identity is None else identity
    return {"type": "tool_use", "id": found, "name": name, "input": input}


class Raw:
    """Carries each request to the next of some messages; errors among them are raised."""

    def __init__(self, answers: Sequence[Message | Exception]) -> None:
        self.answers = list(answers)
        self.sent: list[Request] = []

    async def send(self, request: Request, on_event: OnEvent | None) -> tuple[Message, str]:
        self.sent.append(request)
        problem = problem_of(request)
        if problem:
            raise ModelError(Failure.INVALID_REQUEST, problem.message, status=problem.status)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer, "req_1"

    async def count_tokens(self, request: Request) -> int:
        return 1


class RawModels(Models):
    """Models that are all the same one."""

    def __init__(self, raw: Raw) -> None:
        super().__init__({})
        self.raw = raw

    async def open(self, name: str) -> Endpoint:
        return Endpoint(find_model("offline/literal", {}), self.raw)


def say_raw(
    world: World,
    *answers: Message | Exception,
    prompts: Sequence[str] = ("Do it.",),
    resuming: bool = False,
    **setup: Any,
) -> tuple[list[dict[str, Any]], Raw]:
    """Work on prompts with a model that answers just so; the events, and what was sent."""
    raw = Raw(answers)

    async def run() -> None:
        before = resume(str(world.trace)) if resuming else None
        what = Setup("raw", str(world.workspace), **{"mode": Mode.BYPASS, **setup})
        state = State(before.history) if before else None
        async with (
            RawModels(raw) as models,
            open_session(what, models, str(world.trace), resumed=before) as session,
        ):
            for prompt in prompts:
                async for item in work(session, prompt, state):
                    if isinstance(item, State):
                        world.last = state = item

    asyncio.run(run())
    return list(read_events(str(world.trace))), raw
