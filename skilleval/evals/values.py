"""Values of an evaluation file that know where they stand, and how to complain about it.

A `Value` is a node of the tree with its place; `Fields` takes a mapping apart and
remembers what nobody asked for, so that an unknown field is named instead of dropped.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from skilleval.errors import InputError
from skilleval.skill import Document
from skilleval.skill.yamltree import Alias, Mapping, Node, Scalar, Sequence

__all__ = ["Fields", "Reading", "Remark", "Value", "closest"]

MAX_DEPTH = 48
_MAX_VISITS = 400_000
_MAX_HINTS = 30
"""Unknown fields of a file for which it is worked out what they could have been."""
_NUMBERS = re.compile(r"\[[0-9]+\]")
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,399})\Z")
_NUMBER = re.compile(r"[-+]?(?:[0-9]{1,400}\.[0-9]{0,400}|\.[0-9]{1,400}|[0-9]{1,400}(?=[eE]))"
                     r"(?:[eE][-+]?[0-9]{1,9})?\Z")  # fmt: skip
_TRUE = frozenset(("true", "yes", "on", "y"))

Kind = Literal["mapping", "list", "text", "boolean", "number", "null"]
_NOUNS = {
    "mapping": "a mapping of fields",
    "list": "a list",
    "text": "a text",
    "boolean": "true or false",
    "number": "a number",
    "null": "null",
}


class Remark(NamedTuple):
    """Something odd in an evaluation file that does not keep it from being read.

    ``kind`` is ``unknown-field``, ``duplicate-key``, ``duplicate-id``, ``ungradeable``,
    ``empty``, ``unmeasurable`` or ``contradiction``.
    """

    kind: str
    message: str
    path: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.message} [{self.kind}]"


@dataclass
class Reading:
    """One file while it is read: where it is, and what was odd about it."""

    path: str
    document: Document
    remarks: list[Remark] = field(default_factory=list)
    visits: int = 0
    _unknown: dict[str, tuple[int, int, str]] = field(default_factory=dict)

    def remark(self, kind: str, message: str, offset: int) -> None:
        """Note something odd."""
        self.remarks.append(Remark(kind, message, self.path, *self.document.position(offset)))

    def unknown(self, path: str, known: Iterable[str], offset: int) -> None:
        """Note a field that nobody knows: once for all cases, with how many have it."""
        pattern = _NUMBERS.sub("[]", path)
        if pattern in self._unknown:
            index, count, message = self._unknown[pattern]
            self._unknown[pattern] = (index, count + 1, message)
            more = f"{message} (and {count:,} more)"
            self.remarks[index] = self.remarks[index]._replace(message=more)
            return
        name = path.rpartition(".")[2]
        close = closest(name, known) if len(self._unknown) < _MAX_HINTS else None
        hint = f"; did you mean `{close}`?" if close else ""
        message = f"{path}: an unknown field, kept as it is{hint}"
        self._unknown[pattern] = (len(self.remarks), 1, message)
        self.remark("unknown-field", message, offset)

    def error(self, message: str, offset: int, remedy: str = "See docs/records.md.") -> InputError:
        """An error with its place, to raise."""
        line, column = self.document.position(offset)
        return InputError(f"{self.path}:{line}:{column}: {message}", remedy=remedy)

    def visit(self, offset: int) -> None:
        """Count a value that is looked at: aliases must not multiply a small file."""
        self.visits += 1
        if self.visits > _MAX_VISITS:
            raise self.error(
                f"more than {_MAX_VISITS:,} values once its aliases are followed",
                offset,
                "Split the file, or write out what the aliases stand for.",
            )


class Value:
    """A node with its place: ``path`` reads ``evals[2].files``."""

    __slots__ = ("depth", "node", "path", "reading", "start")

    def __init__(self, node: Node, path: str, reading: Reading, depth: int = 0) -> None:
        self.start = node.start
        while isinstance(node, Alias):
            depth += 1
            node = node.target
        self.node = node
        self.path = path
        self.reading = reading
        self.depth = depth
        reading.visit(self.start)
        if depth > MAX_DEPTH:
            raise reading.error(f"nesting deeper than {MAX_DEPTH} levels", self.start)

    @property
    def kind(self) -> Kind:
        """What sort of value it is."""
        node = self.node
        if isinstance(node, Mapping):
            return "mapping"
        if isinstance(node, Sequence):
            return "list"
        assert isinstance(node, Scalar)  # noqa: S101 - an alias was followed
        if node.kind in ("boolean", "null"):
            return node.kind  # type: ignore[return-value]
        return "number" if isinstance(_number(node), (int, float)) else "text"

    @property
    def line(self) -> int:
        """The line that it begins on."""
        return self.reading.document.position(self.start).line

    def fail(self, message: str, remedy: str = "See docs/records.md.") -> InputError:
        """An error about this value, to raise."""
        where = f"{self.path}: " if self.path else ""
        return self.reading.error(f"{where}{message}", self.start, remedy)

    def wrong(self, wanted: str) -> InputError:
        """An error: it is of another kind than it should be."""
        remedy = f"Make it {wanted}."
        if wanted == "a text" and isinstance(self.node, Scalar):
            remedy = "Put it in quotes."
        return self.fail(f"must be {wanted}, but is {_NOUNS[self.kind]}", remedy)

    def text(self) -> str:
        """It as a text; in YAML, numbers and dates without quotes count as written."""
        node = self.node
        if isinstance(node, Scalar):
            if node.kind == "string" or (
                node.style == "plain" and node.kind in ("integer", "number", "date")
            ):
                return node.value
        raise self.wrong("a text")

    def flag(self) -> bool:
        """It as true or false."""
        if self.kind != "boolean":
            raise self.wrong("true or false")
        return self.plain() is True

    def number(self) -> int | float:
        """It as a number."""
        found = _number(self.node)
        if not isinstance(found, (int, float)):
            raise self.wrong("a number")
        return found

    def whole(self, least: int = 0) -> int:
        """It as a whole number that is not below ``least``."""
        found = self.number()
        if not isinstance(found, int) or found < least:
            wanted = "a whole number" + (f" from {least} on" if least >= -999 else "")
            raise self.fail(f"must be {wanted}, but is {found}", f"Make it {wanted}.")
        return found

    def items(self) -> list[Value]:
        """The values of a list."""
        if not isinstance(self.node, Sequence):
            raise self.wrong("a list")
        return [
            Value(item, f"{self.path}[{number}]", self.reading, self.depth + 1)
            for number, item in enumerate(self.node.items)
        ]

    def texts(self) -> tuple[str, ...]:
        """A list of texts."""
        return tuple(item.text() for item in self.items())

    def pairs(self) -> dict[str, Value]:
        """The fields of a mapping; of two with one name the last counts, as in JSON."""
        if not isinstance(self.node, Mapping):
            raise self.wrong("a mapping of fields")
        found: dict[str, Value] = {}
        merged: dict[str, Value] = {}
        for key, node in self.node.pairs:
            while isinstance(key, Alias):
                key = key.target
            if not isinstance(key, Scalar):
                raise self.reading.error("a field name must be a text", key.start)
            name = key.value
            path = f"{self.path}.{name}" if self.path else name
            value = Value(node, path, self.reading, self.depth + 1)
            if name == "<<" and key.style == "plain":
                for each in value.items() if value.kind == "list" else [value]:
                    merged = each.pairs() | merged
                continue
            if name in found:
                self.reading.remark(
                    "duplicate-key", f"{path}: a second field of this name; it counts", key.start
                )
            value.start = key.start if value.kind in ("mapping", "list") else value.start
            found[name] = value
        return {**{k: v for k, v in merged.items() if k not in found}, **found}

    def plain(self) -> Any:
        """It as plain data that can be written as JSON."""
        kind = self.kind
        if kind == "mapping":
            return {name: value.plain() for name, value in self.pairs().items()}
        if kind == "list":
            return [item.plain() for item in self.items()]
        node = self.node
        assert isinstance(node, Scalar)  # noqa: S101 - the other kinds are done
        if kind == "boolean":
            return node.value.lower() in _TRUE
        return None if kind == "null" else _number(node)


def _number(node: Node) -> int | float | str:
    """A scalar's number; its text where it is none, or one that JSON can't hold."""
    if not isinstance(node, Scalar):
        return ""
    if node.kind == "integer" and _INTEGER.match(node.value):
        return int(node.value)
    if node.kind == "number" and (node.style == "json" or _NUMBER.match(node.value)):
        number = float(node.value)
        return number if math.isfinite(number) else node.value
    return node.value


def closest(name: str, names: Iterable[str]) -> str | None:
    """The one of some names that a misspelt one is nearest to."""
    found = difflib.get_close_matches(name[:80], list(names), n=1, cutoff=0.75)
    return found[0] if found else None


class Fields:
    """A mapping while it is taken apart.

    A null counts as a field that is not there; it stays among the rest all the same, so that
    writing the file again gives it back.
    """

    def __init__(self, value: Value) -> None:
        self.value = value
        self.left = value.pairs()
        self._asked: dict[str, None] = {}

    def has(self, *names: str) -> bool:
        """Whether one of some fields is there."""
        return any(name in self.left for name in names)

    def take(self, *names: str) -> Value | None:
        """The first of some fields that is there, or None."""
        self._asked.update(dict.fromkeys(names))
        for name in names:
            found = self.left.get(name)
            if found is not None and found.kind != "null":
                return self.left.pop(name)
        return None

    def need(self, *names: str) -> Value:
        """The first of some fields that is there; an error where none is."""
        found = self.take(*names)
        if found is not None:
            for name in self.left.keys() & set(names):
                self.value.reading.remark(
                    "contradiction",
                    f"{self.left[name].path}: kept, but it is {found.path} that counts",
                    self.left[name].start,
                )
            return found
        wanted = " or ".join(f"`{name}`" for name in names)
        for name, value in self.left.items():
            close = closest(name, names)
            if name in names:
                raise value.fail("must not be null")
            if close:
                raise value.fail(
                    f"there is no field {wanted} here, but `{name}`",
                    f"Rename `{name}` to `{close}`.",
                )
        raise self.value.fail(f"there is no field {wanted} here", f"Add a field {wanted}.")

    def text(self, *names: str) -> str:
        """A text, of several names the first that is not empty; empty where there is none."""
        chosen = ""
        for name in names:
            found = self.take(name)
            if found is None:
                continue
            if chosen:  # a second text stays among the rest
                if found.text():
                    self.left[name] = found
            else:
                chosen = found.text()
        return chosen

    def texts(self, *names: str) -> tuple[str, ...]:
        """A list of texts; empty where there is none."""
        found = self.take(*names)
        return found.texts() if found else ()

    def words(self, *names: str) -> tuple[str, ...]:
        """A list of texts, or one text that stands for a list of one."""
        found = self.take(*names)
        if found is None:
            return ()
        return (found.text(),) if found.kind == "text" else found.texts()

    def flag(self, *names: str) -> bool | None:
        """True or false, or None."""
        found = self.take(*names)
        return found.flag() if found else None

    def number(self, *names: str) -> int | float | None:
        """A number, or None."""
        found = self.take(*names)
        return found.number() if found else None

    def items(self, *names: str) -> list[Value]:
        """The values of a list, or of those of several names; none where it is not there."""
        found = [self.take(name) for name in names]
        return [item for value in found if value for item in value.items()]

    def fields(self, *names: str) -> Fields | None:
        """A mapping inside this one, or None."""
        found = self.take(*names)
        return Fields(found) if found else None

    def rest(self, *placeless: str) -> dict[str, Any]:
        """What nobody asked for, as plain data.

        Each is remarked on, but for the ``placeless``: known fields that a record has no
        place of its own for.
        """
        rest: dict[str, Any] = {}
        known = [*self._asked, *placeless]
        for name, value in self.left.items():
            rest[name] = value.plain()
            if name in known:
                continue
            wanted = [each for each in known if each not in rest]
            value.reading.unknown(value.path, wanted, value.start)
        return rest
