"""Finding and reading the block of metadata at the top of a SKILL.md."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from skilleval.skill.document import BOM, Span
from skilleval.skill.yamltree import Alias, Mapping, Node, Scalar, YamlProblem, parse

__all__ = ["MAX_FRONTMATTER", "Field", "Frontmatter", "State", "read_frontmatter"]

MAX_FRONTMATTER = 256 * 1024
"""Characters of frontmatter that are read; a longer block is a problem of its own."""

_OPEN = re.compile(r"\ufeff?---[ \t]*(\r\n?|\n)")
_CLOSE = re.compile(r"(?:(?<=\n)|(?<=\r))---[ \t]*(?=[\r\n]|\Z)")
_LATE = re.compile(r"(?:\r\n?|\n)(---[ \t]*(?:\r\n?|\n))(?=[\w\"'-]+[ \t]*:)")
_FENCED = re.compile(r"\ufeff?\s*(?:```|~~~)[ \t]*\w*[ \t]*(?:\r\n?|\n)(?:---|name[ \t]*:|desc)")
_LATE_WITHIN = 2_000


class State(StrEnum):
    """How the frontmatter of a file was found."""

    OK = "ok"
    MISSING = "missing"
    UNCLOSED = "unclosed"
    LATE = "late"
    FENCED = "fenced"


class Field(NamedTuple):
    """A top-level key with its value; the last one where a key stands twice."""

    key: Scalar
    value: Node

    @property
    def span(self) -> Span:
        """Where the value stands; the key where the value is empty."""
        start, end = self.value.start, self.value.end
        return Span(start, end) if end > start else Span(self.key.start, self.key.end)

    @property
    def text(self) -> str | None:
        """The value where it is a single one (aliases followed), None for lists and maps."""
        value = self.resolved
        return value.value if isinstance(value, Scalar) else None

    @property
    def resolved(self) -> Node:
        """The value, or what its alias stands for."""
        return self.value.target if isinstance(self.value, Alias) else self.value

    @property
    def kind(self) -> str:
        """string, integer, number, boolean, null, date, list or map."""
        value = self.resolved
        if isinstance(value, Scalar):
            return value.kind
        return "map" if isinstance(value, Mapping) else "list"


@dataclass
class Frontmatter:
    """The metadata block of a document.

    Attributes:
        state: how it was found.
        block: the YAML between the delimiters; empty where there is none.
        body: offset where the instructions begin.
        root: the YAML, or None where it is empty or broken.
        problem: why the YAML could not be read.
        fields: top-level keys that are text, by name.
        duplicates: the later occurrences of a key that stands more than once.
    """

    state: State
    block: Span
    body: int
    root: Node | None = None
    problem: YamlProblem | None = None
    fields: dict[str, Field] = field(default_factory=dict)
    duplicates: list[Scalar] = field(default_factory=list)

    @property
    def readable(self) -> bool:
        """Whether keys could be read at all."""
        return self.state in (State.OK, State.LATE) and self.problem is None

    def string(self, key: str) -> str | None:
        """A field's text where it is a YAML string, else None."""
        entry = self.fields.get(key)
        return entry.text if entry and entry.kind == "string" else None


def read_frontmatter(text: str) -> Frontmatter:
    """Find the frontmatter of a SKILL.md's text and read it; never raises."""
    front = _locate(text)
    if front.state not in (State.OK, State.LATE):
        return front
    block = text[front.block.start : front.block.end]
    if len(block) > MAX_FRONTMATTER:
        front.problem = YamlProblem(
            "size",
            f"frontmatter of {len(block):,} characters, over {MAX_FRONTMATTER:,}",
            front.block.start,
        )
        return front
    try:
        front.root = parse(block, front.block.start)
    except YamlProblem as problem:
        front.problem = problem
        return front
    if isinstance(front.root, Mapping):
        for key, value in front.root.pairs:
            if isinstance(key, Scalar):
                if key.value in front.fields:
                    front.duplicates.append(key)
                front.fields[key.value] = Field(key, value)
    return front


def _locate(text: str) -> Frontmatter:
    opening = _OPEN.match(text)
    if opening:
        start = opening.end()
        closing = _CLOSE.search(text, start)
        if not closing:
            return Frontmatter(State.UNCLOSED, Span(start, start), len(text))
        return Frontmatter(State.OK, Span(start, closing.start()), _next_line(text, closing.end()))
    body = 1 if text.startswith(BOM) else 0
    if _FENCED.match(text):
        return Frontmatter(State.FENCED, Span(body, body), body)
    late = _LATE.search(text, 0, _LATE_WITHIN)
    if late:
        closing = _CLOSE.search(text, late.end())
        if closing:
            block = Span(late.end(), closing.start())
            return Frontmatter(State.LATE, block, _next_line(text, closing.end()))
    return Frontmatter(State.MISSING, Span(body, body), body)


def _next_line(text: str, offset: int) -> int:
    """The offset behind the line break that stands at an offset."""
    if text.startswith("\r\n", offset):
        return offset + 2
    return min(offset + 1, len(text))
