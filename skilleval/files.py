"""Writing files so that a reader sees the old content or the new one, never half of it."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator

__all__ = ["write_atomically", "write_new"]


def write_atomically(path: str, data: bytes) -> None:
    """Put a file in place in one step, keeping the mode of the one it replaces.

    Raises:
        OSError: it can't be written; the old file is untouched then.
    """
    with _written(path, data) as temporary:
        os.replace(temporary, path)


def write_new(path: str, data: bytes) -> None:
    """Put a file in place in one step where there is none.

    Raises:
        FileExistsError: there is one; it is untouched.
        OSError: it can't be written.
    """
    with _written(path, data) as temporary:
        try:
            os.link(temporary, path)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links: claim the name, then fill it
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
            os.replace(temporary, path)


@contextlib.contextmanager
def _written(path: str, data: bytes) -> Iterator[str]:
    """A file beside the one that is meant, on disk, and gone afterwards."""
    folder = os.path.dirname(os.path.abspath(path))
    temporary = os.path.join(folder, f".skilleval-{secrets.token_hex(8)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(temporary, flags, 0o666)  # less the process's mask, which the system knows
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            os.chmod(temporary, os.stat(path).st_mode & 0o777)
        yield temporary
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
