"""Reading files of hostile folders: bounded, never through a link, never blocked by a pipe."""

from __future__ import annotations

import errno
import os
import stat

__all__ = ["NoFile", "TooLarge", "read", "read_file", "read_head"]

_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)  # a pipe without a writer must not block us
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)


class NoFile(OSError):
    """It exists and is no regular file; ``strerror`` says what, ``folder`` whether a folder."""

    def __init__(self, what: str, folder: bool) -> None:
        super().__init__(errno.EINVAL, what)
        self.folder = folder


class TooLarge(OSError):
    """It is larger than the limit."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(errno.EFBIG, f"is {size:,} bytes, over {limit:,}")


def read(path: str, limit: int, *, head: bool = False, follow: bool = False) -> bytes:
    """Up to ``limit`` bytes of a regular file, without ever blocking on a pipe.

    Raises:
        OSError: it can't be read, is no regular file, is a link and ``follow`` is off, or (not
            with ``head``) is larger than the limit.
    """
    handle = os.open(path, _READ if follow else _READ | _NO_FOLLOW)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            folder = stat.S_ISDIR(status.st_mode)
            raise NoFile("is a folder" if folder else "is a device, pipe or socket", folder)
        if status.st_size > limit and not head:
            raise TooLarge(status.st_size, limit)
        wanted = min(limit, status.st_size)
        data = os.read(handle, wanted)
        while len(data) < wanted:  # a file that shrinks meanwhile ends it, too
            more = os.read(handle, wanted - len(data))
            if not more:
                break
            data += more
        return data
    finally:
        os.close(handle)


def read_head(path: str, size: int) -> bytes:
    """The first bytes of a regular file; none where it can't be read."""
    try:
        return read(path, size, head=True)
    except OSError:
        return b""


def read_file(path: str, limit: int) -> bytes | None:
    """A regular file's bytes; None where it is a link, no file, unreadable or over the limit."""
    try:
        return read(path, limit)
    except OSError:
        return None
