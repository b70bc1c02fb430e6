"""A text file as it really is: its bytes, its text, and where a character of it stands."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from typing import Any, NamedTuple

__all__ = ["BOM", "Document", "Position", "Span"]

BOM = "\ufeff"
_LINE_BREAK = re.compile(r"\r\n?|\n")
_ASCII = bytes(range(128))
_INDEX_FROM = 64
"""Positions from which an index of the lines pays."""


class Span(NamedTuple):
    """A half-open range of a document's text, in code points."""

    start: int
    end: int


class Position(NamedTuple):
    """Where a character stands: line and column from 1, in code points."""

    line: int
    column: int


class Document:
    """One text file.

    Offsets and columns count code points of ``text``. A byte order mark stays in the text,
    so that writing the text back gives the same bytes.

    Attributes:
        name: path inside its skill folder, with forward slashes.
        data: the bytes as read.
        memo: what others have worked out about the text, so that it is done once.
    """

    def __init__(self, name: str, data: bytes) -> None:
        self.name = name
        self.data = data
        self.memo: dict[str, Any] = {}
        self._asked = 0

    @cached_property
    def text(self) -> str:
        """The bytes as UTF-8; what is not UTF-8 shows as U+FFFD."""
        return self._decoded[0]

    @property
    def bad_byte(self) -> int | None:
        """Offset of the first byte that is not UTF-8, or None."""
        return self._decoded[1]

    @cached_property
    def _decoded(self) -> tuple[str, int | None]:
        try:
            return self.data.decode("utf-8"), None
        except UnicodeDecodeError as error:
            return self.data.decode("utf-8", "replace"), error.start

    @cached_property
    def beyond_ascii(self) -> str:
        """The characters that are not ASCII, in order.

        Searching these few first is what makes looking for odd characters cheap.
        """
        if self.data.isascii():
            return ""
        return self.data.translate(None, _ASCII).decode("utf-8", "replace")

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(m.end() for m in _LINE_BREAK.finditer(self.text))]

    @cached_property
    def _has_returns(self) -> bool:
        return "\r" in self.text

    @cached_property
    def line_count(self) -> int:
        """Lines as an editor counts them: a final line break starts no new line."""
        if self._has_returns:
            starts = self._line_starts
            return len(starts) - (starts[-1] == len(self.text))
        return self.text.count("\n") + (not self.text.endswith("\n"))

    def position(self, offset: int) -> Position:
        """Line and column of the character at an offset."""
        self._asked += 1
        if self._has_returns or self._asked > _INDEX_FROM:
            line = bisect_right(self._line_starts, offset)
            start = self._line_starts[line - 1]
        else:  # counting is faster than an index, for the few positions that are asked for
            line = self.text.count("\n", 0, offset) + 1
            start = self.text.rfind("\n", 0, offset) + 1
        if line == 1 and offset > 0 and self.text.startswith(BOM):
            start = 1  # an editor does not count the mark as a column
        return Position(line, offset - start + 1)

    def line_at(self, offset: int) -> Span:
        """The span of the line that holds an offset, without its line break."""
        text = self.text
        if text.startswith("\r\n", offset - 1) and offset > 0:
            offset -= 1  # both belong to one line break
        start = text.rfind("\n", 0, offset) + 1
        end = text.find("\n", offset)
        end = len(text) if end < 0 else end
        if self._has_returns:
            start = max(start, text.rfind("\r", 0, offset) + 1)
            carriage = text.find("\r", start, end)
            end = carriage if carriage >= 0 else end
        return Span(start, max(start, end))

    def line_text(self, offset: int) -> str:
        """The text of the line that holds an offset, without its line break."""
        start, end = self.line_at(offset)
        return self.text[start:end]
