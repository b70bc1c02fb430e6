"""Running commands in turn and measuring them from outside."""

from __future__ import annotations

import ctypes
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Command:
    """A command under measurement, with what each round gave.

    Wall and CPU time in seconds; memory in megabytes, as the proportional share of all its
    processes together at the worst moment seen (sampled every 20 ms).
    """

    name: str
    words: Sequence[str]
    cwd: Path | None = None
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)

    def run(self) -> None:
        """One round."""
        before = os.times()
        started = time.perf_counter()
        with subprocess.Popen(
            self.words, cwd=self.cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            watch = _Watch(process.pid)
            watch.start()
            process.wait()
            elapsed = time.perf_counter() - started
            watch.stop()
        if process.returncode not in (0, 1):
            sys.exit(f"{self.name}: exit code {process.returncode}: {' '.join(self.words)}")
        while _reaped():
            pass
        after = os.times()
        self.wall.append(elapsed)
        self.cpu.append(
            after.children_user + after.children_system
            - before.children_user - before.children_system
        )  # fmt: skip
        self.memory.append(watch.peak)


def _reaped() -> bool:
    """Take leave of a process that has lost its parent, so that its time counts, too."""
    try:
        return os.waitpid(-1, os.WNOHANG)[0] > 0
    except ChildProcessError:
        return False


if sys.platform == "linux":
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: they come to us


class _Watch(threading.Thread):
    """Samples the memory of a process and everything below it."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid = pid
        self.peak = 0.0
        self._done = threading.Event()

    def run(self) -> None:
        while not self._done.wait(0.02):
            self.peak = max(self.peak, sum(_share(pid) for pid in _tree(self.pid)))

    def stop(self) -> None:
        self._done.set()
        self.join()


def _tree(pid: int) -> list[int]:
    found = [pid]
    for parent in found:
        try:
            children = Path(f"/proc/{parent}/task/{parent}/children").read_text()
        except OSError:
            continue
        found.extend(int(child) for child in children.split())
    return found


def _share(pid: int) -> float:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return 0.0


def compare(commands: Sequence[Command], rounds: int) -> None:
    """Run commands in turn, round after round, and print medians; ratios are to the first."""
    for command in commands:
        command.run()  # to warm caches; not counted
        for figures in (command.wall, command.cpu, command.memory):
            figures.clear()
    for _ in range(rounds):
        for command in commands:
            command.run()
    first = commands[0]
    print(
        f"{'':<28}{'wall s':>18}{'x':>7}{'CPU s':>9}{'x':>7}{'memory MB':>11}   ({rounds} rounds)"
    )
    for command in commands:
        wall = statistics.median(command.wall)
        ratio, cpu_ratio = (
            statistics.median(theirs / ours for theirs, ours in zip(figures, firsts, strict=True))
            for figures, firsts in ((command.wall, first.wall), (command.cpu, first.cpu))
        )
        span = f"{wall:.2f} ({min(command.wall):.2f}-{max(command.wall):.2f})"
        cpu, memory = statistics.median(command.cpu), statistics.median(command.memory)
        print(
            f"{command.name:<28}{span:>18}{ratio:>7.2f}{cpu:>9.2f}{cpu_ratio:>7.2f}{memory:>11.0f}"
        )
