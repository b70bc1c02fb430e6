"""What the processes below one process use together, from /proc."""

from __future__ import annotations

import os
import resource
from typing import NamedTuple

from skilleval.harness.sandbox.launcher import below, read, stat_of
from skilleval.harness.sandbox.policy import Limits

__all__ = ["BLIND", "TICK", "hard_limits", "over"]

BLIND = not os.path.exists(f"/proc/self/task/{os.getpid()}/children")
"""Whether this system does not say which processes a process has started."""
TICK = 0.05
"""Seconds between two looks at what a command uses."""
_SPARE = 64
"""How many more processes the kernel allows than we do, so that we are the ones who notice."""
_PAGE = os.sysconf("SC_PAGE_SIZE")
_HERTZ = os.sysconf("SC_CLK_TCK")


class _Use(NamedTuple):
    """Of one process; ``ended``, a part of ``ticks``, is that of children that have ended."""

    ticks: int
    ended: int
    threads: int
    pages: int


def over(pid: int, limits: Limits) -> str:
    """Which limit the processes below one process have passed; empty for none.

    A count ends as soon as it is too high: looking at a fork bomb must not take long.
    """
    own = stat_of(pid)
    ticks = _use(own).ended if own else 0  # of orphans that it took over
    threads = pages = 0
    found = []
    for each, words in below(pid):
        use = _use(words)
        found.append(each)
        ticks += use.ticks
        threads += use.threads
        pages += use.pages
        if threads > limits.processes:
            return "processes"
    if ticks > limits.cpu_seconds * _HERTZ:
        return "cpu"
    if pages * _PAGE > limits.memory_bytes and _shared(found) > limits.memory_bytes:
        return "memory"
    return ""


def _use(words: list[bytes]) -> _Use:
    ended = int(words[13]) + int(words[14])
    return _Use(int(words[11]) + int(words[12]) + ended, ended, int(words[17]), int(words[21]))


def _shared(pids: list[int]) -> int:
    """Bytes of memory, where what several processes share is divided among them."""
    total = 0
    for pid in pids:
        try:
            lines = read(f"/proc/{pid}/smaps_rollup").splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) << 10 for line in lines if line.startswith(b"Pss:"))
    return total


def hard_limits(limits: Limits, others: int = 0) -> dict[str, tuple[int, int]]:
    """What the kernel enforces for each process: soft and hard values by ``resource`` name.

    The address space is left alone: programs reserve far more of it than they use.

    Args:
        limits: of the command.
        others: processes that the kernel counts along with the command's.
    """
    processes = limits.processes + _SPARE + others
    wanted = {
        "RLIMIT_CORE": (0, 0),
        "RLIMIT_CPU": (limits.cpu_seconds, limits.cpu_seconds + 1),
        "RLIMIT_DATA": (limits.memory_bytes, limits.memory_bytes),
        "RLIMIT_FSIZE": (limits.file_bytes, limits.file_bytes),
        "RLIMIT_NPROC": (processes, processes),
    }
    return {name: _no_more_than_now(name, values) for name, values in wanted.items()}


def _no_more_than_now(name: str, values: tuple[int, int]) -> tuple[int, int]:
    highest = resource.getrlimit(getattr(resource, name))[1]
    if highest == resource.RLIM_INFINITY:
        return values
    return min(values[0], highest), min(values[1], highest)
