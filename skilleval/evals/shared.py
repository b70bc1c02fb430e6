"""What the readers and writers of several formats have in common."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import fields as dataclass_fields
from dataclasses import replace
from typing import Any, TypeVar

from skilleval.evals.checks import Check
from skilleval.evals.records import Behaviour, InputFile, Limits, Origin, Record, Suite
from skilleval.evals.typed import fill, leftover
from skilleval.evals.values import Fields, Reading, Value

__all__ = [
    "finish",
    "losses",
    "outside",
    "read_behaviours",
    "read_extra",
    "read_files",
    "read_identifier",
    "read_limits",
    "usable",
]

T = TypeVar("T")
Case = tuple[Record, Value]
_PLAIN = Record("")


def outside(path: str) -> str | None:
    """Why a path does not stay inside the folder that it begins in, or None."""
    slashed = path.replace("\\", "/")
    if not path.strip() or "\0" in path:
        return "is no path"
    if slashed.startswith(("/", "~")) or slashed[1:2] == ":":
        return "is not relative"
    if posixpath.normpath(slashed).split("/")[0] == "..":
        return "leads out of the folder of the suite"
    return None


def _safe(value: Value) -> str:
    path = value.text()
    wrong = outside(path)
    if wrong:
        raise value.fail(
            f"{path!r} {wrong}", "Put the file below the skill or the suite; name it from there."
        )
    return path


def read_identifier(fields: Fields, *names: str) -> int | str | None:
    """An id: a whole number or a text."""
    value = fields.take(*names)
    if value is None:
        return None
    if value.kind == "number":
        return value.whole(least=-(10**18))
    if value.kind != "text":
        raise value.wrong("a text or a whole number")
    return value.text()


def read_files(value: Value | None, *, nested: bool = False) -> tuple[InputFile, ...]:
    """Input files: paths, or mappings with ``path`` and one of ``source`` and ``content``.

    ``nested`` here and below: what has no place stands under ``extra``, as in native files.
    """
    files = tuple(_read_file(item, nested) for item in value.items()) if value else ()
    targets = Counter(file.target for file in files)
    for target, count in targets.items():
        if count > 1 and value:
            value.reading.remark(
                "contradiction", f"{value.path}: {count} files would lie at {target}", value.start
            )
    return files


def _read_file(value: Value, nested: bool) -> InputFile:
    if value.kind == "text":
        return InputFile(source=_safe(value))
    if value.kind != "mapping":
        raise value.wrong("a path, or a mapping with `path` and `content`")
    fields = Fields(value)
    source, content = fields.take("source", "src"), fields.take("content")
    path = fields.take("path", "dest") if source or content else fields.need("source", "content")
    if content is not None and path is None:
        raise value.fail("a file with `content` needs a `path`", "Add `path`.")
    file = InputFile(
        _safe(source) if source else None,
        content.text() if content else None,
        _safe(path) if path else "",
    )
    return _with_extra(file, fields, nested)


def _with_extra(made: T, fields: Fields, nested: bool) -> T:
    if not nested:
        return leftover(made, fields)
    extra = read_extra(fields)
    return replace(made, extra=extra) if extra else made  # type: ignore[type-var]


def read_extra(fields: Fields) -> dict[str, Any]:
    """What stands under ``extra``, and the fields that nobody knows."""
    extra = fields.take("extra")
    if extra is not None and extra.kind != "mapping":
        raise extra.wrong("a mapping of fields")
    return {**(extra.plain() if extra else {}), **fields.rest()}


def read_behaviours(value: Value | None, *, nested: bool = False) -> tuple[Behaviour, ...]:
    """Behaviours: texts, or mappings with ``text`` and what else is said of them."""
    return tuple(_read_behaviour(item, nested) for item in value.items()) if value else ()


def _read_behaviour(value: Value, nested: bool) -> Behaviour:
    if value.kind == "text":
        return Behaviour(value.text())
    if value.kind != "mapping":
        raise value.wrong("a text, or a mapping with `text`")
    fields = Fields(value)
    return _with_extra(fill(Behaviour, fields), fields, nested)


def read_limits(value: Value | None, *, nested: bool = False) -> Limits:
    """What a trial may use."""
    if value is None:
        return Limits()
    fields = Fields(value)
    limits = _with_extra(fill(Limits, fields), fields, nested)
    for name in ("seconds", "dollars"):
        if (getattr(limits, name) or 0) < 0:
            raise value.fail(f"`{name}` must not be negative")
    return limits


def usable(check: Check, value: Value) -> Check:
    """A check from a foreign format, with a remark where it can never be measured."""
    wrong = check.problem()
    if wrong:
        value.reading.remark("unmeasurable", f"{value.path}: {check.kind} {wrong}", value.start)
    return check


def finish(
    reading: Reading, format: str, cases: Iterable[Case], files: Sequence[str] = (), **suite: Any
) -> Suite:
    """A suite of some cases: each with its origin, and remarks on what is odd about them.

    ``files`` are those that were read beside the one that is named.
    """
    records: list[Record] = []
    ids: set[str] = set()
    for index, (record, value) in enumerate(cases):
        if not record.gradeable:
            where = value.path or "the case"
            value.reading.remark("ungradeable", f"{where}: nothing to grade in it", value.start)
        if record.id is not None and str(record.id) in ids:
            value.reading.remark(
                "duplicate-id", f"{value.path}: a second case with the id {record.id}", value.start
            )
        ids.add(str(record.id))
        if record.should_trigger is False and record.expected_skill:
            value.reading.remark(
                "contradiction",
                f"{value.path}: `should_trigger` is false, and `expected_skill` is "
                f"{record.expected_skill}",
                value.start,
            )
        origin = Origin(value.reading.path, value.line, format, index)
        records.append(replace(record, origin=origin))
    if not records:
        reading.remark("empty", "there is no case in this file", 0)
    return Suite(
        tuple(records),
        format,
        reading.path,
        remarks=tuple(reading.remarks),
        files=(reading.path, *files),
        **suite,
    )


def losses(records: Sequence[Record], can: str) -> list[str]:
    """What some records have that a format has no field for, a line for each field.

    Args:
        records: to be written.
        can: the fields that the format has a place for.
    """
    kept = {*can.split(), "query", "extra", "origin"}
    lost = []
    for each in dataclass_fields(Record):
        if each.name in kept:
            continue
        cases = [
            number
            for number, record in enumerate(records, 1)
            if getattr(record, each.name) != getattr(_PLAIN, each.name)
        ]
        if cases:
            lost.append(f"`{each.name}` of {named(cases)}")
    return lost


def named(cases: list[int]) -> str:
    """``case 2``, ``cases 1, 2 and 14 more``."""
    if len(cases) == 1:
        return f"case {cases[0]}"
    shown = ", ".join(str(case) for case in cases[:5])
    return f"cases {shown}" + (f" and {len(cases) - 5} more" if len(cases) > 5 else "")
