"""What a command writes: the start of it in memory, all of it in a file."""

from __future__ import annotations

import os

__all__ = ["Output"]

_OPEN = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Output:
    """Takes bytes, counts those that it throws away.

    Attributes:
        total: bytes taken.
        unwritten: of these, those that are not in the file.
    """

    def __init__(self, keep: int, path: str | None, file_bytes: int) -> None:
        """Open the file, which is not followed where it is a link.

        Raises:
            OSError: it can't be written.
        """
        self.total = self.unwritten = 0
        self._kept: list[bytes] = []
        self._room = keep
        self._file_room = file_bytes
        self._file = os.open(path, _OPEN, 0o644) if path else -1

    def take(self, data: bytes) -> None:
        """Some more output."""
        self.total += len(data)
        if self._room > 0:
            self._kept.append(data[: self._room])
            self._room -= len(data)
        if self._file >= 0:
            part = data[: max(self._file_room, 0)]
            written = self._write(part)
            self._file_room = self._file_room - written if written == len(part) else 0
            self.unwritten += len(data) - written

    def _write(self, data: bytes) -> int:
        done = 0
        try:
            while done < len(data):
                done += os.write(self._file, data[done:])
        except OSError:
            pass  # the disk is full: what is missing is counted
        return done

    def data(self) -> bytes:
        """What was kept, in order."""
        return b"".join(self._kept)

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
