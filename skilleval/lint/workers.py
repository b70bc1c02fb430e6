"""Linting skills as they are found: in this process while they are few, then on every core."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from skilleval.errors import Unmeasured
from skilleval.lint.model import SkillReport
from skilleval.skill import Found

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

    from skilleval.lint.engine import Options

__all__ = ["Workers"]

Work = Callable[[Sequence[Found], "Options"], list[SkillReport]]

_PARALLEL_FROM = 64
"""Skills from which starting more processes pays."""
_CHUNK = 48


class Workers:
    """Takes skills one by one and works on them in the background.

    Args:
        work: what is done with some skills; a function of a module, so that it can be sent to
            another process.
        options: handed to it.
    """

    def __init__(self, work: Work, options: Options) -> None:
        self._work = work
        self._options = options
        self._waiting: list[Found] = []
        self._pool: ProcessPoolExecutor | None = None
        self._running: list[Future[list[SkillReport]]] = []

    def add(self, found: Found) -> None:
        """Take in a skill."""
        self._waiting.append(found)
        if len(self._waiting) < (_CHUNK if self._pool else _PARALLEL_FROM) or _cores() < 2:
            return
        if self._pool is None:
            self._pool = _start_pool(self._work, self._options)
        for at in range(0, len(self._waiting), _CHUNK):
            chunk = self._waiting[at : at + _CHUNK]
            self._running.append(self._pool.submit(_in_worker, chunk))
        self._waiting = []

    def finish(self) -> list[SkillReport]:
        """The reports of all the skills, in no particular order.

        Raises:
            Unmeasured: a process was ended from outside.
        """
        reports = self._work(self._waiting, self._options)
        if self._pool is None:
            return reports
        from concurrent.futures.process import BrokenProcessPool  # slow to load

        try:
            for future in self._running:
                reports += future.result()
        except BrokenProcessPool:
            raise Unmeasured(
                "a worker process was ended from outside, perhaps for want of memory",
                remedy="Lint fewer skills at a time.",
            ) from None
        finally:
            self.stop()
        return reports

    def stop(self) -> None:
        """End the processes; work that has not begun is dropped."""
        if self._pool:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _start_pool(work: Work, options: Options) -> ProcessPoolExecutor:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # Forked workers share the rules that are loaded already; other systems load them anew.
    context = get_context("fork" if sys.platform == "linux" else "spawn")
    return ProcessPoolExecutor(
        _cores(), mp_context=context, initializer=_start_worker, initargs=(work, options)
    )


_job: tuple[Work, Options] | None = None
"""What a worker process does, told once when it starts."""


def _in_worker(skills: Sequence[Found]) -> list[SkillReport]:
    if _job is None:
        raise RuntimeError("a worker was asked before it was started")
    work, options = _job
    return work(skills, options)


def _start_worker(work: Work, options: Options) -> None:
    global _job
    _job = (work, options)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends us, without our tracebacks
    gc.freeze()  # what the parent loaded is never garbage
    gc.disable()  # a skill holds no cycles: reference counts free it
