"""Places where bash reads text once more, or reads it otherwise than the parser does.

All of these raise ``Unclear`` where a command could be hidden.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from skilleval.harness.permissions.nodes import EXPANSIONS, HIDDEN, OPERATORS, QUOTES, STRINGS
from skilleval.harness.permissions.quotes import Unclear

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["check_brackets", "check_evaluated", "check_expansion", "check_opening"]


def check_brackets(source: bytes, node: Node, posix: bool) -> None:
    """``[`` is a command like others, and to some shells ``[[`` and ``((`` are as well."""
    opened = node.children[0].type if node.children else ""
    if posix and opened in ("[[", "(("):
        raise Unclear("to other shells than bash it means something else")
    if node.type != "test_command":
        return
    inner = source[node.start_byte + len(opened) : node.end_byte - len(opened)]
    if not (inner[:1].isspace() and inner[-1:].isspace()):
        raise Unclear("a test has no blanks around it")
    if opened == "[":
        plain = re.sub(rb"\\.", b"", _outside(source, node, EXPANSIONS | STRINGS), flags=re.DOTALL)
        if OPERATORS.search(plain):
            raise Unclear("a test ends before its bracket")


def check_evaluated(source: bytes, node: Node) -> None:
    """In tests and arithmetic the index of an array is run, even out of quotes."""
    for each in _below(node):
        text = each.type in ("raw_string", "word", "string_content")
        hidden = text and HIDDEN.search(source, each.start_byte, each.end_byte)
        if hidden or each.type == "ansi_c_string":
            raise Unclear("text in a test or in arithmetic may be run")


def check_expansion(source: bytes, node: Node) -> None:
    """``${…}``: quotes within it do not mean the same everywhere."""
    if re.search(rb"@[A-Za-z]\}$", source[node.start_byte : node.end_byte]):
        raise Unclear("a variable's text is expanded once more")
    if QUOTES.search(_outside(source, node, EXPANSIONS)):
        raise Unclear("there are quotes in the expansion of a variable")


def check_opening(source: bytes, node: Node) -> None:
    """How a substitution or a subshell begins.

    Between back quotes a back slash is taken away before the rest is read, and the next back
    quote ends it, whatever it stands in. ``((`` is read as arithmetic first.
    """
    text = source[node.start_byte : node.end_byte].lstrip()
    if text.startswith(b"`") and (b"\\" in text or text.count(b"`") != 2):
        raise Unclear("there are quotes or back slashes between back quotes")
    if text.startswith((b"((", b"$((")) and node.type != "arithmetic_expansion":
        raise Unclear("it may be arithmetic or not")


def _below(node: Node) -> Iterator[Node]:
    """All nodes in a node but those of commands."""
    queue = [node]
    while queue:
        each = queue.pop()
        if each.type not in ("command_substitution", "process_substitution"):
            yield each
            queue += each.children


def _outside(source: bytes, node: Node, kinds: frozenset[str]) -> bytes:
    """The text of a node without the parts of some kinds."""
    at = node.start_byte
    found: list[bytes] = []
    queue = node.children[::-1]
    while queue:
        each = queue.pop()
        if each.type in kinds:
            found.append(source[at : each.start_byte])
            at = each.end_byte
        else:
            queue += reversed(each.children)
    return b" ".join([*found, source[at : node.end_byte]])
