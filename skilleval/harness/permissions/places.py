"""Where a path leads, and whether that lies inside a folder or fits a pattern.

A path is looked at in two ways: as it is written, and with all links followed. What is denied
is denied if either of them fits; what is allowed must be what the links lead to.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from skilleval.harness.permissions.mounts import on_this_machine
from skilleval.harness.permissions.programs import real_inside, real_path
from skilleval.harness.permissions.words import Word

__all__ = ["HARMLESS_FILES", "PathPattern", "Place", "holds", "inside", "place_of", "places"]

_MOST_FILES = 500
_MOST_WALKED = 5_000

HARMLESS_FILES = frozenset(
    f"/dev/{name}" for name in ("null", "stdout", "stderr", "stdin", "zero", "tty", "full")
)
"""Reading and writing these changes nothing."""


class Place(NamedTuple):
    """A file or folder that is named.

    Attributes:
        path: absolute, links not followed; ``real`` with links followed.
        open: it is not known what it is, but for its ``tail``.
        beneath: all that lies in the folder is meant as well.
    """

    path: str
    real: str
    open: bool = False
    tail: str = ""
    beneath: bool = False

    @property
    def shown(self) -> str:
        return f"…{self.tail}" if self.open else self.real


def place_of(path: str, folder: str) -> Place:
    """The place of a path that is known."""
    joined = os.path.join(folder, path)
    return Place(os.path.normpath(on_this_machine(joined)), real_inside(joined))


def places(word: Word, folders: Collection[str] | None, beneath: bool = False) -> list[Place]:
    """All places that a word of a command may name; ``folders`` are where the shell may be."""
    if word.options:
        return [place for each in word.options for place in places(each, folders, beneath)]
    text = word.literal
    if text is not None:
        if folders is None and not os.path.isabs(text):
            return [Place("", "", True, text)]
        found = [place_of(text, folder) for folder in folders or ("/",)]
        return [place._replace(beneath=beneath) for place in found]
    if word.pattern.endswith("/**"):
        start = word.pattern[:-3]
        if folders is not None or os.path.isabs(start):
            found = [place_of(start, folder) for folder in folders or ("/",)]
            return [place._replace(beneath=True) for place in found]
    elif word.pattern and folders is not None:
        matched = _files(word.pattern, folders)
        if matched and len(matched) < _MOST_FILES:
            return [place._replace(beneath=beneath) for place in matched]
    last = word.pieces[-1] if word.pieces else None
    return [Place("", "", True, last or "")]


def _files(pattern: str, folders: Iterable[str]) -> list[Place]:
    """The files that a pattern names at this moment, if they are not too many."""
    found: list[Place] = []
    for folder in folders:
        try:
            names = glob.iglob(on_this_machine(pattern), root_dir=on_this_machine(folder))
            found += [place_of(name, folder) for name in islice(names, _MOST_FILES)]
        except (OSError, ValueError, re.error):
            continue
    return found


def inside(real: str, roots: Iterable[str]) -> bool:
    """Whether a path lies in one of some folders; both with links followed."""
    return any(real == root or real.startswith(root.rstrip("/") + "/") for root in roots)


def holds(folder: str, test: Callable[[str], bool]) -> bool:
    """Whether a test holds for something in a folder; so it does if there is too much to look."""
    walked = 0
    for parent, names, files in os.walk(folder):
        for name in (*names, *files):
            walked += 1
            if walked > _MOST_WALKED or test(os.path.join(parent, name)):
                return True
    return False


class PathPattern:
    """A pattern in the manner of ``.gitignore``, below a folder.

    Args:
        root: the folder; ``trusted`` if links on the way from it are the user's own, so that
            they are followed for what is allowed as well.
    """

    def __init__(self, pattern: str, root: str, *, trusted: bool) -> None:
        self._regex = _compiled(pattern)
        self._last = pattern.rstrip("/").rpartition("/")[2]
        real = real_path(root)
        self._strict = [(real, self._regex)]
        self._loose = [(os.path.normpath(root), self._regex), *self._strict]
        start, rest = _literal_start(pattern)
        if start:
            through = real_path(os.path.join(real, start))
            if not rest:
                through, rest = os.path.split(through)
            pair = (through, _compiled("/" + rest))
            self._loose.append(pair)
            if trusted:
                self._strict.append(pair)

    def surely(self, place: Place) -> bool:
        """Whether it fits what the place is in the end, and all that is meant with it."""
        if place.open:
            return False
        here = _fits(self._strict, place.real)
        if not place.beneath:
            return here
        deep = (place.real.rstrip("/") + end for end in ("/\x01", "/\x01/\x01"))
        return all(_fits(self._strict, each) for each in deep)

    def possibly(self, place: Place) -> bool:
        """Whether it may fit the place, on whichever way, or something in it."""
        if place.open:
            literal = not re.search(r"[*?\[]", self._last)
            tail = place.tail.rpartition("/")[2]
            return not (literal and self._last) or self._last.endswith(tail)
        for path in {place.path, place.real}:
            if _fits(self._loose, path) or _fits(self._loose, path.rstrip("/") + "/\x01"):
                return True
        return place.beneath and holds(place.real, lambda path: _fits(self._loose, path))


def _fits(pairs: Iterable[tuple[str, re.Pattern[str]]], path: str) -> bool:
    for root, regex in pairs:
        start = root.rstrip("/") + "/"
        if path.startswith(start) and regex.match(path[len(start) :]):
            return True
    return False


def _literal_start(pattern: str) -> tuple[str, str]:
    """The folders that a pattern begins with, and the rest; none if it fits at any depth."""
    body = pattern.rstrip("/")
    if not body.startswith("/") and "/" not in body:
        return "", pattern
    parts = body.strip("/").split("/")
    count = next((i for i, part in enumerate(parts) if re.search(r"[*?\[\\]", part)), len(parts))
    return "/".join(parts[:count]), "/".join(parts[count:])


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    from pathspec import GitIgnoreSpec

    regex = next(iter(GitIgnoreSpec.from_lines([pattern]).patterns)).regex
    return re.compile(r"(?!)") if regex is None else regex
