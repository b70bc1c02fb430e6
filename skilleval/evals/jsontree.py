"""JSON as a tree of nodes that know where they stand.

The nodes are those of `skilleval.skill.yamltree`, so that all that reads evaluation files
works on either. The grammar is that of RFC 8259: no comments, no NaN, no trailing commas.
Depth and size are bounded, and nothing here recurses.
"""

from __future__ import annotations

import re
from json import JSONDecodeError
from json import decoder as _decoder
from typing import Any

from skilleval.skill.yamltree import Mapping, Node, Scalar, Sequence, YamlProblem

__all__ = ["MAX_DEPTH", "MAX_NODES", "parse_json"]

MAX_DEPTH = 24
MAX_NODES = 200_000
_MAX_DIGITS = 400
_scan: Any = _decoder.scanstring  # type: ignore[attr-defined]  # as json.loads does
_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORDS = {"true": "boolean", "false": "boolean", "null": "null"}
_HALF = re.compile("[\ud800-\udfff]")


def parse_json(text: str, max_nodes: int = MAX_NODES) -> Node | None:
    """Read a text as one JSON value; None when it is blank.

    Raises:
        YamlProblem: it is no JSON, too deep or too large; ``offset`` says where.
    """
    return _Parser(text, max_nodes).run()


class _Parser:
    def __init__(self, text: str, max_nodes: int) -> None:
        self.text = text
        self.at = 1 if text.startswith("\ufeff") else 0
        self.max_nodes = max_nodes
        self.count = 0
        self.stack: list[Sequence | Mapping] = []
        self.keys: list[Scalar | None] = []
        self.root: Node | None = None

    def run(self) -> Node | None:
        """The root of the tree."""
        self._space()
        if self.at == len(self.text):
            return None
        self._value()
        while self.stack:
            self._step()
        self._space()
        if self.at < len(self.text):
            raise self._problem("there is something after the end of the value")
        return self.root

    def _step(self) -> None:
        """Go on with the innermost collection: its next value, or its end."""
        node = self.stack[-1]
        entries: int = len(node.items) if isinstance(node, Sequence) else len(node.pairs)
        close = "]" if isinstance(node, Sequence) else "}"
        self._space()
        if self._peek() == close:
            self.at += 1
            self._close()
            return
        if entries:
            if self._peek() != ",":
                raise self._problem(f"expected a comma or {close}")
            comma = self.at
            self.at += 1
            self._space()
            if self._peek() == close:
                raise self._problem(f"a comma before {close}", comma)
        if isinstance(node, Mapping):
            self._key()
        self._value()

    def _key(self) -> None:
        if self._peek() != '"':
            raise self._problem("expected a field name in double quotes")
        start = self.at
        name = self._string()
        self.keys[-1] = Scalar(start, self.at, name, "string", "json")
        self._space()
        if self._peek() != ":":
            raise self._problem("expected a colon after the field name")
        self.at += 1
        self._space()

    def _value(self) -> None:
        start, first = self.at, self._peek()
        self.count += 1
        if self.count > self.max_nodes:
            raise YamlProblem("size", f"more than {self.max_nodes:,} values", start)
        if first in ("{", "["):
            if len(self.stack) >= MAX_DEPTH:
                raise YamlProblem("depth", f"nesting deeper than {MAX_DEPTH} levels", start)
            kind = Mapping if first == "{" else Sequence
            self.at += 1
            self.stack.append(kind(start, start, [], True))
            self.keys.append(None)
        elif first == '"':
            text = self._string()
            self._add(Scalar(start, self.at, text, "string", "json"))
        else:
            self._add(self._bare(start))

    def _bare(self, start: int) -> Scalar:
        for word, kind in _WORDS.items():
            if self.text.startswith(word, start):
                self.at += len(word)
                return Scalar(start, self.at, word, kind, "json")
        number = _NUMBER.match(self.text, start)
        if not number:
            raise self._problem("expected a value")
        if len(number[0]) > _MAX_DIGITS:
            raise self._problem(f"a number of more than {_MAX_DIGITS} digits")
        self.at = number.end()
        kind = "number" if number[1] or number[2] else "integer"
        return Scalar(start, self.at, number[0], kind, "json")

    def _string(self) -> str:
        start = self.at
        value: str
        try:
            value, self.at = _scan(self.text, start + 1, True)
        except JSONDecodeError as error:
            raise self._problem(_worded(error.msg), error.pos) from None
        if _HALF.search(value):
            raise self._problem("half of a surrogate pair, which is no character", start)
        return value

    def _close(self) -> None:
        self.keys.pop()
        self._add(self.stack.pop()._replace(end=self.at))

    def _add(self, node: Node) -> None:
        if not self.stack:
            self.root = node
            return
        parent = self.stack[-1]
        if isinstance(parent, Sequence):
            parent.items.append(node)
        else:
            key = self.keys[-1]
            assert key is not None  # noqa: S101 - _key has just set it
            parent.pairs.append((key, node))

    def _space(self) -> None:
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _problem(self, message: str, offset: int | None = None) -> YamlProblem:
        at = self.at if offset is None else offset
        if at >= len(self.text):
            message = f"{message}, but the file ends here"
        return YamlProblem("syntax", message, min(at, len(self.text)))


def _worded(message: str) -> str:
    """What the standard library says of a string, as part of a sentence."""
    message = message[:1].lower() + message[1:]
    return message.removesuffix(" at").removesuffix(" starting")
