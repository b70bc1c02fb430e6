"""Which program a word of a command starts: by its file, whatever it is called.

A program is known by all names that lead to its file: the one that was written, those of the
links on the way, and those of programs that somebody has an interest in and whose file is the
same or has the same content. So a link to a program, a way around through ``/proc/self/root``
and a copy under another name are all what they are.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from skilleval.harness.permissions.mounts import followed, on_this_machine

__all__ = ["MULTICALL", "Found", "Programs", "base_name", "real_inside", "real_path"]


MULTICALL = frozenset({"busybox", "toybox", "coreutils", "uutils", "sbase-box", "multicall"})
"""One file, many programs: what it does depends on the name that it is called by."""

_ROOT = re.compile(r"^/proc/(?:self|thread-self|\d+)(?:/task/\d+)?/(root|cwd)(?=/|$)")
_MOST_LINKS = 40
_LARGEST = 512 * 1024 * 1024


class Found(NamedTuple):
    """What a word that starts a program leads to.

    Attributes:
        names: all names of the program.
        file: its file, with all links followed; empty where there is none.
    """

    names: frozenset[str]
    file: str


def real_path(path: str) -> str:
    """An absolute path of this machine with links followed as far as it exists."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return os.path.normpath(path)


def real_inside(path: str) -> str:
    """What a path of a call leads to on this machine, with links followed.

    ``/proc/self/root`` leads to the root, and ``/proc/1234/cwd`` is not followed: it is the
    working directory of somebody else.
    """
    while match := _ROOT.match(path):
        if match[1] == "cwd":
            return path
        path = path[match.end() :] or "/"
    return followed(path)


def base_name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2] or path


class Programs:
    """The programs that can be started.

    Args:
        path: as the variable ``PATH`` holds it.
        watched: names whose files are recognised under any other name.
    """

    def __init__(self, path: str, watched: Iterable[str] = ()) -> None:
        self._folders = [folder for folder in path.split(":") if os.path.isabs(folder)]
        self._where: dict[str, str] = {}
        self._twins: dict[str, set[str]] = {}
        self._known: dict[tuple[str, str], Found] = {}
        self._watched: dict[int, list[tuple[str, str]]] = {}
        for name in sorted(set(watched)):
            file = real_inside(name) if os.path.isabs(name) else self.find(name)
            if file and base_name(file) not in MULTICALL and (size := _size(file)):
                self._watched.setdefault(size, []).append((base_name(name), file))

    def find(self, name: str) -> str:
        """The file of a program on the path, with links followed; empty where there is none."""
        place = self.place(name)
        return real_path(place) if place else ""

    def place(self, name: str) -> str:
        """Where a program lies on the path; empty where there is none."""
        if name not in self._where:
            candidates = (os.path.join(folder, name) for folder in self._folders)
            good = (each for each in candidates if os.access(each, os.X_OK) and _size(each))
            self._where[name] = next(good, "") if name and "/" not in name else ""
        return self._where[name]

    def known(self, word: str, folders: Iterable[str]) -> Found:
        """All names of what a word starts, from whichever folder it is."""
        if "/" in word:
            starts = [os.path.join(folder, word) for folder in folders]
        else:
            starts = [found] if (found := self.place(word)) else []
        key = (word, "\0".join(starts))
        if key not in self._known:
            self._known[key] = self._look(word, starts)
        return self._known[key]

    def _look(self, word: str, starts: Iterable[str]) -> Found:
        names = {word, base_name(word)}
        file = ""
        for start in starts:
            file = real_inside(start)
            names.update(_link_names(on_this_machine(start)), [base_name(file)])
            names.update(self.twins(file))
        return Found(frozenset(names), file)

    def twins(self, file: str) -> set[str]:
        """The watched programs that a file is, or is a copy of."""
        if file not in self._twins:
            real = real_inside(file)
            same = self._watched.get(_size(real), ())
            self._twins[file] = {name for name, other in same if _same(other, real)}
        return self._twins[file]


def _link_names(path: str) -> list[str]:
    """The names on a chain of links."""
    names = []
    for _ in range(_MOST_LINKS):
        names.append(base_name(path))
        try:
            path = os.path.join(os.path.dirname(path), os.readlink(path))
        except (OSError, ValueError):
            break
    return names


def _size(path: str) -> int:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def _same(one: str, two: str) -> bool:
    try:
        a, b = os.stat(one), os.stat(two)
        if (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino):
            return True
        return _digest(one, *_version(a)) == _digest(two, *_version(b))
    except (OSError, ValueError):
        return False


def _version(status: os.stat_result) -> tuple[int, int, int, int, int]:
    return (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


@lru_cache(maxsize=1024)
def _digest(path: str, *version: int) -> bytes:
    """Of a file's content; remembered for as long as the file does not change."""
    if version[2] > _LARGEST:
        return path.encode("utf-8", "surrogateescape")
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
