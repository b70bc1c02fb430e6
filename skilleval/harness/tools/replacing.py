"""Replacing text as a model writes it in text as a file holds it."""

from __future__ import annotations

import difflib
import heapq
import re
from itertools import islice
from typing import NamedTuple

from skilleval.harness.tools.base import ToolError

__all__ = ["Replaced", "numbered", "replace"]

_NUMBERED = re.compile(r"(?m)^ {0,6}[0-9]{1,7}\t")
_LINES = 20_000
"""Lines of a file among which one like the wanted is looked for."""
_WORD = re.compile(r"\w+")
_ALIKE = 40
"""Lines with the most words in common that are compared letter by letter."""
_WIDE = 200
_PLACES = 10


class Replaced(NamedTuple):
    """A text in which another was replaced.

    Attributes:
        text: all of it.
        times: how often.
        start, end: where the first new text stands in it.
    """

    text: str
    times: int
    start: int
    end: int


def replace(text: str, old: str, new: str, *, everywhere: bool, path: str) -> Replaced:
    """Replace a text that stands in another once, or everywhere.

    In a text with Windows line ends a model's line break stands for either kind, and the new
    text gets the kind that the file has most of.

    Raises:
        ToolError: the text is not there, or several times.
    """
    if "\r\n" in text:
        crlf = text.count("\r\n") * 2 > text.count("\n")
        literal = map(re.escape, old.replace("\r\n", "\n").split("\n"))
        pattern = re.compile("\r?\n".join(literal))
        new = new.replace("\r\n", "\n").replace("\n", "\r\n" if crlf else "\n")
    else:
        pattern = re.compile(re.escape(old))
    spans = [found.span() for found in pattern.finditer(text)]
    if not spans:
        raise ToolError(_not_found(text, old, path))
    if not everywhere:
        first = spans[0][0]
        again = pattern.search(text, first + (2 if text.startswith("\r\n", first) else 1))
        if again:  # it may overlap the first
            raise ToolError(_several(text, max(spans, [spans[0], again.span()], key=len), path))
    parts, at = [], 0
    for start, end in spans:
        parts += [text[at:start], new]
        at = end
    start = spans[0][0]
    return Replaced("".join([*parts, text[at:]]), len(spans), start, start + len(new))


def _several(text: str, spans: list[tuple[int, int]], path: str) -> str:
    lines, at, number = [], 0, 1
    for start, _ in spans[:_PLACES]:
        number += text.count("\n", at, start)
        at = start
        lines.append(f"{number:,}")
    more = f" and {len(spans) - _PLACES:,} more" if len(spans) > _PLACES else ""
    return (
        f"old_string stands {len(spans):,} times in {path} (lines {', '.join(lines)}{more}). "
        "Take in lines around the place that you mean, until it is the only one; or set "
        "replace_all to change them all."
    )


def _not_found(text: str, old: str, path: str) -> str:
    """Why a text may not be there, and what is most like it."""
    start = f"old_string does not stand in {path}."
    if _NUMBERED.match(old) and _NUMBERED.sub("", old) in text.replace("\r\n", "\n"):
        return f"{start} Leave out the line numbers that Read puts before each line."
    wanted = old.strip("\r\n").split("\n")
    lines = text.split("\n", _LINES)[:_LINES]
    plain = [" ".join(line.split()) for line in lines]
    goal = [" ".join(line.split()) for line in wanted]
    spaces = [
        at
        for at in range(len(lines) - len(goal) + 1)
        if plain[at] == goal[0] and plain[at : at + len(goal)] == goal
    ]
    if spaces and any(goal):
        return (
            f"{start} Only its white space differs from this:\n"
            f"{numbered(lines, spaces[0], len(goal))}"
        )
    near = _nearest(plain, goal)
    if near is None:
        return f"{start} Nothing in it is like that: read the file again, or look with Grep."
    shown = numbered(lines, max(near - 1, 0), min(len(goal), 8) + 2)
    return f"{start} The nearest lines are these:\n{shown}"


def _nearest(plain: list[str], goal: list[str]) -> int | None:
    """The line at which something most like the wanted lines begins."""
    key, skipped = next(((line[:_WIDE], at) for at, line in enumerate(goal) if line), ("", 0))
    words = set(_WORD.findall(key))
    shared = [(len(words.intersection(_WORD.findall(line[:_WIDE]))), line) for line in set(plain)]
    alike = [line[:_WIDE] for _, line in heapq.nlargest(_ALIKE, shared)]
    close = difflib.get_close_matches(key, alike, 1, 0.5)
    if not close:
        return None
    return next(at for at, line in enumerate(plain) if line[:_WIDE] == close[0]) - skipped


def numbered(lines: list[str], first: int, count: int) -> str:
    """Some lines as Read shows them."""
    first = max(first, 0)
    some = islice(enumerate(lines, 1), first, first + min(count, 20))
    return "\n".join(f"{number:>6}\t{_readable(line)}" for number, line in some)


def _readable(line: str) -> str:
    text = line.strip("\r\ufeff").encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return text if len(text) <= _WIDE else text[:_WIDE] + "[…]"
