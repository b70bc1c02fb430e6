"""Paths as the model sees them, and where they lead on this machine.

A sandbox shows folders under other paths. Rules are about the folders of this machine, so each
path of a call is taken back before anything is looked up.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["Mounts", "followed", "mounted", "on_this_machine"]

Mounts = Sequence[tuple[str, str]]
"""Folders as they are seen inside, with their paths on this machine."""
_mounts: ContextVar[Mounts] = ContextVar("mounts", default=())
_MOST_LINKS = 8
"""Links from folder to folder of the sandbox that are followed one after another."""


@contextmanager
def mounted(mounts: Mounts) -> Iterator[None]:
    """Take the paths of a call for those of a sandbox with these mounts."""
    token = _mounts.set(tuple(sorted(mounts, key=lambda mount: -len(mount[0]))))
    try:
        yield
    finally:
        _mounts.reset(token)


def on_this_machine(path: str) -> str:
    """Where a call's path leads; it stays what it is where nothing is mounted at it."""
    mounts = _mounts.get()
    if any(_is_below(path, host) for _, host in mounts):
        return path  # it was taken back before
    for candidate in (path, os.path.normpath(path)) if mounts else ():
        for inside, host in mounts:
            rest = candidate[len(inside) :]
            if candidate.startswith(inside) and rest[:1] in ("", "/") and not _climbs_out(rest):
                return host + rest
    return path


def followed(path: str) -> str:
    """A call's path on this machine with all links followed, as far as it exists."""
    for _ in range(_MOST_LINKS):
        there = on_this_machine(path)
        try:
            found = os.path.realpath(there)
        except (OSError, ValueError):
            return os.path.normpath(there)
        if found == path or any(_is_below(found, host) for _, host in _mounts.get()):
            return found
        path = found  # a link may lead to a path of the sandbox again
    return path


def _climbs_out(rest: str) -> bool:
    """Whether a path leaves the folder that it is relative to."""
    depth = 0
    for part in rest.split("/"):
        depth += {"": 0, ".": 0, "..": -1}.get(part, 1)
        if depth < 0:
            return True
    return False


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
