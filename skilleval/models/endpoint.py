"""A model that answers: its transport, behind its limits, retries and deadlines."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import replace
from typing import Any, Protocol

from skilleval.errors import Failure, ModelError
from skilleval.models.limits import Gate, Rate
from skilleval.models.messages import OnEvent, Reply, Request, Usage, read_reply
from skilleval.models.settings import Model

__all__ = ["Answers", "Endpoint", "Transport", "cost_of"]

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
"""Seconds between attempts, where the endpoint asks for none: doubled each time."""
_LONGEST_WAIT = 300.0
"""Seconds beyond which waiting as asked would only look like hanging."""


class Transport(Protocol):
    """Carries one request to a model and its answer back."""

    async def send(self, request: Request, on_event: OnEvent | None) -> tuple[dict[str, Any], str]:
        """The message, and what the endpoint calls the request."""
        ...

    async def count_tokens(self, request: Request) -> int:
        """The tokens that a request would send."""
        ...


class Answers(Protocol):
    """What answers requests: an endpoint, or a recording of one."""

    model: Model

    async def answer(
        self, request: Request, *, deadline: float | None = None, on_event: OnEvent | None = None
    ) -> Reply:
        """Answer a request; see Endpoint."""
        ...

    async def count_tokens(self, request: Request) -> int:
        """The tokens that a request would send."""
        ...


class Endpoint:
    """Asks one model, as fast as it may be asked and as often as it takes.

    A request keeps its place among those in flight while it waits to be tried again: so an
    endpoint that asks for a pause gets one.
    """

    def __init__(self, model: Model, transport: Transport) -> None:
        self.model = model
        limits = model.limits
        self._transport = transport
        self._retries = limits.retries
        self._gate = Gate(limits.concurrency)
        self._requests = _rate(limits.requests_per_minute)
        self._input = _rate(limits.input_tokens_per_minute)
        self._output = _rate(limits.output_tokens_per_minute)
        self._typical_output = 500.0
        self._ever_answered = False

    async def answer(
        self, request: Request, *, deadline: float | None = None, on_event: OnEvent | None = None
    ) -> Reply:
        """Ask until there is an answer.

        Args:
            request: the body of the request; ``betas`` travels as a header.
            deadline: on the clock of the event loop.
            on_event: gets the events of the stream; ``{"type": "restart"}`` says that what
                came so far is void.

        Raises:
            ModelError: there is no answer, and trying again makes no sense or did not help.
        """
        began = time.monotonic()
        try:
            async with asyncio.timeout_at(deadline), self._gate:
                return await self._attempts(request, deadline, on_event, began)
        except TimeoutError:
            raise ModelError(
                Failure.DEADLINE,
                f"{self.model.name} had not answered after {time.monotonic() - began:.0f} s, "
                "when the time was up",
            ) from None

    async def count_tokens(self, request: Request) -> int:
        """The tokens that a request would send, as the endpoint counts them.

        Raises:
            ModelError: there is no answer, and trying again makes no sense or did not help.
        """
        attempts = _Attempts()
        async with self._gate:
            while True:
                attempts.begin()
                try:
                    tokens = await self._transport.count_tokens(request)
                except ModelError as error:
                    await self._after(error, attempts, None)
                else:
                    self._ever_answered = True
                    return tokens

    async def _attempts(
        self, request: Request, deadline: float | None, on_event: OnEvent | None, began: float
    ) -> Reply:
        attempts = _Attempts()
        while True:
            estimate = await self._admitted(request)
            attempts.begin()
            try:
                message, request_id = await self._transport.send(request, on_event)
                reply = read_reply(message, request_id)
            except ModelError as error:
                self._settle(estimate, Usage())
                await self._after(error, attempts, deadline)
                if on_event is not None:
                    on_event({"type": "restart"})
                continue
            self._ever_answered = True
            self._gate.went_well()
            self._settle(estimate, reply.usage)
            return replace(
                reply,
                cost=cost_of(self.model, reply.usage),
                seconds=time.monotonic() - began,
                attempts=attempts.number,
            )

    async def _after(self, error: ModelError, attempts: _Attempts, deadline: float | None) -> None:
        """Wait until it is time for another attempt, or raise what makes that senseless."""
        if error.failure in (Failure.RATE_LIMIT, Failure.OVERLOADED):
            self._gate.refused(attempts.began)
        attempts.cuts += error.failure is Failure.CUT
        hopeless = error.failure is Failure.UNREACHABLE and not self._ever_answered
        most = min(self._retries, 1) if hopeless else self._retries
        if not error.passing or attempts.number > most or attempts.cuts > 1:
            raise error
        await self._pause(error, attempts.number, deadline)

    async def _pause(self, error: ModelError, attempt: int, deadline: float | None) -> None:
        """Wait as the endpoint asks, or twice as long each time, with jitter so that requests
        that failed together do not come back together."""
        wait = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(attempt - 1, 20))
        wait *= random.uniform(0.5, 1)  # noqa: S311 - spreads load, hides nothing
        why = "the time is up before another try"
        if error.retry_after is not None:
            wait = error.retry_after + min(1.0, 0.1 * error.retry_after) * random.random()  # noqa: S311
            why = f"it asks to wait {error.retry_after:.0f} s, which is too long"
        left = _LONGEST_WAIT
        if deadline is not None:
            left = min(left, deadline - asyncio.get_running_loop().time())
        if wait > left:
            error.message += f" ({why})"
            error.args = (error.message,)
            raise error
        await asyncio.sleep(wait)

    async def _admitted(self, request: Request) -> Usage:
        """Wait until the allowances have room; what was taken from them."""
        if not (self._requests or self._input or self._output):
            return Usage()
        sent = len(str(request)) // 4 if self._input else 0
        back = int(min(request.get("max_tokens", 1), self._typical_output)) if self._output else 0
        taken = [
            (rate, amount)
            for rate, amount in ((self._requests, 1), (self._input, sent), (self._output, back))
            if rate
        ]
        wait = max(rate.take(amount) for rate, amount in taken)
        if wait > 0:
            try:
                await asyncio.sleep(wait)
            except asyncio.CancelledError:  # it was never sent
                for rate, amount in taken:
                    rate.settle(-amount)
                raise
        return Usage(input=sent, output=back)

    def _settle(self, estimate: Usage, usage: Usage) -> None:
        if self._input:
            self._input.settle(usage.input + usage.cache_write - estimate.input)
        if self._output:
            self._output.settle(usage.output - estimate.output)
            if usage.output:
                self._typical_output += (usage.output - self._typical_output) / 10


class _Attempts:
    """How often a request was tried: the number, when the last one began, streams cut."""

    def __init__(self) -> None:
        self.number = 0
        self.began = 0.0
        self.cuts = 0

    def begin(self) -> None:
        self.number += 1
        self.began = time.monotonic()


def cost_of(model: Model, usage: Usage) -> float | None:
    """What a request cost; None where the price is not known, or the endpoint counts nothing."""
    return model.tier.cost(usage) if any(usage) else None


def _rate(per_minute: int | None) -> Rate | None:
    return None if per_minute is None else Rate(per_minute)
