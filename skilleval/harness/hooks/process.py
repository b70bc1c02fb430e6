"""Running a command that gets its input from us, and leaving nothing of it behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

__all__ = ["FLOOD", "KEPT", "Capped", "Finished", "run_process"]

KEPT = 64 * 1024
"""Bytes of an output that are kept; more is counted."""

FLOOD = 16 * 1024 * 1024
"""Bytes after which a command that goes on printing is killed."""

_SETTLE = 1.0
"""Seconds to wait for the end of what was killed."""


class Capped:
    """The beginning of a stream, and how long it was."""

    def __init__(self) -> None:
        self.kept = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        self.total += len(data)
        self.kept += data[: KEPT - len(self.kept)]

    @property
    def cut(self) -> int:
        """Bytes that were not kept."""
        return self.total - len(self.kept)

    @property
    def text(self) -> str:
        return self.kept.decode("utf-8", "replace")


class Finished(NamedTuple):
    """How a command ended. The code is negative for a signal, and none if it was flooding us."""

    exit_code: int | None
    stdout: Capped
    stderr: Capped


class _Capture(asyncio.SubprocessProtocol):
    """Collects what a process prints, and tells when it has ended and when its pipes have."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.streams = {1: Capped(), 2: Capped()}
        self.open = {1, 2}
        self.ended = loop.create_future()
        self.drained = loop.create_future()
        self.flooded = loop.create_future()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.streams[fd].add(data)
        if sum(stream.total for stream in self.streams.values()) > FLOOD:
            _finish(self.flooded)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self.open.discard(fd)
        if not self.open:
            _finish(self.drained)

    def process_exited(self) -> None:
        _finish(self.ended)


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


async def run_process(
    argv: Sequence[str], payload: bytes, *, cwd: str, environment: Mapping[str, str]
) -> Finished:
    """Run a command in a process group of its own, and kill what is left of it at the end.

    The end is when the command itself has ended, when it floods us, or when we are cancelled;
    that is also how its time is limited. A process that has left the group is not found.

    Raises:
        OSError: it could not be started.
        ValueError: no process can have such words or such an environment.
    """
    loop = asyncio.get_running_loop()
    transport, capture = await loop.subprocess_exec(
        _Capture,
        *argv,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=cwd,
        env=dict(environment),
        start_new_session=True,
    )
    try:
        stdin = cast(asyncio.WriteTransport, transport.get_pipe_transport(0))
        stdin.write(payload)
        stdin.write_eof()
        await asyncio.wait({capture.ended, capture.flooded}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        try:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(transport.get_pid(), signal.SIGKILL)
            await asyncio.wait({capture.ended, capture.drained}, timeout=_SETTLE)
        finally:
            transport.close()
    code = None if capture.flooded.done() else transport.get_returncode()
    return Finished(code, capture.streams[1], capture.streams[2])
