"""Comments that switch a rule off: ``skilleval: ignore RULE -- reason``.

In Markdown inside an HTML comment, in YAML and scripts behind ``#`` or ``//``. On a line of
its own it holds for the next line, behind something for its own line; ``ignore-file`` holds
for the whole file, and in SKILL.md also for what is said of files that hold no comments.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from skilleval.skill import Document, Span

__all__ = ["Suppression", "Suppressions", "read_suppressions"]

_MARK = b"skilleval:"
_NEAR = 200
"""Characters around a comment in which something else makes it one behind something."""
_COMMENT = re.compile(
    r"(?P<open><!--|\#|//|;)[ \t]*+skilleval:[ \t]*+(?P<kind>ignore-file|ignore)\b"
    r"(?P<rest>[^\r\n]*+)"
)
_REASON = re.compile(r"--|—")


class Suppression(NamedTuple):
    """One comment: which rules it switches off, where, and why."""

    span: Span
    rules: tuple[str, ...]
    line: int | None
    """The line that it holds for; None for the whole file."""
    reason: str


@dataclass
class Suppressions:
    """The comments of one file, and which of their rules were ever needed."""

    comments: list[Suppression] = field(default_factory=list)
    used: set[tuple[int, str]] = field(default_factory=set)
    places: dict[tuple[str, int | None], list[int]] = field(default_factory=dict)
    """Which comments hold for a rule on a line (None: in the whole file)."""

    def add(self, comment: Suppression) -> None:
        """Take in one comment."""
        for rule in comment.rules:
            self.places.setdefault((rule, comment.line), []).append(len(self.comments))
        self.comments.append(comment)

    def covers(self, rule: str, line: int | None) -> bool:
        """Whether a comment switches a rule off on a line (None: for the file as a whole)."""
        holding = [*self.places.get((rule, None), ()), *self.places.get((rule, line), ())]
        self.used.update((index, rule) for index in holding)
        return bool(holding)

    def unused(self) -> list[tuple[Suppression, str]]:
        """Rules that a comment switches off where they had nothing to say."""
        return [
            (comment, rule)
            for index, comment in enumerate(self.comments)
            for rule in comment.rules
            if (index, rule) not in self.used
        ]


def read_suppressions(document: Document) -> Suppressions:
    """The comments of a file (read once)."""
    found: Suppressions | None = document.memo.get("suppressions")
    if found is None:
        found = document.memo["suppressions"] = Suppressions()
        if _MARK in document.data:
            for match in _COMMENT.finditer(document.text):
                found.add(_suppression(document, match))
    return found


def _suppression(document: Document, match: re.Match[str]) -> Suppression:
    text = document.text
    rest, end = match["rest"], match.end()
    if match["open"] == "<!--" and "-->" in rest:
        rest = rest[: rest.index("-->")]
        end = match.start("rest") + len(rest) + len("-->")
    line = document.line_at(match.start())
    before = text[max(line.start, match.start() - _NEAR) : match.start()]
    behind = text[end : min(line.end, end + _NEAR)]
    alone = not before.strip() and not behind.strip()
    number = document.position(match.start()).line
    where = None if match["kind"] == "ignore-file" else number + 1 if alone else number
    named, *reason = _REASON.split(rest, maxsplit=1)
    rules = tuple(rule for rule in (part.strip() for part in named.split(",")) if rule)
    return Suppression(Span(match.start(), end), rules, where, "".join(reason).strip())
