"""Opening a model's paths beneath the mounts, and nowhere else.

The tools run in the harness's own process, outside the sandbox, so no path may be handed to the
operating system as it is. A path is walked part by part instead: every folder is opened
relative to the one before, without following links, and a link's text is walked in its turn as
the sandbox would read it. Another process that swaps a folder for a link meanwhile gets an
error, not a way out: what is open stays the folder that it was.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple, Protocol

from skilleval.skill.disk import NoFile

__all__ = ["Beneath", "Hidden", "MountPoint", "Outside", "ReadOnly", "Spot"]

_NEAR = os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = _NEAR | os.O_DIRECTORY | getattr(os, "O_PATH", os.O_RDONLY)
_ROOT = (_FOLDER & ~os.O_NOFOLLOW) | os.O_CLOEXEC
_FILE = _NEAR | os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY
_MAX_LINKS = 40
_MAX_DEPTH = 128
"""Folders that are open at once while a path is walked."""
_MAX_PATH = 4_096


class MountPoint(Protocol):
    """A folder of this machine, and where it is seen in the sandbox."""

    @property
    def host(self) -> str:
        """Its path outside the sandbox."""

    @property
    def inside(self) -> str:
        """Its path in the sandbox."""

    @property
    def writable(self) -> bool:
        """Whether it may be written to."""


class Outside(OSError):
    """The path leads out of everything that is mounted."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.EACCES, "leads out of the folders that can be reached", path)


class ReadOnly(OSError):
    """The path lies in a mount that must not be written to."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.EROFS, "is read-only", path)


class Hidden(OSError):
    """The path leads to what nobody in the sandbox may see."""

    def __init__(self) -> None:
        super().__init__(errno.EACCES, "is hidden")


class Spot(NamedTuple):
    """The end of a path: a name, which is no link, in a folder that is open.

    Attributes:
        folder: descriptor of the folder.
        name: the name in it; ``.`` for the folder itself. Nothing need be there.
        inside: the path in the sandbox, without links.
        writable: whether the mount may be written to.
        hidden: device and number of what must not be seen.
    """

    folder: int
    name: str
    inside: str
    writable: bool
    hidden: frozenset[tuple[int, int]]

    def status(self) -> os.stat_result:
        """What is there, without following a link."""
        return self._seen(os.stat(self.name, dir_fd=self.folder, follow_symlinks=False))

    def open(self) -> int:
        """A descriptor to read the regular file that is there.

        Raises:
            OSError: nothing is there, or no regular file.
        """
        _regular(self.status())
        handle = os.open(self.name, _FILE, dir_fd=self.folder)
        try:
            _regular(self._seen(os.fstat(handle)))
        except OSError:
            os.close(handle)
            raise
        return handle

    def list(self) -> int:
        """A descriptor that lists the folder that is there."""
        self.status()
        return os.open(self.name, _NEAR | os.O_RDONLY | os.O_DIRECTORY, dir_fd=self.folder)

    def _seen(self, status: os.stat_result) -> os.stat_result:
        if (status.st_dev, status.st_ino) in self.hidden:
            raise Hidden
        return status


class Beneath:
    """The mounts as one tree of paths, as a process in the sandbox sees them."""

    def __init__(self, mounts: Sequence[MountPoint], hidden: Sequence[str] = ()) -> None:
        """Take in what can be reached.

        Args:
            mounts: the folders, and where they are seen.
            hidden: files and folders of this machine that can't be reached for all that.
        """
        self.mounts = {_plain(mount.inside): mount for mount in mounts}
        self._hidden = tuple(hidden)

    @contextmanager
    def spot(self, path: str, *, create: bool = False, follow: bool = True) -> Iterator[Spot]:
        """Walk an absolute path.

        Args:
            path: as the sandbox sees it.
            create: make the folders that are missing on the way.
            follow: walk on where the last part is a link.

        Raises:
            OSError: a folder on the way is missing, is none, or can't be entered; or the path
                leads out of the mounts (``Outside``).
        """
        walk = _Walk(self, create)
        try:
            yield walk.to(path, follow)
        finally:
            walk.close()

    def hidden(self) -> frozenset[tuple[int, int]]:
        """Device and number of what must not be seen, as it is now."""
        found = set()
        for path in self._hidden:
            with suppress(OSError):
                status = os.stat(path)
                found.add((status.st_dev, status.st_ino))
        return frozenset(found)

    def covers(self, inside: str) -> bool:
        """Whether a mount lies somewhere below a path."""
        start = inside.rstrip("/") + "/"
        return any(place.startswith(start) for place in self.mounts)

    def below(self, inside: str) -> list[str]:
        """The names that mounts have directly in a folder."""
        start = inside.rstrip("/") + "/"
        ends = [place[len(start) :] for place in self.mounts if place.startswith(start)]
        return sorted({end.split("/")[0] for end in ends})


class _Level(NamedTuple):
    """A folder on the way: ``folder`` is None where only mounts further down are there."""

    inside: str
    folder: int | None
    writable: bool


class _Walk:
    """One walk along one path, with the folders from the root to where it is."""

    def __init__(self, tree: Beneath, create: bool) -> None:
        self.tree = tree
        self.create = create
        self.hidden = tree.hidden()
        self.levels: list[_Level] = []

    def close(self, keep: int = 0) -> None:
        """Leave all folders but the first so many."""
        while len(self.levels) > keep:
            folder = self.levels.pop().folder
            if folder is not None:
                os.close(folder)

    def to(self, path: str, follow: bool) -> Spot:
        _check(path)
        self._restart()
        pending = path.split("/")[::-1]
        links = 0
        while pending:
            part = pending.pop()
            if part in ("", "."):
                continue
            if part == "..":
                self.close(keep=max(len(self.levels) - 1, 1))
                continue
            last = all(rest in ("", ".") for rest in pending)
            target = self._link(part) if follow or not last else None
            if target is not None:
                links += 1
                if links > _MAX_LINKS:
                    raise OSError(errno.ELOOP, "is a link that leads round in circles", path)
                if target.startswith("/"):
                    self._restart()
                pending.extend(target.split("/")[::-1])
            elif last and self._path(part) not in self.tree.mounts:
                return self._end(part)
            else:
                self._down(part)
        top = self.levels[-1]
        if top.folder is None:
            raise Outside(top.inside)
        return Spot(top.folder, ".", top.inside, top.writable, self.hidden)

    def _restart(self) -> None:
        self.close()
        whole = "/" in self.tree.mounts
        self.levels.append(self._root("/") if whole else _Level("/", None, False))

    def _path(self, name: str) -> str:
        return f"{self.levels[-1].inside.rstrip('/')}/{name}"

    def _link(self, name: str) -> str | None:
        folder = self.levels[-1].folder
        if folder is None or self._path(name) in self.tree.mounts:
            return None
        try:
            return os.readlink(name, dir_fd=folder)
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOENT):
                return None
            raise

    def _end(self, name: str) -> Spot:
        top, inside = self.levels[-1], self._path(name)
        if top.folder is None:
            raise Outside(inside)
        return Spot(top.folder, name, inside, top.writable, self.hidden)

    def _down(self, name: str) -> None:
        top, inside = self.levels[-1], self._path(name)
        if len(self.levels) > _MAX_DEPTH:
            raise OSError(errno.ENAMETOOLONG, "lies too deep", inside)
        if inside in self.tree.mounts:
            self.levels.append(self._root(inside))
        elif top.folder is None:
            if not self.tree.covers(inside):
                raise Outside(inside)
            self.levels.append(_Level(inside, None, False))
        else:
            self.levels.append(self._folder(top, top.folder, name, inside))

    def _folder(self, top: _Level, folder: int, name: str, inside: str) -> _Level:
        try:
            handle = os.open(name, _FOLDER, dir_fd=folder)
        except FileNotFoundError as error:
            if self.tree.covers(inside):
                return _Level(inside, None, False)
            if not self.create:
                raise FileNotFoundError(error.errno, error.strerror, inside) from None
            if not top.writable:
                raise ReadOnly(inside) from None
            os.mkdir(name, dir_fd=folder)
            handle = os.open(name, _FOLDER, dir_fd=folder)
        except OSError as error:
            raise OSError(error.errno, error.strerror, inside) from None
        self._check_seen(handle)
        return _Level(inside, handle, top.writable)

    def _check_seen(self, handle: int) -> None:
        status = os.fstat(handle)
        if (status.st_dev, status.st_ino) in self.hidden:
            os.close(handle)
            raise Hidden

    def _root(self, inside: str) -> _Level:
        mount = self.tree.mounts[inside]
        handle = os.open(mount.host, _ROOT)
        self._check_seen(handle)
        return _Level(inside, handle, mount.writable)


def _check(path: str) -> None:
    """Refuse what no path can be."""
    try:
        size = len(path.encode("utf-8"))
    except UnicodeEncodeError:
        raise OSError(errno.EINVAL, "holds a character that no path can hold") from None
    if "\0" in path:
        raise OSError(errno.EINVAL, "holds a NUL character")
    if size > _MAX_PATH:
        raise OSError(errno.ENAMETOOLONG, f"is {size:,} bytes long, {_MAX_PATH:,} at most")
    if not path.startswith("/"):
        raise ValueError("a path to walk must be absolute")


def _plain(inside: str) -> str:
    return "/" + "/".join(part for part in inside.split("/") if part)


def _regular(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        folder = stat.S_ISDIR(status.st_mode)
        what = "a link" if stat.S_ISLNK(status.st_mode) else "a device, pipe or socket"
        raise NoFile("is a folder" if folder else f"is {what}", folder)
