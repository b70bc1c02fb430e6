"""Sees one command through, in a thread of its own, so that no event loop waits for anything."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from typing import Protocol

from skilleval.errors import Unmeasured
from skilleval.harness.sandbox.output import Output
from skilleval.harness.sandbox.policy import Limits
from skilleval.harness.sandbox.watch import TICK, over

__all__ = ["PATIENCE", "Pipes", "Tree", "Watcher"]

PATIENCE = 15.0
"""Seconds in which processes that were killed have to be dead."""
_CHUNK = 1 << 18


class Tree(Protocol):
    """The processes of a command that was started."""

    def kill(self) -> None:
        """See to it that all of them die; called again and again until the first one is dead."""

    def wait(self, seconds: float) -> None:
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

    def __init__(self, pid: int, tree: Tree, stop: int, limits: Limits) -> None:
        """Start to watch.

        Args:
            pid: the process, a child of this one.
            tree: it, and everything below.
            stop: a descriptor that can be read when the command has to end.
            limits: of the command.
        """
        self.reason = ""
        self._pid = pid
        self._tree = tree
        self._limits = limits
        self._ended = False
        self._poller = select.poll()
        self._serve: dict[int, Callable[[], None]] = {}
        self._life = -1
        try:
            self._life = os.pidfd_open(pid)
        except ProcessLookupError:
            self._ended = True  # and somebody has noticed
        else:
            self.on(self._life, self._end)
        self.on(stop, lambda: self._stop(stop))

    def on(self, handle: int, serve: Callable[[], None], events: int = select.POLLIN) -> None:
        """Call a function whenever something can be done with a descriptor."""
        self._serve[handle] = serve
        self._poller.register(handle, events)

    def off(self, handle: int) -> None:
        """Take no more notice of a descriptor."""
        if self._serve.pop(handle, None):
            self._poller.unregister(handle)

    def follow(self, seconds: float) -> None:
        """Wait until all processes have ended, killing them where a limit is passed.

        Raises:
            Unmeasured: they can't be killed, or the sandbox itself failed.
        """
        try:
            self._follow(time.monotonic() + seconds)
            self._tree.wait(PATIENCE)
        finally:
            if self._life >= 0:
                os.close(self._life)

    def _follow(self, deadline: float) -> None:
        tick = time.monotonic() + TICK
        while not self.ended:
            now = time.monotonic()
            if self.killed:
                if now > deadline:
                    raise Unmeasured("a command in the sandbox can't be killed")
                self._tree.kill()
                self._poll(0.01)
                continue
            self._poll(min(tick, deadline) - now)
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

    def _poll(self, seconds: float) -> None:
        for handle, _ in self._poller.poll(max(seconds, 0) * 1000):
            serve = self._serve.get(handle)
            if serve:
                serve()

    def _end(self) -> None:
        self._ended = True
        self.off(self._life)

    def _stop(self, stop: int) -> None:
        self.kill("stopped")
        self.off(stop)


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

    def connect(self, watcher: Watcher, output: Output) -> None:
        """Serve the pipes whenever the watcher looks."""
        self._watcher, self._output = watcher, output
        watcher.on(self._read, self._take)
        if self._write >= 0 and not self.ready:
            watcher.on(self._write, self._give, select.POLLOUT)

    def drain(self, seconds: float) -> None:
        """Take the rest of the output, when nobody is left to write any."""
        while self._read >= 0 and select.select([self._read], [], [], seconds)[0]:
            self._take()

    def close(self) -> None:
        """Close what is still open."""
        self._close_input()
        self._close_output()

    def _take(self) -> None:
        try:
            data = os.read(self._read, _CHUNK)
        except BlockingIOError:
            return
        if not data:
            self._close_output()
            return
        if self.ready:
            self.early += data
            before, found, data = self.early.partition(self.ready)
            if not found:
                return
            self.ready, self.early = b"", before
            self._watcher.on(self._write, self._give, select.POLLOUT)
        self._output.take(data)
        if self._output.total > self._most:
            self._watcher.kill("output")

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
            self._watcher.off(self._write)
            os.close(self._write)
            self._write = -1

    def _close_output(self) -> None:
        if self._read >= 0:
            self._watcher.off(self._read)
            os.close(self._read)
            self._read = -1
