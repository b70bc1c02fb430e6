"""Read: a file's lines with their numbers, or an image or PDF as it is."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from skilleval.harness.tools.base import Block, FileTool, ToolContext, ToolError, ToolResult
from skilleval.harness.tools.budgets import BYTES_PER_TOKEN, Budgets
from skilleval.harness.tools.explain import path_error
from skilleval.harness.tools.files import known_of, open_file
from skilleval.harness.tools.ledger import Known
from skilleval.harness.tools.pictures import image_size, media_type
from skilleval.harness.tools.registry import tool

__all__ = ["Read"]

_PIECE = 65_536
_HEAD = 8_192


@tool
class Read(FileTool):
    """Shows a file."""

    name = "Read"
    reads_only = True
    definition: Block = {  # noqa: RUF012 - never changed
        "name": "Read",
        "description": "Read a file: text with numbered lines, an image, or a PDF.\n"
        "A long file comes in parts; read on with offset.",
        "input_schema": {
            "type": "object",
            "properties": {
                "file_path": {"type": "string", "description": "its path"},
                "offset": {
                    "type": "integer",
                    "minimum": 0,
                    "description": "the first line to read, from 1",
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "how many lines to read",
                },
            },
            "required": ["file_path"],
            "additionalProperties": False,
            "examples": [{"file_path": "src/main.py"}],
        },
    }

    def work(self, input: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Read a file."""
        path = input["file_path"]
        try:
            with open_file(context.tree, context.path(path)) as (spot, file):
                head = file.read(_HEAD)
                if kind := media_type(head):
                    return _whole(path, spot.inside, kind, head, file, context)
                if b"\0" in head:
                    raise ToolError(f"{path} {_binary(head)}")
                file.seek(0)
                return _text(input, spot.inside, file, context)
        except OSError as error:
            raise path_error(error, path, context) from None


def _binary(head: bytes) -> str:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "is UTF-16. Turn it into UTF-8 first: Bash with iconv."
    return "is a binary file. Look into it with Bash: file, strings or xxd."


def _whole(
    path: str, inside: str, kind: str, head: bytes, file: BinaryIO, context: ToolContext
) -> ToolResult:
    """An image or a PDF as a content block."""
    status, budgets = os.fstat(file.fileno()), context.budgets
    pdf = kind == "application/pdf"
    limit = budgets.pdf_bytes if pdf else budgets.image_bytes
    advice = "Take pages out of it or turn it into text" if pdf else "Make it smaller"
    if status.st_size > limit:
        raise ToolError(
            f"{path} is {status.st_size:,} bytes; Read takes {limit:,} of "
            f"{'a PDF' if pdf else 'an image'} at most. {advice} with Bash, then read that."
        )
    data = head + file.read(limit - len(head) + 1)
    if not pdf:
        _check_image(path, data, budgets)
    context.files.note(inside, known_of(data, status.st_mtime_ns))
    source = {"type": "base64", "media_type": kind, "data": base64.b64encode(data).decode("ascii")}
    block = {"type": "document" if pdf else "image", "source": source}
    return ToolResult([block], facts={"read": [inside], "bytes": len(data), "media_type": kind})


def _check_image(path: str, data: bytes, budgets: Budgets) -> None:
    """Keep from the conversation what would make every request after it fail."""
    size = image_size(data)
    if size is None:
        raise ToolError(f"{path} starts like an image but is broken.")
    if max(size) > budgets.image_pixels:
        raise ToolError(
            f"{path} is {size[0]:,} by {size[1]:,} pixels; {budgets.image_pixels:,} a side at "
            "most. Make it smaller with Bash, then read that."
        )


@dataclass
class _Window:
    """The lines that are shown, and what was learned of the file on the way."""

    lines: list[str] = field(default_factory=list)
    size: int = 0
    breaks: int = 0
    unfinished: bool = False
    """The last line has no line break."""
    full: bool = False
    """More would have been too many tokens."""
    cut: int = 0
    """Lines of which only the start is shown."""
    digest: str = ""

    @property
    def total(self) -> int:
        """Lines of the file."""
        return self.breaks + self.unfinished


def _text(
    input: Mapping[str, Any], inside: str, file: BinaryIO, context: ToolContext
) -> ToolResult:
    path, budgets = input["file_path"], context.budgets
    status = os.fstat(file.fileno())
    if status.st_size > budgets.read_bytes:
        raise ToolError(
            f"{path} is {status.st_size:,} bytes; Read goes through {budgets.read_bytes:,} at "
            "most. Find the place with Grep, or take a part with Bash: sed -n '1,100p'."
        )
    first = max(input.get("offset") or 1, 1)
    limit = input.get("limit") or budgets.read_lines
    window = _scan(file, first, limit, budgets)
    if window.total and first > window.total:
        raise ToolError(
            f"offset={first} is behind the end: {path} has {window.total:,} "
            f"line{'s' * (window.total != 1)}."
        )
    last = first + len(window.lines) - 1
    whole = first == 1 and last >= window.total and not window.cut
    known = Known(window.digest, status.st_mtime_ns, window.size, whole, False)
    context.files.note(inside, known)
    facts = {"read": [inside], "bytes": window.size}
    facts |= {"shown": len(window.lines), "total": window.total}
    text = "\n".join([*window.lines, *_notices(window, first, last, input, budgets)])
    return ToolResult(text or "(The file is empty.)", facts=facts)


def _scan(file: BinaryIO, first: int, limit: int, budgets: Budgets) -> _Window:
    """Go through a file once, whatever its size, and keep the lines that are wanted."""
    window, digest = _Window(), hashlib.sha256()
    room, kept = budgets.read_tokens * BYTES_PER_TOKEN, bytearray()
    length, wide = 0, budgets.line_characters * 4 + 2  # no character is longer
    while len(window.lines) < limit and not window.full:
        piece = file.readline(_PIECE)
        digest.update(piece)
        window.size += len(piece)
        length += len(piece)
        kept += piece[: max(wide - len(kept), 0)]
        if piece and not piece.endswith(b"\n"):
            continue
        if not piece and not length:
            break
        number = window.breaks + 1
        if number >= first:
            line, cut = _line(number, bytes(kept), length, budgets)
            room -= len(line.encode("utf-8")) + 1
            if room < 0 and window.lines:
                window.full = True
            else:
                window.lines.append(line)
                window.cut += cut
        window.breaks += bool(piece)
        window.unfinished = not piece
        length = 0
        kept.clear()
        if not piece:
            break
    end = b"\n"
    while piece := file.read(_PIECE * 16):
        digest.update(piece)
        window.size += len(piece)
        window.breaks += piece.count(b"\n")
        end = piece[-1:]
    window.unfinished = window.unfinished or end != b"\n"
    window.digest = digest.hexdigest()
    return window


def _line(number: int, kept: bytes, length: int, budgets: Budgets) -> tuple[str, bool]:
    """A line as it is shown, and whether that is only its start."""
    text = kept.decode("utf-8-sig" if number == 1 else "utf-8", "replace")
    text = text.removesuffix("\n").removesuffix("\r")
    cut = len(text) > budgets.line_characters or length > len(kept)
    if cut:
        text = f"{text[: budgets.line_characters]}[… cut; the line is {length:,} bytes]"
    return f"{number:>6}\t{text}", cut


def _notices(
    window: _Window, first: int, last: int, input: Mapping[str, Any], budgets: Budgets
) -> list[str]:
    """What was not shown, and how to see it."""
    notices = []
    if last < window.total:
        if window.full:
            why = f": more would be over {budgets.read_tokens:,} tokens"
        elif "limit" in input:
            why = ""
        else:
            why = f": Read shows {budgets.read_lines:,} unless limit says otherwise"
        notices.append(
            f"(Lines {first:,} to {last:,} of {window.total:,}{why}. "
            f"Read on with offset={last + 1}.)"
        )
    if window.cut:
        lines = f"{window.cut} line{'s are' if window.cut != 1 else ' is'}"
        notices.append(
            f"({lines} cut at {budgets.line_characters:,} characters. The rest: "
            f"Bash with sed -n and cut -c {budgets.line_characters + 1}-.)"
        )
    return ["", *notices] if notices else []
