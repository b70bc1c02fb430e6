"""Sees one command through: what it writes, what it uses, and that all of it ends."""

from __future__ import annotations

import os
import select
import time
from typing import Protocol

from skilleval.errors import Unmeasured
from skilleval.harness.sandbox.output import Output
from skilleval.harness.sandbox.overseer import Ears, Steps
from skilleval.harness.sandbox.policy import Limits
from skilleval.harness.sandbox.watch import TICK, over

__all__ = ["PATIENCE", "Pipes", "Tree", "Watcher"]

PATIENCE = 15.0
"""Seconds in which processes that were killed have to be dead."""
_AGAIN = 0.01
"""Seconds after which what was killed, and is not dead, is killed again."""
_CHUNK = 1 << 18


class Tree(Protocol):
    """The processes of a command that was started."""

    def kill(self) -> None:
        """See to it that all of them die; called again and again until the first one is dead."""

    def wait(self, ears: Ears, seconds: float) -> Steps[None]:
        """Wait for the end of what may be left when the first one is dead; called once.

        Raises:
            Unmeasured: some are left, or the command never ran in the sandbox.
        """


class Watcher:
    """Follows the process of a command until it has ended, and ends it where it has to.

    Attributes:
        reason: why it was killed: ``time``, ``stopped`` or the name of a limit; empty if it
            was not.
    """

    def __init__(self, pid: int, tree: Tree, stop: int, limits: Limits, ears: Ears) -> None:
        """Start to watch.

        Args:
            pid: the process, a child of this one.
            tree: it, and everything below.
            stop: a descriptor that can be read when the command has to end.
            limits: of the command.
            ears: what the work listens with.
        """
        self.reason = ""
        self._pid = pid
        self._tree = tree
        self._limits = limits
        self._ears = ears
        self._ended = False
        self._stop = stop
        self._life = -1
        try:
            self._life = os.pidfd_open(pid)
        except ProcessLookupError:
            self._ended = True  # and somebody has noticed
        else:
            ears.on(self._life, self._end)
        ears.on(stop, self._told_to_stop)

    def follow(self, seconds: float) -> Steps[None]:
        """Wait until all processes have ended, killing them where a limit is passed.

        Raises:
            Unmeasured: they can't be killed, or the sandbox itself failed.
        """
        try:
            yield from self._follow(time.monotonic() + seconds)
            yield from self._tree.wait(self._ears, PATIENCE)
        finally:
            self._ears.off(self._stop)
            if self._life >= 0:
                self._ears.off(self._life)
                os.close(self._life)

    def _follow(self, deadline: float) -> Steps[None]:
        tick = time.monotonic() + TICK
        while not self.ended:
            now = time.monotonic()
            if self.killed:
                if now > deadline:
                    raise Unmeasured("a command in the sandbox can't be killed")
                self._tree.kill()
                yield now + _AGAIN
                continue
            yield min(tick, deadline)
            now = time.monotonic()
            if now >= deadline and not self.ended:
                self.kill("time")
            elif now >= tick and not self.ended:
                self.kill(over(self._pid, self._limits))
                tick = time.monotonic() + TICK
            deadline = now + PATIENCE if self.killed else deadline

    @property
    def ended(self) -> bool:
        """Whether the process is dead."""
        return self._ended

    @property
    def killed(self) -> bool:
        """Whether it has to end."""
        return bool(self.reason)

    def kill(self, reason: str) -> None:
        """Have everything killed, if there is a reason."""
        self.reason = self.reason or reason

    def _end(self) -> None:
        self._ended = True
        self._ears.off(self._life)

    def _told_to_stop(self) -> None:
        self.kill("stopped")
        self._ears.off(self._stop)


class Pipes:
    """The standard streams of a command: what it reads, and what it writes, errors included.

    Attributes:
        ready: what has still to come first, before the command gets anything to read.
        early: what came instead.
    """

    def __init__(self, read: int, write: int, *, stdin: bytes, ready: bytes, most: int) -> None:
        """Take over our ends of the pipes.

        Args:
            read: the command's output.
            write: its standard input; -1 for none.
            stdin: what to write there, after an empty line if there is something to be ready.
            ready: what the output starts with; it is no output of the command. Empty for none.
            most: bytes of output after which it has to end.
        """
        self.ready, self.early = ready, b""
        self._read, self._write, self._most = read, write, most
        self._pending = memoryview(b"\n" + stdin if ready else stdin)
        for handle in (read, write):
            if handle >= 0:
                os.set_blocking(handle, False)

    def connect(self, watcher: Watcher, output: Output, ears: Ears) -> None:
        """Serve the pipes whenever something comes or can go."""
        self._watcher, self._output, self._ears = watcher, output, ears
        ears.on(self._read, self._take)
        if self._write >= 0 and not self.ready:
            ears.on(self._write, self._give, select.EPOLLOUT)

    def drain(self, seconds: float) -> Steps[None]:
        """Take the rest of the output, when nobody is left to write any."""
        deadline = time.monotonic() + seconds
        while self._take():
            pass
        while self._read >= 0 and time.monotonic() < deadline:
            yield deadline

    def close(self) -> None:
        """Close what is still open."""
        self._close_input()
        self._close_output()

    def _take(self) -> bool:
        """Take what there is; whether there was something."""
        if self._read < 0:
            return False
        try:
            data = os.read(self._read, _CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self._close_output()
            return False
        if self.ready:
            self.early += data
            before, found, data = self.early.partition(self.ready)
            if not found:
                return True
            self.ready, self.early = b"", before
            self._give()  # there is room for the word to go on
            if self._write >= 0:
                self._ears.on(self._write, self._give, select.EPOLLOUT)
        self._output.take(data)
        if self._output.total > self._most:
            self._watcher.kill("output")
        return True

    def _give(self) -> None:
        try:
            self._pending = self._pending[os.write(self._write, self._pending[:_CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._pending = memoryview(b"")
        if not self._pending:
            self._close_input()

    def _close_input(self) -> None:
        if self._write >= 0:
            self._ears.off(self._write)
            os.close(self._write)
            self._write = -1

    def _close_output(self) -> None:
        if self._read >= 0:
            self._ears.off(self._read)
            os.close(self._read)
            self._read = -1
