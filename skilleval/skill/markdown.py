"""The structure of a Markdown body: links, code, headings and HTML, with their places.

The parser is pulldown-cmark (package ``pyromark``), so what counts as code or as a link is
what CommonMark says, not what a pattern guesses.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import pyromark

from skilleval.skill.document import Span

__all__ = ["CodeBlock", "CodeSpan", "Heading", "Link", "Markdown", "heading_anchor"]

_OPTIONS = (
    pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_FOOTNOTES
    | pyromark.Options.ENABLE_HEADING_ATTRIBUTES
)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_HTML_ID = re.compile(r"""<[a-zA-Z][^>]*\s(?:id|name)\s*=\s*["']?([^"'\s>]+)""")
_SLUG_DROPS = re.compile(r"[^a-z0-9_\- ]")
_SLUG_KEEPS = frozenset("Lu Ll Lt Lm Lo Mn Mc Me Nd Pc".split())


class Link(NamedTuple):
    """A link or an image; ``target`` as written, with Markdown escapes resolved."""

    span: Span
    target: str
    image: bool


class CodeBlock(NamedTuple):
    """A fenced or indented block; ``info`` is what follows the opening fence."""

    span: Span
    info: str


class CodeSpan(NamedTuple):
    """Code inside a line."""

    span: Span
    text: str


class Heading(NamedTuple):
    """A heading with its text, and the id that it sets itself with ``{#id}``."""

    span: Span
    level: int
    text: str
    anchor: str | None


class Markdown:
    """A parsed body. All spans count code points from the start of the whole file."""

    def __init__(self, text: str, start: int = 0) -> None:
        self.links: list[Link] = []
        self.blocks: list[CodeBlock] = []
        self.code_spans: list[CodeSpan] = []
        self.headings: list[Heading] = []
        self.html: list[Span] = []
        self._text = text
        self._start = start
        self._read(text[start:], start)

    def _read(self, body: str, shift: int) -> None:
        place = _places(body, shift)
        heading: list[str] | None = None
        event: Any  # a string, or a dictionary with one entry; the stubs spell out all of them
        for event, where in pyromark.events_with_range(body, options=_OPTIONS):
            if isinstance(event, str):
                continue
            ((kind, value),) = event.items()
            if kind == "Text":
                if heading is not None:
                    heading.append(value)
            elif kind == "Code":
                if heading is not None:
                    heading.append(value)
                self.code_spans.append(CodeSpan(place(where), value))
            elif kind == "Start":
                if isinstance(value, dict):
                    self._start_of(value, place, where)
                    if "Heading" in value:
                        heading = []
            elif kind == "End":
                if heading is not None and isinstance(value, dict) and "Heading" in value:
                    self.headings[-1] = self.headings[-1]._replace(text="".join(heading))
                    heading = None
            elif kind in ("Html", "InlineHtml"):
                self.html.append(place(where))

    def _start_of(self, tag: dict[str, Any], place: Callable[[Any], Span], where: Any) -> None:
        ((kind, value),) = tag.items()
        if kind == "Link" or kind == "Image":
            self.links.append(Link(place(where), value["dest_url"], kind == "Image"))
        elif kind == "CodeBlock":
            info = value.get("Fenced", "") if isinstance(value, dict) else ""
            self.blocks.append(CodeBlock(place(where), info))
        elif kind == "Heading":
            level = int(value["level"][1:])
            self.headings.append(Heading(place(where), level, "", value["id"]))

    @cached_property
    def _code(self) -> list[Span]:
        return sorted([b.span for b in self.blocks] + [c.span for c in self.code_spans])

    def in_code(self, offset: int) -> bool:
        """Whether a character stands in a code block or a code span."""
        index = bisect_right(self._code, offset, key=lambda span: span.start) - 1
        return index >= 0 and offset < self._code[index].end

    def in_block(self, offset: int) -> bool:
        """Whether a character stands in a code block."""
        index = bisect_right(self.blocks, offset, key=lambda block: block.span.start) - 1
        return index >= 0 and offset < self.blocks[index].span.end

    def headings_over(self, offset: int) -> list[str]:
        """The texts of the headings that a place stands under, the innermost last."""
        chain: list[Heading] = []
        for heading in self.headings:
            if heading.span.start > offset:
                break
            chain = [above for above in chain if above.level < heading.level]
            chain.append(heading)
        return [heading.text for heading in chain]

    @cached_property
    def anchors(self) -> frozenset[str]:
        """Every fragment that a link into this file may name, lower case.

        Headings as GitHub names them (lower case, spaces to hyphens, punctuation dropped,
        ``-1`` behind a repeated one), ids set by hand, and HTML ids.
        """
        found: set[str] = set()
        repeats: dict[str, int] = {}
        for heading in self.headings:
            if heading.anchor:
                found.add(heading.anchor.lower())
            base = heading_anchor(heading.text)
            slug, count = base, repeats.get(base, 0)
            while slug in found:
                count += 1
                slug = f"{base}-{count}"
            repeats[base] = count
            found.add(slug)
        for span in self.html:
            html = self._text[span.start : span.end]
            found.update(m[1].lower() for m in _HTML_ID.finditer(html))
        return frozenset(found)


def heading_anchor(text: str) -> str:
    """A heading's anchor as GitHub makes it, before repeated ones are numbered.

    Letters, marks, decimal digits, connectors, hyphens and spaces stay; nothing else does.
    The variation selector behind an emoji is left out, since some keep it and some do not.
    """
    text = text.strip().lower().replace("\ufe0f", "")
    if text.isascii():
        return _SLUG_DROPS.sub("", text).replace(" ", "-")
    kept = (c for c in text if c in "- " or unicodedata.category(c) in _SLUG_KEEPS)
    return "".join(kept).replace(" ", "-")


def _places(body: str, shift: int) -> Callable[[Any], Span]:
    """How to turn the parser's byte ranges into code points of the file."""
    if body.isascii():
        return lambda where: Span(where["start"] + shift, where["end"] + shift)
    ends: list[int] = []  # byte offset just behind each character that is more than one byte
    extra: list[int] = [0]  # bytes minus characters so far
    for match in _NOT_ASCII.finditer(body):
        width = len(match[0].encode("utf-8", "surrogatepass"))
        ends.append(match.start() + extra[-1] + width)
        extra.append(extra[-1] + width - 1)

    def convert(where: Any) -> Span:
        start, end = where["start"], where["end"]
        return Span(
            start - extra[bisect_right(ends, start)] + shift,
            end - extra[bisect_right(ends, end)] + shift,
        )

    return convert
