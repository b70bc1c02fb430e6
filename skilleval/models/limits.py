"""How fast a model may be asked: requests in flight, requests and tokens a minute."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

__all__ = ["Gate", "Rate"]

_CUT = 0.7
"""What is left of the requests in flight after the endpoint refused one."""
_BURST = 1 / 60
"""The share of a minute's allowance that may be used at once."""


class Gate:
    """Lets a number of requests through at a time, fewer while the endpoint refuses some.

    Additive increase, multiplicative decrease, as in TCP's congestion avoidance (RFC 5681):
    a refusal cuts the number once, however many requests were under way with the one that was
    refused; each round of requests that went well adds one.
    """

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.most = most
        self.limit = float(most)
        self.in_flight = 0
        self._clock = clock
        self._last_cut = float("-inf")
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> None:
        if self.in_flight < int(self.limit) and not self._waiting:
            self.in_flight += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # let in and cancelled in one go
                self.in_flight -= 1
                self._let_in()
            raise

    async def __aexit__(self, *_: object) -> None:
        self.in_flight -= 1
        self._let_in()

    def _let_in(self) -> None:
        while self._waiting and self.in_flight < int(self.limit):
            turn = self._waiting.popleft()
            if not turn.done():
                self.in_flight += 1
                turn.set_result(None)

    def went_well(self) -> None:
        """A request was answered: another one may fit."""
        if self.limit < self.most:
            self.limit = min(self.most, self.limit + 1 / self.limit)
            self._let_in()

    def refused(self, began: float) -> None:
        """A request that began then (on this clock) was refused because there were too many."""
        if began >= self._last_cut:
            self.limit = max(1.0, min(self.limit, self.in_flight) * _CUT)
            self._last_cut = self._clock()


class Rate:
    """An allowance by the minute, as a token bucket.

    A second's worth may be taken at once and the rest flows in evenly, so that no minute sees
    more than the allowance but for what one request overshoots its estimate by. A bucket may
    go into debt: what is larger than it passes, and those behind wait for it.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._size = max(per_minute * _BURST, 1.0)
        self._flow = max(per_minute - self._size, per_minute / 2) / 60
        self._clock = clock
        self._level = self._size
        self._at = clock()

    def take(self, amount: float) -> float:
        """Take from the allowance; the seconds to wait before using what was taken."""
        now = self._clock()
        self._level = min(self._size, self._level + (now - self._at) * self._flow)
        self._at = now
        wait = max(0.0, (min(amount, self._size) - self._level) / self._flow)
        self._level -= amount
        return wait

    def settle(self, difference: float) -> None:
        """Take what was used beyond the estimate, or give back what was not."""
        self._level = min(self._size, self._level - difference)
