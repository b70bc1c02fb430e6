"""Listing what lies below a folder, without following links."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from skilleval.harness.tools.beneath import Beneath

__all__ = ["SKIPPED", "Entry", "Walked", "walk"]

SKIPPED = frozenset((".git", ".hg", ".jj", ".svn"))
"""Folders of version control: nobody looks for files in them."""
_MAX_DEPTH = 64


class Entry(NamedTuple):
    """A file.

    Attributes:
        path: from the folder that was walked.
        size: in bytes.
        mtime_ns: when it was last changed.
        link: it is a symbolic link, to whatever.
    """

    path: str
    size: int
    mtime_ns: int
    link: bool


class Walked(NamedTuple):
    """The files below a folder, folder by folder and by name; whether those are all."""

    files: list[Entry]
    complete: bool


def walk(tree: Beneath, folder: str, limit: int) -> Walked:
    """List the files below a folder.

    Args:
        tree: the mounts.
        folder: absolute path in the sandbox.
        limit: files and folders to look at.

    Raises:
        OSError: the folder can't be listed. What can't be listed below it is passed over.
    """
    with tree.spot(folder) as spot:
        handle = spot.list()
        try:
            walker = _Walker(tree, limit)
            files = list(walker.walk(handle, spot.inside, "", 0))
            return Walked(files, walker.left >= 0)
        finally:
            os.close(handle)


class _Walker:
    def __init__(self, tree: Beneath, limit: int) -> None:
        self.tree = tree
        self.left = limit
        self.hidden = tree.hidden()

    def walk(self, handle: int, inside: str, prefix: str, depth: int) -> Iterator[Entry]:
        mounted = set(self.tree.below(inside))
        with os.scandir(handle) as entries:
            names = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
        for name in sorted(names | dict.fromkeys(mounted, True)):
            self.left -= 1
            if self.left < 0:
                return
            path = prefix + name
            if name in mounted or names[name]:
                if name not in SKIPPED and depth < _MAX_DEPTH:
                    yield from self._folder(handle, name, inside, path, depth)
                continue
            with suppress(OSError):
                status = os.stat(name, dir_fd=handle, follow_symlinks=False)
                link = stat.S_ISLNK(status.st_mode)
                seen = (status.st_dev, status.st_ino) not in self.hidden
                if seen and (link or stat.S_ISREG(status.st_mode)):
                    yield Entry(path, status.st_size, status.st_mtime_ns, link)

    def _folder(
        self, handle: int, name: str, inside: str, path: str, depth: int
    ) -> Iterator[Entry]:
        below = f"{inside.rstrip('/')}/{name}"
        try:
            if self.tree.covers(below) or below in self.tree.mounts:
                with self.tree.spot(below, follow=False) as spot:
                    child = spot.list()
            else:
                flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
                child = os.open(name, flags, dir_fd=handle)
        except OSError:
            return
        status = os.fstat(child)
        try:
            if (status.st_dev, status.st_ino) in self.hidden:
                return
            yield from self.walk(child, below, path + "/", depth + 1)
        finally:
            os.close(child)
