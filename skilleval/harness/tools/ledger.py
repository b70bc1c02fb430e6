"""What a session knows of files: which it has read or written, and what they held then."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["FileLedger", "Known", "digest_of"]


class Known(NamedTuple):
    """A file as the model last saw it.

    Attributes:
        digest: of all its bytes, also where only a part was shown.
        mtime_ns: when it was last changed, as the file system said then.
        size: in bytes.
        whole: all of it was shown, or the model wrote it.
        written: the last thing that happened to it is that the model wrote it.
    """

    digest: str
    mtime_ns: int
    size: int
    whole: bool
    written: bool


class FileLedger:
    """The files of a session by their path in the sandbox, the least recently used first."""

    def __init__(self) -> None:
        self._known: dict[str, Known] = {}

    def __getitem__(self, path: str) -> Known:
        return self._known[path]

    def __contains__(self, path: str) -> bool:
        return path in self._known

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._known))

    def note(self, path: str, known: Known) -> None:
        """Take in that a file was read or written."""
        self._known.pop(path, None)
        self._known[path] = known

    def get(self, path: str) -> Known | None:
        """What is known of a file."""
        return self._known.get(path)

    def recent(self, count: int = 5) -> list[str]:
        """The files that were used last, the latest first."""
        return list(self._known)[: -count - 1 : -1]

    def forget(self) -> None:
        """Know of no file any more: what was read is no longer before the model's eyes."""
        self._known.clear()


def digest_of(data: bytes) -> str:
    """What tells a file's bytes from others."""
    return hashlib.sha256(data).hexdigest()
