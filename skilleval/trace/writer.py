"""Writing a trace: each event is on its way to the disk before the next thing happens."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from skilleval.errors import InputError
from skilleval.redaction import redact_json
from skilleval.trace.events import Event, EventType

__all__ = ["LARGEST", "TraceWriter"]

LARGEST = 16 * 1024 * 1024
"""Bytes of one event: what is longer loses its content, and says so."""


class TraceWriter:
    """Appends events to a file.

    A line is written in one go, so that a reader who follows the file sees whole ones; ``end``
    events, and what ``commit`` is called after, are forced to the disk. Keys are redacted.
    """

    def __init__(
        self, path: str, session: str, *, first: int = 0, clock: Callable[[], float] = time.time
    ) -> None:
        """Open a trace to append to it.

        Args:
            path: the file; it is made where there is none.
            session: the id that every event gets.
            first: the number of the first event written.
            clock: seconds since 1970.

        Raises:
            InputError: another session is writing to it.
            OSError: it can't be written.
        """
        self.path = path
        self.session = session
        self.written = first
        self._clock = clock
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._take_for_us()
        self._end_torn_line()

    def __enter__(self) -> TraceWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def write(self, type: EventType, **fields: Any) -> Event:
        """Append an event; fields that are None are left out.

        Raises:
            OSError: it can't be written.
        """
        event: Event = {
            "type": str(type),
            "n": self.written,
            "time": round(self._clock(), 3),
            "session": self.session,
        }
        event.update({name: value for name, value in fields.items() if value is not None})
        data = _line(event)
        if len(data) > LARGEST:
            event = {**event, "content": f"[{len(data):,} bytes: too long for a trace]"}
            for name in ("raw", "messages", "input", "facts"):
                event.pop(name, None)
            data = _line(event)
        self._append(data)
        self.written += 1
        if type is EventType.END:
            self.commit()
        return event

    def commit(self) -> None:
        """Wait until all that was written is on the disk."""
        os.fsync(self._file)

    def close(self) -> None:
        """Close the file; closing it again does nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _append(self, data: bytes) -> None:
        try:
            written = os.write(self._file, data)
        except OSError as error:
            error.filename = self.path
            raise
        if written < len(data):  # the disk is full: leave no half line behind
            end = os.lseek(self._file, 0, os.SEEK_CUR)
            os.ftruncate(self._file, end - written)
            os.fsync(self._file)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.path)

    def _take_for_us(self) -> None:
        """Keep others from writing to the file; a lock ends with its process, however that ends."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                return  # a file system without locks
            self.close()
            raise InputError(
                f"another session is writing to {self.path}",
                remedy="Wait until it has ended, or name another file.",
            ) from None

    def _end_torn_line(self) -> None:
        """End the line that a killed writer has left unfinished."""
        size = os.fstat(self._file).st_size
        if size and os.pread(self._file, 1, size - 1) != b"\n":
            os.write(self._file, b"\n")


def _line(event: Event) -> bytes:
    text = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
    return redact_json(text).encode("utf-8", "backslashreplace") + b"\n"
