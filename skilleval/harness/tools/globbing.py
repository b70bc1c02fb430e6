"""Patterns for paths: ``*``, ``?``, ``[…]``, ``{a,b}`` and ``**`` for folders at any depth.

A path is matched part by part and in bounded time, whatever the pattern.
"""

from __future__ import annotations

import fnmatch
import re

__all__ = ["BadPattern", "PathPattern"]

_ALTERNATIVES = 256
"""Patterns that one with braces may stand for."""
_PARTS = 64
_LENGTH = 1_000


class BadPattern(ValueError):
    """The pattern is too large."""


class PathPattern:
    """A pattern for paths relative to a folder.

    ``loose`` patterns without a slash match a name at any depth, as in an ignore file.
    """

    def __init__(self, pattern: str, *, loose: bool = False) -> None:
        """Take a pattern apart.

        Raises:
            BadPattern: it is too large.
        """
        if len(pattern) > _LENGTH:
            raise BadPattern(f"the pattern is {len(pattern):,} characters, {_LENGTH:,} at most")
        deep = loose and "/" not in pattern.strip("/")
        self._patterns = []
        for each in _expanded(pattern):
            parts = [part for part in each.split("/") if part not in ("", ".")]
            if len(parts) > _PARTS:
                raise BadPattern(f"the pattern has over {_PARTS} parts")
            self._patterns.append([*(["**"] if deep else []), *parts])
        self._compiled: dict[str, re.Pattern[str]] = {}

    def matches(self, path: str) -> bool:
        """Whether a path is meant."""
        parts = path.split("/")
        return any(self._match(pattern, parts) for pattern in self._patterns)

    def _match(self, pattern: list[str], parts: list[str]) -> bool:
        """Match all parts of a path: for each of them, which parts of the pattern may be next."""
        states = _after_stars(pattern, {0})
        for part in parts:
            step = set()
            for state in states:
                if state == len(pattern):
                    continue
                if pattern[state] == "**":
                    step.add(state)
                elif self._part(pattern[state]).match(part):
                    step.add(state + 1)
            states = _after_stars(pattern, step)
            if not states:
                return False
        return len(pattern) in states

    def _part(self, part: str) -> re.Pattern[str]:
        if part not in self._compiled:
            self._compiled[part] = re.compile(fnmatch.translate(part))
        return self._compiled[part]


def _after_stars(pattern: list[str], states: set[int]) -> set[int]:
    """The states, and those behind a ``**`` that stands for nothing."""
    found = set(states)
    for state in states:
        while state < len(pattern) and pattern[state] == "**":
            state += 1
            found.add(state)
    return found


def _expanded(pattern: str) -> list[str]:
    """The patterns without braces that one with braces stands for."""
    done, pending = [], [pattern]
    while pending:
        each = pending.pop()
        braces = _braces(each)
        if braces is None:
            done.append(each)
        else:
            start, end, options = braces
            pending += [each[:start] + option + each[end:] for option in reversed(options)]
        if len(done) + len(pending) > _ALTERNATIVES:
            raise BadPattern(f"the pattern's braces stand for over {_ALTERNATIVES} patterns")
    return done


def _braces(text: str) -> tuple[int, int, list[str]] | None:
    """The first complete group in braces: where it is, and its options."""
    start, depth, begin = -1, 0, 0
    options: list[str] = []
    for at, character in enumerate(text):
        if character == "{":
            depth += 1
            if depth == 1:
                start, begin, options = at, at + 1, []
        elif depth and character == "}":
            depth -= 1
            if depth == 0:
                options.append(text[begin:at])
                return start, at + 1, options
        elif character == "," and depth == 1:
            options.append(text[begin:at])
            begin = at + 1
    return None
