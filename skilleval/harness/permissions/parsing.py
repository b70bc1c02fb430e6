"""The tree of a shell command, or the reason why there is none that can be relied on.

Whoever looks at a command must see what bash will see. So besides the errors of the parser all
differences that are known to matter are looked for here: characters that only one of the two
takes for a blank, lines that are joined within a word, here-documents that end elsewhere,
comments that hide a back quote.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from skilleval.harness.permissions.nodes import REDIRECTS
from skilleval.harness.permissions.quotes import Unclear

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

__all__ = ["LONGEST", "Budget", "check_gaps", "here_document", "parse"]

LONGEST = 128 * 1024
"""Bytes; the operating system takes no more in one argument."""
_SECONDS = 1.0
_MOST_ERRORS = 64
_STRANGE = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")
_SPLIT = re.compile(rb"[$<>]\\\n")
_BLANK = re.compile(rb"[ \t\n]*(?:\\\n[ \t\n]*)*")


class Budget:
    """How long the parser may take for one call, with all that lies within its quotes."""

    def __init__(self, seconds: float = _SECONDS) -> None:
        self._end = time.monotonic() + seconds
        self._errors = 0

    def spent(self, offset: int, has_error: bool) -> bool:
        """Whether to give up: the parser takes very long only over what is broken anyway."""
        self._errors += has_error
        return self._errors > _MOST_ERRORS or time.monotonic() > self._end


@cache
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def parse(source: bytes, budget: Budget) -> Node:
    """The root of the tree.

    Raises:
        Unclear: it can't be parsed.
    """
    if len(source) > LONGEST:
        raise Unclear(f"it is longer than {LONGEST >> 10} KiB")
    if _STRANGE.search(source):
        raise Unclear("there are control characters in it")
    if _SPLIT.search(source):
        raise Unclear("a line ends within an operator")
    parser = _parser()
    try:
        tree = parser.parse(
            lambda offset, _: source[offset : offset + 4096], progress_callback=budget.spent
        )
    except ValueError:
        parser.reset()
        raise Unclear("the parser does not get through it") from None
    root = tree.root_node
    if root.has_error:
        raise Unclear("it is not proper shell, or of a kind that the parser does not know")
    if not (_blank(source[: root.start_byte]) and _blank(source[root.end_byte :])):
        raise Unclear("the parser has passed over a part of it")
    return root


def check_gaps(
    source: bytes, start: int, end: int, children: Sequence[Node], *, line: bool = False
) -> set[int]:
    """See to it that nothing but blanks was passed over between the parts of a node.

    With ``line`` no line may end between them.

    The parser does pass over a lone ``-`` before a redirection; given back is before which
    children one stands.

    Raises:
        Unclear: something was, or two words are one.
    """
    at = start
    last = ""
    dashes: set[int] = set()
    for place, child in enumerate(children):
        gap = source[at : child.start_byte]
        if last and child.type in REDIRECTS and re.fullmatch(rb"[ \t]+-[ \t]+", gap):
            dashes.add(place)
        elif not _blank(gap):
            raise Unclear("the parser has passed over a part of it")
        if line and b"\n" in gap.replace(b"\\\n", b""):
            raise Unclear("a line ends within a command")
        joined = last and child.is_named and not gap.replace(b"\\\n", b"")
        if joined and not {last, child.type} & REDIRECTS:
            raise Unclear("a word goes on where the parser sees the next one")
        last = child.type if child.is_named or child.type == "$" else ""
        at = child.end_byte
    if not _blank(source[at:end]):
        raise Unclear("the parser has passed over a part of it")
    return dashes


def _blank(gap: bytes) -> bool:
    return _BLANK.fullmatch(gap) is not None


def here_document(source: bytes, node: Node) -> tuple[int, int, bool]:
    """Where the text of a here-document begins and ends, and whether it is taken as it is.

    Raises:
        Unclear: bash ends it elsewhere, or may do so.
    """
    parts = {child.type: child for child in node.children}
    start, end = parts.get("heredoc_start"), parts.get("heredoc_end")
    if start is None or end is None:
        raise Unclear("a here-document has no end")
    written = source[start.start_byte : start.end_byte]
    word = re.sub(rb"['\"\\]", b"", written)
    line = source.find(b"\n", start.end_byte)
    body = source[line + 1 : end.start_byte]
    rest = source[end.end_byte : end.end_byte + 1]
    tabs = b"\t" if "<<-" in parts else b""
    lines = [each.lstrip(tabs) if tabs else each for each in body.split(b"\n")]
    on_line = [c for c in node.children if c.type not in ("heredoc_body", "heredoc_end")]
    sound = (
        re.fullmatch(rb"[\w.-]+", word)
        and re.match(rb"[ \t\n;|&<>]", source[start.end_byte : start.end_byte + 1])
        and source[end.start_byte : end.end_byte] == word
        and lines[-1] == b""
        and word not in lines
        and rest in (b"", b"\n")
        and all(child.end_byte <= line for child in on_line)
    )
    if not sound:
        raise Unclear("a here-document does not end where it can be seen")
    return line + 1, line + 1 + len(body), word != written
