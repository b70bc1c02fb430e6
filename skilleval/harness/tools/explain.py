"""Saying what went wrong with a path so that the next call can be right."""

from __future__ import annotations

import difflib
import errno
import os
import posixpath
from itertools import islice

from skilleval.harness.tools.base import ToolContext, ToolError
from skilleval.harness.tools.beneath import Outside, ReadOnly
from skilleval.skill.disk import NoFile, TooLarge

__all__ = ["nearest", "path_error"]

_NAMES = 2_000
"""Names of a folder among which the nearest is looked for."""


def path_error(error: OSError, path: str, context: ToolContext) -> ToolError:
    """What a model is told of a path that could not be opened or written."""
    if isinstance(error, Outside):
        return ToolError(f"{path} leads out of the folders that can be reached: {_roots(context)}.")
    if isinstance(error, ReadOnly) or error.errno == errno.EROFS:
        return ToolError(f"{path} is read-only. Writable: {_roots(context, writable=True)}.")
    if isinstance(error, TooLarge):
        return ToolError(f"{path} {error.strerror}.")
    if isinstance(error, NoFile):
        hint = " Name a file in it; Glob lists them." if error.folder else ""
        return ToolError(f"{path} {error.strerror}, not a file.{hint}")
    if isinstance(error, NotADirectoryError):
        return ToolError(f"{path}: a part of the path is a file, not a folder.")
    if isinstance(error, FileNotFoundError):
        if path.startswith("~"):
            return ToolError(f"{path} does not exist: ~ is not expanded. Give the whole path.")
        return ToolError(f"{path} does not exist.{_missing(path, context)}")
    if error.errno in (errno.EACCES, errno.EPERM):
        return ToolError(f"{path}: permission denied.")
    return ToolError(f"{path}: {error.strerror or error}.")


def nearest(name: str, names: list[str], count: int = 3) -> list[str]:
    """The names that are most like one, the most alike first."""
    by_lower = {each.lower(): each for each in reversed(names[:_NAMES])}
    close = difflib.get_close_matches(name.lower(), list(by_lower), count, 0.6)
    return [by_lower[each] for each in close]


def _roots(context: ToolContext, writable: bool = False) -> str:
    """The mounts in words."""
    mounts = [mount for mount in context.sandbox.policy.mounts if mount.writable or not writable]
    parts = [m.inside if m.writable else f"{m.inside} (read-only)" for m in mounts]
    shown = ", ".join(parts[:12]) or "none"
    return shown + (f" and {len(parts) - 12} more" if len(parts) > 12 else "")


def _missing(path: str, context: ToolContext) -> str:
    """Where a path that does not exist leaves what does, and what is near it."""
    full = posixpath.normpath(context.path(path))
    folder, name = posixpath.split(full)
    names = _names(folder, context)
    if names is None:
        while names is None and folder != "/":
            folder, name = posixpath.split(folder)
            names = _names(folder, context)
        gone = posixpath.join(folder, name)
        hint = nearest(name, names or [])
        near = f" Near it: {', '.join(posixpath.join(folder, each) for each in hint)}." * bool(hint)
        return f" Its folder {gone} does not exist either.{near}"
    close = [posixpath.join(folder, each) for each in nearest(name, names)]
    if close:
        return f" Did you mean {' or '.join(close)}?"
    return f" The working directory is {context.cwd}; Glob finds files by name."


def _names(folder: str, context: ToolContext) -> list[str] | None:
    """The names in a folder; None where it can't be listed."""
    try:
        with context.tree.spot(folder) as spot:
            handle = spot.list()
            try:
                with os.scandir(handle) as entries:
                    return sorted(entry.name for entry in islice(entries, _NAMES))
            finally:
                os.close(handle)
    except OSError:
        return None
