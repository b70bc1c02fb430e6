"""Which files and folders discovery passes over."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

__all__ = ["JUNK", "IgnoreFile", "Ignores"]

JUNK = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        ".DS_Store",
        "node_modules",
        ".venv",
        "venv",
        ".tox",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
    }
)
"""Names that never belong to a skill: version control, caches, installed packages.

Not ``__pycache__``: Python runs byte code that lies there in place of the source beside it.
"""


class IgnoreFile:
    """Git's ignore patterns that hold below one folder (compiled when first asked)."""

    def __init__(self, base: str, lines: Sequence[str]) -> None:
        self.base = base
        self.lines = lines

    @cached_property
    def _spec(self) -> GitIgnoreSpec:
        from pathspec import GitIgnoreSpec  # loaded only where there are patterns

        return GitIgnoreSpec.from_lines(self.lines)

    def says(self, path: str, folder: bool) -> bool | None:
        """True to ignore, False to keep after all, None for no opinion."""
        name = os.path.relpath(path, self.base).replace(os.sep, "/")
        return self._spec.check_file(name + "/" if folder else name).include


class Ignores:
    """All the patterns that hold at one place, the outermost file first; never changed."""

    def __init__(self, files: Sequence[IgnoreFile] = ()) -> None:
        self.files = tuple(files)

    def entering(self, folder: str, names: set[str]) -> Ignores:
        """What holds inside a folder: this, and the folder's own .gitignore."""
        if ".gitignore" not in names:
            return self
        try:
            with open(os.path.join(folder, ".gitignore"), encoding="utf-8", errors="replace") as f:
                lines = f.read(1 << 20).splitlines()
        except OSError:
            return self
        if not any(line.strip() and not line.startswith("#") for line in lines):
            return self
        return Ignores((*self.files, IgnoreFile(folder, lines)))

    def match(self, path: str, folder: bool) -> bool:
        """Whether a path is to be passed over; the innermost opinion wins, as in git."""
        for file in reversed(self.files):
            verdict = file.says(path, folder)
            if verdict is not None:
                return verdict
        return False
