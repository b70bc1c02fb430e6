"""Which files and folders discovery passes over."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Sequence
from functools import cached_property

from skilleval.skill.disk import read_file

__all__ = ["JUNK", "IgnoreFile", "Ignores"]

_MAX_IGNORE_FILE = 1 << 20

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
    """Git's ignore patterns that hold below one folder (compiled when first asked).

    A line that is no pattern is passed over, as git does.
    """

    def __init__(self, base: str, lines: Sequence[str]) -> None:
        self.base = base
        self.lines = lines

    @cached_property
    def _patterns(self) -> list[tuple[re.Pattern[str], bool]]:
        from pathspec import GitIgnoreSpec  # loaded only where there are patterns

        found = []
        for line in self.lines:
            with contextlib.suppress(ValueError, re.error):
                for pattern in GitIgnoreSpec.from_lines([line]).patterns:
                    if pattern.regex is not None and pattern.include is not None:
                        found.append((pattern.regex, pattern.include))
        return found

    def says(self, path: str, folder: bool) -> bool | None:
        """True to ignore, False to keep after all, None for no opinion.

        Only the path itself counts, not the folders above it: the walk has asked for these
        before. The last pattern that matches decides.
        """
        name = os.path.relpath(path, self.base).replace(os.sep, "/") + ("/" if folder else "")
        for regex, include in reversed(self._patterns):
            for match in regex.finditer(name):
                # pathspec names the slash behind a matched folder; further on it is one above
                slash = match.groupdict().get("ps_d")
                if slash is None or match.end("ps_d") == len(name):
                    return include
        return None


class Ignores:
    """All the patterns that hold at one place, the outermost file first; never changed."""

    def __init__(self, files: Sequence[IgnoreFile] = ()) -> None:
        self.files = tuple(files)

    def entering(self, folder: str, names: set[str]) -> Ignores:
        """What holds inside a folder: this, and the folder's own .gitignore."""
        if ".gitignore" not in names:
            return self
        data = read_file(os.path.join(folder, ".gitignore"), _MAX_IGNORE_FILE)
        lines = (data or b"").decode("utf-8", "replace").splitlines()
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
