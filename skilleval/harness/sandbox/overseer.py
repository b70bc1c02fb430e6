"""The thread that sees all commands of this process through, so that no event loop waits.

One thread for all of them: with one for each, hundreds would stand in line for the interpreter,
and time would go to that instead of to the work. What it does is written as generators that
share nothing: each says until when it can wait, and goes on then, or when something has
happened that it listens for.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import heapq
import itertools
import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable, Generator
from typing import Any, TypeVar

__all__ = ["Ears", "Steps", "oversee"]

_T = TypeVar("_T")
_LONGEST = 3600.0
"""Seconds of one wait; infinity would be too many for the system."""
Steps = Generator[float, None, _T]
"""Work in steps: what it gives is the time to go on at the latest, on the monotonic clock."""


class Ears:
    """What one piece of work listens for. Take a descriptor off before closing it."""

    def __init__(self, overseer: _Overseer) -> None:
        self._overseer = overseer
        self.steps: Steps[Any]
        self.done: Callable[[Any, BaseException | None], None]
        self.due = -1.0  # no time that it has asked for
        self.error: BaseException | None = None
        self.serve: dict[int, Callable[[], object]] = {}

    def on(self, handle: int, serve: Callable[[], object], events: int = select.EPOLLIN) -> None:
        """Call a function whenever something can be done with a descriptor, and go on then."""
        self.serve[handle] = serve
        self._overseer.listen(handle, self, events)

    def off(self, handle: int) -> None:
        """Take no more notice of a descriptor."""
        if self.serve.pop(handle, None):
            self._overseer.ignore(handle)


class _Overseer(threading.Thread):
    """The thread."""

    def __init__(self) -> None:
        super().__init__(name="skilleval-sandbox", daemon=True)
        self._poller = select.epoll()
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._poller.register(self._wake, select.EPOLLIN)
        self._new: deque[Ears] = deque()
        self._listening: dict[int, Ears] = {}
        self._due: list[tuple[float, int, Ears]] = []
        self._numbers = itertools.count()

    def begin(self, work: Ears) -> None:
        """Take on some work; from any thread."""
        self._new.append(work)
        os.eventfd_write(self._wake, 1)

    def listen(self, handle: int, work: Ears, events: int) -> None:
        self._poller.register(handle, events)
        self._listening[handle] = work

    def ignore(self, handle: int) -> None:
        del self._listening[handle]
        self._poller.unregister(handle)

    def run(self) -> None:
        while True:
            awake = dict.fromkeys(self._heard())
            now = time.monotonic()
            while self._due and self._due[0][0] <= now:
                due, _, work = heapq.heappop(self._due)
                if due == work.due:
                    work.due = -1.0  # so that it can ask for the same time again
                    awake[work] = None
            while self._new:
                awake[self._new.popleft()] = None
            for work in awake:
                self._go_on(work)

    def _heard(self) -> list[Ears]:
        """Wait for what happens; whose work it belongs to."""
        seconds = self._due[0][0] - time.monotonic() if self._due else _LONGEST
        found = []
        for handle, _ in self._poller.poll(min(max(seconds, 0), _LONGEST)):
            if handle == self._wake:
                os.eventfd_read(handle)
            elif work := self._listening.get(handle):  # none: another's step has seen to it
                found.append(work)
                try:
                    work.serve[handle]()
                except BaseException as error:
                    work.error = error
        return found

    def _go_on(self, work: Ears) -> None:
        error, work.error = work.error, None
        try:
            due = work.steps.throw(error) if error else next(work.steps)
        except StopIteration as end:
            self._end(work, end.value, None)
        except BaseException as failure:
            self._end(work, None, failure)
        else:
            if due != work.due:
                work.due = due
                heapq.heappush(self._due, (due, next(self._numbers), work))

    def _end(self, work: Ears, result: object, error: BaseException | None) -> None:
        work.due = -1.0
        for handle in list(work.serve):
            with contextlib.suppress(OSError):
                work.off(handle)
        work.done(result, error)


@functools.cache
def _overseer() -> _Overseer:
    overseer = _Overseer()
    overseer.start()
    return overseer


os.register_at_fork(after_in_child=_overseer.cache_clear)  # threads stay with the parent


def oversee(work: Callable[[Ears], Steps[_T]]) -> asyncio.Future[_T]:
    """Have some work done by the thread; what it gives comes with the future."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_T] = loop.create_future()

    def tell(result: Any, error: BaseException | None) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is gone: nobody waits
            if error is None:
                loop.call_soon_threadsafe(future.set_result, result)
            else:
                loop.call_soon_threadsafe(future.set_exception, error)

    overseer = _overseer()
    ears = Ears(overseer)
    ears.steps, ears.done = work(ears), tell
    overseer.begin(ears)
    return future
