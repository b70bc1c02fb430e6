"""Dataclasses read from the fields of a file, and written as plain data again.

The annotation of a field decides how it is read. What a class has no field for goes into its
``extra``, and from there back into the file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from skilleval.evals.values import Fields, Value

__all__ = ["add_extra", "as_plain", "fill", "leftover", "register"]

T = TypeVar("T")


def _table(value: Value) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(_cell(cell) for cell in row.items()) for row in value.items())


def _cell(value: Value) -> str:
    if value.kind not in ("text", "number"):
        raise value.wrong("a text or a number")
    return str(value.plain())


def _identifier(value: Value) -> int | str:
    if value.kind == "number":
        return value.whole(least=-(10**18))
    if value.kind != "text":
        raise value.wrong("a text or a whole number")
    return value.text()


def _mapping(value: Value) -> dict[str, Any]:
    if value.kind != "mapping":
        raise value.wrong("a mapping of fields")
    plain: dict[str, Any] = value.plain()
    return plain


def _measure(value: Value) -> int | float | str:
    return value.text() if value.kind == "text" else value.number()


_READERS: dict[str, Callable[[Value], Any]] = {
    "str": Value.text,
    "str | None": Value.text,
    "bool": Value.flag,
    "bool | None": Value.flag,
    "int": lambda value: value.whole(),
    "int | None": lambda value: value.whole(),
    "float": Value.number,
    "float | None": Value.number,
    "int | str | None": _identifier,
    "float | str | None": _measure,
    "tuple[str, ...]": Value.texts,
    "tuple[str, ...] | None": Value.texts,
    "tuple[int | str, ...] | None": lambda value: tuple(_identifier(v) for v in value.items()),
    "tuple[tuple[str, ...], ...]": _table,
    "Mapping[str, str]": lambda value: {k: v.text() for k, v in value.pairs().items()},
    "Mapping[str, Any]": _mapping,
    "Mapping[str, Any] | None": _mapping,
    "Any": Value.plain,
}


def register(annotation: str, reader: Callable[[Value], Any]) -> None:
    """Say how fields of an annotation are read."""
    _READERS[annotation] = reader


def fill(cls: type[T], fields: Fields, names: Mapping[str, tuple[str, ...]] | None = None) -> T:
    """Make a dataclass of some fields; what it has no place for stays in them.

    Args:
        cls: a dataclass; ``extra`` is left to `leftover`.
        fields: where its fields are taken from.
        names: what fields are called in the file, where that is not their own name.
    """
    found: dict[str, Any] = {}
    for each in dataclasses.fields(cls):  # type: ignore[arg-type]
        if not _in_file(each):
            continue
        called = (names or {}).get(each.name, (each.name,))
        if each.type == "Any" and fields.has(each.name):  # null is a value here
            value: Value | None = fields.left.pop(each.name)
        elif _is_required(each):
            value = fields.need(*called)
        else:
            value = fields.take(*called)
        if value is not None:
            found[each.name] = _READERS[str(each.type)](value)
    return cls(**found)


def leftover(made: T, fields: Fields, *placeless: str) -> T:
    """The same with what is left of its fields as ``extra``."""
    rest = fields.rest(*placeless)
    return dataclasses.replace(made, extra=rest) if rest else made  # type: ignore[type-var]


def _in_file(field: dataclasses.Field[Any]) -> bool:
    """Whether a field stands in files: not the rest, and not what only we know."""
    return field.name != "extra" and field.compare and field.metadata.get("file", True)


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def as_plain(made: Any, *always: str) -> dict[str, Any]:
    """A dataclass as plain data: the fields that differ from their default, and ``always``."""
    plain: dict[str, Any] = {}
    for each in dataclasses.fields(made):
        value = getattr(made, each.name)
        if not _in_file(each):
            continue
        if _is_required(each) or each.name in always or value != _default(each):
            plain[each.name] = plain_value(value)
    return plain


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def plain_value(value: Any) -> Any:
    """A field's value as plain data."""
    if isinstance(value, tuple):
        return [plain_value(item) for item in value]
    if isinstance(value, Mapping):
        return {name: plain_value(item) for name, item in value.items()}
    if dataclasses.is_dataclass(value):
        return add_extra(as_plain(value), getattr(value, "extra", {}))
    return value


def add_extra(plain: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """Some plain data with the extra fields that it has no field of that name for."""
    return {**plain, **{name: value for name, value in extra.items() if name not in plain}}
