"""Paths with ``*``, ``?`` and ``**``, matched in linear time."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["matches", "text_matches"]


def text_matches(pattern: str, text: str) -> bool:
    """Whether a text matches a pattern in which ``*`` stands for any text and ``?`` for one."""
    return _match(pattern, text, "*", "?")


def matches(pattern: str, path: str) -> bool:
    """Whether a path matches: ``*`` stays in its folder, ``**`` is any folders or none."""
    wanted = pattern.replace("\\", "/").removeprefix("./").split("/")
    return _match(wanted, path.split("/"), "**", None)


def _match(pattern: Sequence[str], parts: Sequence[str], many: str, one: str | None) -> bool:
    """The usual match with one point to go back to, which keeps it cheap."""
    at = place = 0
    star, mark = -1, 0
    while place < len(parts):
        if at < len(pattern) and pattern[at] == many:
            star, mark = at, place
            at += 1
        elif at < len(pattern) and _fits(pattern[at], parts[place], one):
            at += 1
            place += 1
        elif star >= 0:
            mark += 1
            at, place = star + 1, mark
        else:
            return False
    return all(part == many for part in pattern[at:])


def _fits(wanted: str, part: str, one: str | None) -> bool:
    if one is None:  # a folder or file name
        return wanted == part or text_matches(wanted, part)
    return wanted in (part, one)
