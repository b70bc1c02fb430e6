"""Reading and writing whole files beneath the mounts."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, NamedTuple

from skilleval.harness.tools.beneath import Beneath, ReadOnly, Spot
from skilleval.harness.tools.ledger import Known, digest_of
from skilleval.skill.disk import NoFile, TooLarge

__all__ = ["Content", "known_of", "open_file", "read_file", "write_file"]

_CREATE = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_MODE_BITS = 0o7777


class Content(NamedTuple):
    """A file that was read.

    Attributes:
        inside: its path in the sandbox, without links.
        data: its bytes.
        mtime_ns: when it was last changed.
    """

    inside: str
    data: bytes
    mtime_ns: int


@contextmanager
def open_file(tree: Beneath, path: str) -> Iterator[tuple[Spot, BinaryIO]]:
    """Open a regular file beneath the mounts to read it."""
    with tree.spot(path) as spot, os.fdopen(spot.open(), "rb") as file:
        yield spot, file


def read_file(tree: Beneath, path: str, limit: int) -> Content:
    """All bytes of a regular file.

    Raises:
        OSError: it can't be read, or is larger than the limit.
    """
    with open_file(tree, path) as (spot, file):
        status = os.fstat(file.fileno())
        data = b"" if status.st_size > limit else file.read(limit + 1)
        if status.st_size > limit or len(data) > limit:
            raise TooLarge(max(status.st_size, len(data)), limit)
        return Content(spot.inside, data, status.st_mtime_ns)


def write_file(
    tree: Beneath, path: str, data: bytes, check: Callable[[Spot], object] = lambda spot: None
) -> tuple[Spot, os.stat_result]:
    """Put a file in place in one step; folders on the way are made, a file's mode is kept.

    Args:
        tree: the mounts.
        path: where; a link is followed to what it leads to.
        data: all of its bytes.
        check: called with the spot right before the file is replaced; it raises to stop that.

    Raises:
        OSError: it can't be written.
    """
    with tree.spot(path, create=True) as spot:
        if not spot.writable:
            raise ReadOnly(spot.inside)
        old = _existing(spot)
        temporary = f".{spot.name[:40]}.{secrets.token_hex(6)}.tmp"
        handle = os.open(temporary, _CREATE, 0o666, dir_fd=spot.folder)
        try:
            with os.fdopen(handle, "wb") as file:
                if old is not None:
                    _take_over(file.fileno(), old)
                file.write(data)
                file.flush()
                status = os.fstat(file.fileno())
            check(spot)
            os.rename(temporary, spot.name, src_dir_fd=spot.folder, dst_dir_fd=spot.folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=spot.folder)
            raise
        return spot, status


def known_of(data: bytes, mtime_ns: int, *, whole: bool = True, written: bool = False) -> Known:
    """What the ledger keeps of a file with these bytes."""
    return Known(digest_of(data), mtime_ns, len(data), whole, written)


def _existing(spot: Spot) -> os.stat_result | None:
    try:
        os.close(spot.open())
    except FileNotFoundError:
        return None
    except NoFile:
        raise
    except PermissionError:
        pass  # replacing a file that we may not read is the folder's business
    return spot.status()


def _take_over(handle: int, old: os.stat_result) -> None:
    """Give a new file the owner, where we may, and the mode of the one that it replaces."""
    own = os.fstat(handle)
    if (own.st_uid, own.st_gid) != (old.st_uid, old.st_gid):
        with suppress(OSError):
            os.fchown(handle, old.st_uid, old.st_gid)
    os.fchmod(handle, old.st_mode & _MODE_BITS)
