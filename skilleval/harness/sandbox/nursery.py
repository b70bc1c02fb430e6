"""Where commands come from: one small process that starts them, and dies with this one.

To start a program from here would hold up all threads until the program runs, and take the
closing of hundreds of descriptors; and a launcher for each command, started anew, would take ten
times what a small command does. The process that starts them is kept clean: it has no
variables, and keeps nothing of any command. Whatever it has started ends before it does.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import functools
import marshal
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from importlib.abc import InspectLoader
from typing import Any

from skilleval.errors import Unmeasured
from skilleval.harness.sandbox import launcher
from skilleval.harness.sandbox.launcher import START

__all__ = ["Child", "begin", "tell", "words_for"]

_PATIENCE = 30.0
"""Seconds for a start."""


@functools.cache
def _code() -> bytes:
    """The launcher, compiled."""
    spec = launcher.__spec__
    loader = spec.loader if spec else None
    code = loader.get_code(spec.name) if spec and isinstance(loader, InspectLoader) else None
    if code is None:
        raise Unmeasured("the sandbox has lost its launcher")
    return marshal.dumps(code)


def tell(orders: dict[str, Any]) -> int:
    """A descriptor that the launcher reads its orders from, and its code if it has none yet."""
    return _in_memory(marshal.dumps(orders) + _code())


def words_for(told: int) -> list[str]:
    """The command that starts a launcher."""
    return [os.path.realpath(sys.executable), "-I", "-S", "-B", "-c", START, str(told)]


class _Nursery:
    """The process. One thread uses it, the one that lives as long as it has to."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(_PATIENCE)
        with theirs:
            told = tell({"serve": theirs.fileno(), "parent": os.getpid()})
            try:
                process = subprocess.Popen(
                    words_for(told), pass_fds=(told, theirs.fileno()), env={}, cwd="/",
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL, start_new_session=True,
                )  # fmt: skip
            finally:
                os.close(told)
        self._owner, self.pid = os.getpid(), process.pid
        process.returncode = 0  # it is waited for in close
        atexit.register(self.close)

    def start(self, streams: dict[int, int], inherit: Sequence[int], *, fork: bool) -> int:
        """The process id of a new process, see ``begin``.

        Raises:
            BrokenPipeError: the process that starts others is gone.
            OSError: it can't be started.
        """
        numbers = [*streams, *inherit]
        handles = array.array("i", [*streams.values(), *inherit])
        with_it = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, handles)]
        try:
            self._socket.sendmsg([marshal.dumps(numbers if fork else tuple(numbers))], with_it)
            pid = self._answer()
        except OSError as error:
            raise BrokenPipeError from error
        if pid < 0:
            raise OSError(-pid, os.strerror(-pid))
        return pid

    def wait(self, pid: int) -> int:
        """Take leave of a process that has ended; its exit code, negative for a signal.

        Raises:
            OSError: the process that starts others is gone.
        """
        self._socket.send(marshal.dumps(pid))
        return self._answer()

    def close(self, patience: float = _PATIENCE) -> None:
        """End the process, and wait for it; kill it if it takes too many seconds."""
        if os.getpid() != self._owner:
            return
        atexit.unregister(self.close)
        self._socket.close()
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            life = os.pidfd_open(self.pid)
            poller = select.poll()
            poller.register(life, select.POLLIN)
            if not poller.poll(patience * 1000):
                os.kill(self.pid, signal.SIGKILL)
            os.close(life)
            os.waitpid(self.pid, 0)

    def _answer(self) -> int:
        data = self._socket.recv(64)
        if not data:
            raise BrokenPipeError
        number: int = marshal.loads(data)  # noqa: S302 - from our own process
        return number


_nursery = functools.cache(_Nursery)
os.register_at_fork(after_in_child=_nursery.cache_clear)  # it is the parent's


class Child:
    """A process that was started, with what of ``subprocess.Popen`` is needed of it."""

    def __init__(self, pid: int, nursery: _Nursery) -> None:
        self.pid = pid
        self._nursery = nursery

    def wait(self) -> int:
        """The exit code of a process that has ended; negative for a signal."""
        try:
            return self._nursery.wait(self.pid)
        except OSError:
            return -9  # what started it was killed, and so was it


def begin(streams: dict[int, int], inherit: Sequence[int], words: Sequence[str] | None) -> Child:
    """Start a process, in the thread that sees commands through.

    Args:
        streams: descriptors by the number of the standard stream that they become.
        inherit: descriptors that it gets under their numbers.
        words: what it executes, without any variables; None for a launcher, whose orders the
            last descriptor holds.

    Raises:
        OSError: it can't be executed.
        Unmeasured: nothing can be started.
    """
    told = -1 if words is None else _in_memory(marshal.dumps(list(words)))
    try:
        for _ in range(2):
            nursery = _nursery()
            try:
                given = inherit if words is None else (*inherit, told)
                return Child(nursery.start(streams, given, fork=words is None), nursery)
            except BrokenPipeError:
                _nursery.cache_clear()
                nursery.close(patience=0)
    finally:
        if told >= 0:
            os.close(told)
    raise Unmeasured("the sandbox could not be set up: nothing can be started")


def _in_memory(data: bytes) -> int:
    handle = os.memfd_create("skilleval")
    os.write(handle, data)
    os.lseek(handle, 0, os.SEEK_SET)
    return handle
