"""How messages show what stands in a file, and how fixes write YAML."""

from __future__ import annotations

import unicodedata

__all__ = ["code_point", "listing", "plural", "quoted", "shorten"]


def plural(count: int, noun: str, many: str | None = None) -> str:
    """``1 skill``, ``2,000 skills``."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def shorten(text: str, limit: int = 60) -> str:
    """A text in one line, cut where it is long, so that a message stays a sentence."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def listing(names: list[str], limit: int = 5) -> str:
    """``a, b, c and 4 more``."""
    if len(names) <= limit:
        return ", ".join(names)
    return f"{', '.join(names[:limit])} and {len(names) - limit:,} more"


def code_point(character: str) -> str:
    """``U+200B ZERO WIDTH SPACE``."""
    name = unicodedata.name(character, "")
    return f"U+{ord(character):04X} {name}".rstrip()


def quoted(text: str) -> str:
    """A text as a double-quoted YAML scalar on one line."""
    body = text.replace("\\", "\\\\").replace('"', '\\"')
    escapes = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return '"' + "".join(escapes.get(c, c) for c in body) + '"'
