"""What every command may read of this machine: the system, the interpreter, what is on PATH."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["ROOTS", "Shown", "is_in", "own_folder", "private", "shown"]

ROOTS = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix/store",
    "/gnu/store",
)
"""Folders of the system. Nothing else is shown unless it is needed: no homes, no /tmp, /run, /var,
/srv, /mnt, and no folder that somebody has made for a project."""
_STANDARD_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


class Shown(NamedTuple):
    """What is shown, to be read only, each folder at its own path.

    Attributes:
        system: the folders of the system.
        interpreter: those that the Python that runs this needs.
        extra: folders on PATH that lie in neither.
        path: the value of PATH.
    """

    system: tuple[str, ...]
    interpreter: tuple[str, ...]
    extra: tuple[str, ...]
    path: str

    def folders(self, hidden: Iterable[str]) -> list[str]:
        """The folders that have to be shown, the outer ones first.

        The interpreter is needed even where it lies in something that is hidden.

        Args:
            hidden: folders without links that must not be seen.
        """
        found = list(self.system)
        for folder in self.interpreter:
            if not _in_any(folder, found) or _in_any(folder, hidden):
                found.append(folder)
        for folder in self.extra:
            if not _in_any(folder, found) and not _in_any(os.path.realpath(folder), hidden):
                found.append(folder)
        return found


@functools.cache
def shown() -> Shown:
    """The system, the interpreter that runs this, and the folders on PATH.

    ``python3`` inside is the Python that runs skilleval, with its packages, whatever PATH says;
    the other folders on PATH come after those of the system. Of a folder in a home only itself
    is shown, not what is beside it: programs that need more have to be mounted.
    """
    program = os.path.realpath(sys.executable)
    prefixes = {sys.prefix, sys.base_prefix, os.path.dirname(os.path.dirname(program))}
    others = [
        os.path.normpath(folder)
        for folder in os.environ.get("PATH", "").split(os.pathsep)
        if os.path.isabs(folder) and os.path.isdir(folder) and not _holds_more(folder)
    ]
    first = os.path.join(sys.prefix, "bin")
    return Shown(
        tuple(root for root in ROOTS if os.path.exists(root)),
        tuple(sorted((p for p in prefixes if p not in ROOTS and not _holds_more(p)), key=len)),
        tuple(sorted(set(others), key=len)),
        os.pathsep.join(dict.fromkeys([first, *_STANDARD_PATH, *others])),
    )


def _holds_more(folder: str) -> bool:
    """Whether showing a folder would show a home, or the place for temporary files."""
    places = (os.path.expanduser("~"), tempfile.gettempdir(), "/home", "/root", "/tmp")  # noqa: S108
    return any(is_in(place, os.path.normpath(folder)) for place in places)


def _in_any(path: str, folders: Iterable[str]) -> bool:
    return any(is_in(path, folder) for folder in folders)


def is_in(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies in it, as it is written."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


@functools.cache
def private() -> tuple[str, ...]:
    """What others may not read in /etc: password hashes, keys.

    Only root could read it anyhow; where root runs the commands, it has to be hidden.
    """
    found = []
    for folder, folders, files in os.walk("/etc"):
        for name in [*folders, *files]:
            path = os.path.join(folder, name)
            try:
                mode = os.lstat(path).st_mode
            except OSError:
                continue
            if not mode & 0o004:
                found.append(path)
        folders[:] = [name for name in folders if os.path.join(folder, name) not in found]
    return tuple(found)


def own_folder() -> str:
    """A folder of this process for what its sandboxes need; nobody else can enter it.

    No sandbox shows it, only folders in it: so whatever a command does to the permissions of
    its own /tmp, other users of this machine do not get there.
    """
    folder = _own_folder(os.getpid(), tempfile.gettempdir())
    if not os.path.isdir(folder):  # somebody has tidied up
        _own_folder.cache_clear()
        folder = _own_folder(os.getpid(), tempfile.gettempdir())
    return folder


@functools.cache
def _own_folder(process: int, within: str) -> str:
    folder = os.path.realpath(tempfile.mkdtemp(prefix=f"skilleval-{process}-", dir=within))
    atexit.register(_remove, process, folder)
    return folder


def _remove(process: int, folder: str) -> None:
    if os.getpid() == process:  # and not a fork of it
        shutil.rmtree(folder, ignore_errors=True)
