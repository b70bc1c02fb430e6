"""The formats: which there are, and how a file's format is found from its content.

A format is a module of `skilleval.evals.formats` with a function under `@reader` and maybe one
under `@writer`; adding one touches nothing else.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, TypeAlias, TypeVar

from skilleval.evals.records import Suite
from skilleval.evals.results import Benchmark, Grading, TriggerReport
from skilleval.evals.values import Reading, Value
from skilleval.skill.yamltree import Alias, Mapping, Node, Scalar, Sequence

__all__ = ["Contents", "Format", "Shape", "Written", "formats", "reader", "writer"]

Contents: TypeAlias = Suite | Grading | Benchmark | TriggerReport
"""What an evaluation file can hold: cases, or results."""
MAX_ITEMS = 200
"""Cases that are looked at to tell the format."""


class Shape:
    """The names of the fields in a file: all that its format is told from."""

    def __init__(self, root: Node, renamed: dict[str, str] | None = None) -> None:
        self._root = _target(root)
        self._renamed = renamed or {}
        self.is_list = isinstance(self._root, Sequence)
        self.keys = self._keys(self._root)

    def inside(self, name: str = "") -> frozenset[str]:
        """The fields of the mappings in a list: the one of that name, or the whole file."""
        node: Node | None = self._root if not name else self._field(name)
        if not isinstance(node, Sequence):
            return frozenset()
        return frozenset().union(*(self._keys(_target(n)) for n in node.items[:MAX_ITEMS]))

    def has_texts(self, name: str) -> bool:
        """Whether the list of a name holds texts."""
        node = self._field(name)
        return isinstance(node, Sequence) and any(isinstance(n, Scalar) for n in node.items)

    def is_collection(self, name: str) -> bool:
        """Whether a field is there and holds a list."""
        return isinstance(self._field(name), Sequence)

    def _field(self, name: str) -> Node | None:
        if not isinstance(self._root, Mapping):
            return None
        for key, value in self._root.pairs:
            if self._name(key) == name:
                return _target(value)
        return None

    def _keys(self, node: Node) -> frozenset[str]:
        if not isinstance(node, Mapping):
            return frozenset()
        return frozenset(self._name(key) for key, _ in node.pairs)

    def _name(self, key: Node) -> str:
        name = key.value if isinstance(key, Scalar) else ""
        return self._renamed.get(name, name)


def _target(node: Node) -> Node:
    while isinstance(node, Alias):
        node = node.target
    return node


class Written(NamedTuple):
    """What a writer made: plain data, and what had no place in it."""

    data: Any
    lost: list[str]


Score = Callable[[Shape], int]
Read = Callable[[Value, Reading], Contents]
Write = Callable[[Any], Written]
R = TypeVar("R", bound=Callable[..., Any])
W = TypeVar("W", bound=Callable[..., Written])


@dataclass
class Format:
    """One format.

    Attributes:
        name: what it is called on the command line.
        number: its place in the list of formats.
        about: what it is, in a line.
        words: the field names that tell it; near misses are looked for among them.
        score: how much a file looks like it: 0 is not at all.
        read: reads a file.
        write: writes what was read, where it can.
        takes: what it can write.
    """

    name: str
    number: int
    about: str
    words: frozenset[str]
    score: Score
    read: Read
    write: Write | None = None
    takes: type | None = None


_FORMATS: dict[str, Format] = {}


def reader(
    name: str, number: int, about: str, *, words: str, score: Score
) -> Callable[[R], R]:  # fmt: skip
    """Declare a format by the function that reads it; the arguments are those of `Format`."""

    def decorate(read: R) -> R:
        if name in _FORMATS:
            raise ValueError(f"two formats with the name {name}")
        _FORMATS[name] = Format(name, number, about, frozenset(words.split()), score, read)
        return read

    return decorate


def writer(name: str, takes: type) -> Callable[[W], W]:
    """Declare the function that writes a format; its reader stands above it."""

    def decorate(write: W) -> W:
        _FORMATS[name].write, _FORMATS[name].takes = write, takes
        return write

    return decorate


@cache
def formats() -> dict[str, Format]:
    """Every format by its name, in the order of their numbers."""
    from skilleval.evals import formats as package

    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return dict(sorted(_FORMATS.items(), key=lambda item: (item[1].number, item[0])))
