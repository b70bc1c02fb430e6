"""YAML as a tree of nodes that know where they stand, built from hostile input within bounds.

libyaml's events become nodes directly: nothing is constructed from a tag, an alias stays an
alias, and depth and size are bounded, so that neither a bomb nor a tower of brackets costs
more than its own length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import yaml
from yaml import SafeLoader

try:
    from yaml import CSafeLoader as _Loader
except ImportError:  # PyYAML built without libyaml: slower, the same events
    from yaml import SafeLoader as _Loader  # type: ignore[assignment]

__all__ = [
    "MAX_DEPTH",
    "MAX_NODES",
    "Alias",
    "Mapping",
    "Node",
    "Scalar",
    "Sequence",
    "YamlProblem",
    "parse",
    "walk",
]

MAX_DEPTH = 24
MAX_NODES = 5_000

_CONTROL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff\ufffe\uffff]"
)
_KINDS = {
    "tag:yaml.org,2002:bool": "boolean",
    "tag:yaml.org,2002:int": "integer",
    "tag:yaml.org,2002:float": "number",
    "tag:yaml.org,2002:null": "null",
    "tag:yaml.org,2002:timestamp": "date",
    "tag:yaml.org,2002:str": "string",
}


class YamlProblem(Exception):
    """Why a text is no usable YAML.

    Attributes:
        kind: ``syntax``, ``depth``, ``size`` or ``control`` (a character YAML forbids).
        offset: where, in code points.
    """

    def __init__(self, kind: str, message: str, offset: int) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.offset = offset


class Scalar(NamedTuple):
    """A single value.

    ``kind`` is what a YAML 1.1 reader makes of it: string, integer, number, boolean, null or
    date. ``style`` is ``plain``, ``'``, ``"``, ``|`` or ``>``; ``tag`` only an explicit one.
    """

    start: int
    end: int
    value: str
    kind: str
    style: str
    tag: str | None = None
    anchor: str | None = None


class Sequence(NamedTuple):
    """A list; ``flow`` when written in brackets."""

    start: int
    end: int
    items: list[Node]
    flow: bool
    tag: str | None = None
    anchor: str | None = None


class Mapping(NamedTuple):
    """Keys and values in the order of the file, duplicates included."""

    start: int
    end: int
    pairs: list[tuple[Node, Node]]
    flow: bool
    tag: str | None = None
    anchor: str | None = None


class Alias(NamedTuple):
    """A reference to an anchor, and what it stands for."""

    start: int
    end: int
    name: str
    target: Node


Node: TypeAlias = Scalar | Sequence | Mapping | Alias


def parse(text: str, shift: int = 0, max_nodes: int = MAX_NODES) -> Node | None:
    """Read a text as one YAML document; None when it is empty.

    Args:
        text: the YAML.
        shift: added to every offset, for a text that is part of a larger one.
        max_nodes: how many values it may hold.

    Raises:
        YamlProblem: when it is not YAML, too deep, too large, or holds control characters.
    """
    if text.startswith("\ufeff"):  # allowed at the very start only
        text, shift = text[1:], shift + 1
    control = _CONTROL.search(text)
    if control:
        code = f"U+{ord(control[0]):04X}"
        raise YamlProblem("control", f"control character {code}", shift + control.start())
    builder = _Builder(shift, max_nodes)
    try:
        for event in yaml.parse(text, Loader=_Loader):
            builder.take(event)
    except yaml.YAMLError as error:
        raise _problem(error, text, shift) from None
    except RecursionError:
        raise YamlProblem("depth", "nesting too deep to read", shift) from None
    return builder.root


def _problem(error: yaml.YAMLError, text: str, shift: int) -> YamlProblem:
    mark = getattr(error, "problem_mark", None)
    offset = shift + min(mark.index, len(text)) if mark else shift
    message = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error)
    if "nesting" in message:
        return YamlProblem("depth", f"nesting deeper than {MAX_DEPTH} levels", offset)
    return YamlProblem("syntax", " ".join(message.split()), offset)


class _Builder:
    """Turns events into nodes with a stack of its own, never by recursion."""

    def __init__(self, shift: int, max_nodes: int) -> None:
        self.shift = shift
        self.max_nodes = max_nodes
        self.root: Node | None = None
        self.stack: list[Sequence | Mapping] = []
        self.keys: list[Node | None] = []  # the key that waits for its value, one per level
        self.anchors: dict[str, Node] = {}
        self.count = 0
        self.documents = 0

    def take(self, event: Any) -> None:
        """Add one event."""
        name = type(event).__name__
        start = self.shift + event.start_mark.index
        end = self.shift + event.end_mark.index
        if name == "ScalarEvent":
            self._add(_scalar(event, start, end))
        elif name in ("MappingStartEvent", "SequenceStartEvent"):
            if len(self.stack) >= MAX_DEPTH:
                raise YamlProblem("depth", f"nesting deeper than {MAX_DEPTH} levels", start)
            kind = Mapping if name == "MappingStartEvent" else Sequence
            node = kind(start, end, [], bool(event.flow_style), event.tag, event.anchor)
            self._add(node)
            self.stack.append(node)
            self.keys.append(None)
        elif name in ("MappingEndEvent", "SequenceEndEvent"):
            self._close(end)
        elif name == "AliasEvent":
            if event.anchor not in self.anchors:
                raise YamlProblem("syntax", f"the alias *{event.anchor} stands for nothing", start)
            self._add(Alias(start, end, event.anchor, self.anchors[event.anchor]))
        elif name == "DocumentStartEvent":
            self.documents += 1
            if self.documents > 1:
                raise YamlProblem("syntax", "a second YAML document begins here", start)

    def _add(self, node: Node) -> None:
        self.count += 1
        if self.count > self.max_nodes:
            raise YamlProblem("size", f"more than {self.max_nodes:,} values", node.start)
        anchor = None if isinstance(node, Alias) else node.anchor
        if anchor:
            self.anchors[anchor] = node
        if not self.stack:
            self.root = node
            return
        parent = self.stack[-1]
        if isinstance(parent, Sequence):
            parent.items.append(node)
        elif self.keys[-1] is None:
            self.keys[-1] = node
        else:
            parent.pairs.append((self.keys[-1], node))
            self.keys[-1] = None

    def _close(self, end: int) -> None:
        """Give the innermost collection its end, wherever it is held."""
        node = self.stack.pop()
        self.keys.pop()
        closed = node._replace(end=end)
        if node.anchor:
            self.anchors[node.anchor] = closed
        if not self.stack:
            self.root = closed
            return
        parent = self.stack[-1]
        if isinstance(parent, Sequence):
            parent.items[-1] = closed
        elif self.keys[-1] is node:
            self.keys[-1] = closed
        else:
            parent.pairs[-1] = (parent.pairs[-1][0], closed)


_RESOLVERS = SafeLoader.yaml_implicit_resolvers


def _scalar(event: Any, start: int, end: int) -> Scalar:
    value, style, tag = event.value, event.style or "plain", event.tag
    kind = "string"
    if tag:
        kind = _KINDS.get(tag, "string")
    elif style == "plain":
        for candidate, pattern in _RESOLVERS.get(value[:1], ()):
            if pattern.match(value):
                kind = _KINDS.get(candidate, "string")
                break
    return Scalar(start, end, value, kind, style, tag, event.anchor)


def walk(node: Node) -> Iterator[Node]:
    """Every node of a tree in the order of the file, keys included; aliases not followed."""
    todo: list[Node] = [node]
    while todo:
        node = todo.pop()
        yield node
        if isinstance(node, Sequence):
            todo.extend(reversed(node.items))
        elif isinstance(node, Mapping):
            for key, value in reversed(node.pairs):
                todo.append(value)
                todo.append(key)
