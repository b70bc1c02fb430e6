"""Writing files so that a reader sees the old content or the new one, never half of it."""

from __future__ import annotations

import contextlib
import os
import tempfile

__all__ = ["write_atomically"]


def write_atomically(path: str, data: bytes) -> None:
    """Put a file in place in one step, keeping the mode of the one it replaces.

    Raises:
        OSError: it can't be written; the old file is untouched then.
    """
    folder = os.path.dirname(os.path.abspath(path))
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".skilleval-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode(path))
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _mode(path: str) -> int:
    try:
        return os.stat(path).st_mode & 0o777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
