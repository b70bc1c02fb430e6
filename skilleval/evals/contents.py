"""What is in the files of a workspace: parsed and compared, within bounds.

They were written by a model, so that neither an alias of YAML nor a tower of brackets may
cost more than its own length.
"""

from __future__ import annotations

import csv
import io
import tomllib
from collections import Counter
from collections.abc import Sequence
from typing import Any

from skilleval.evals import jsontree
from skilleval.evals.values import Reading, Value
from skilleval.skill import Document
from skilleval.skill.yamltree import Node, YamlProblem
from skilleval.skill.yamltree import parse as parse_yaml

__all__ = ["Malformed", "difference", "parse", "same", "table"]

_MAX_FIELD = 1_000_000


class Malformed(Exception):
    """A file is not what it should be; the text says why."""


def parse(data: bytes, format: str) -> Any:
    """The content of a file as plain data.

    Raises:
        Malformed: it is not of that format, or too deep or large to be read.
    """
    text = _text(data)
    if format == "json":
        return _plain(text, is_json=True)
    if format == "jsonl":
        lines = [line for line in text.split("\n") if line.strip()]
        return [_plain(line, is_json=True) for line in lines]
    if format == "yaml":
        return _plain(text, is_json=False)
    if format == "toml":
        try:
            return tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise Malformed(str(error)) from None
    rows = table(data, "\t" if format == "tsv" else ",")
    widths = {len(row) for row in rows}
    if len(widths) > 1:
        raise Malformed(f"its rows have {min(widths)} to {max(widths)} cells")
    return rows


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Malformed(f"not UTF-8 from byte {error.start:,} on") from None


def _plain(text: str, *, is_json: bool) -> Any:
    from skilleval.errors import InputError

    document = Document("", text.encode())
    root: Node | None
    try:
        if is_json:
            root = jsontree.parse_json(text)
        else:
            root = parse_yaml(text, 0, jsontree.MAX_NODES)
        if root is None:
            raise Malformed("it is empty")
        return Value(root, "", Reading("", document)).plain()
    except YamlProblem as problem:
        line = document.position(problem.offset).line
        raise Malformed(f"{problem.message}, line {line}") from None
    except InputError as error:
        raise Malformed(error.message.lstrip(":")) from None


def table(data: bytes, delimiter: str) -> list[list[str]]:
    """The rows of a table; blank lines are none.

    Raises:
        Malformed: it is none.
    """
    text = _text(data)
    if "\0" in text:
        raise Malformed("it holds NUL characters")
    before = csv.field_size_limit(_MAX_FIELD)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise Malformed(str(error)) from None
    finally:
        csv.field_size_limit(before)
    return [row for row in rows if row]


def difference(
    rows: Sequence[Sequence[str]],
    wanted: Sequence[Sequence[str]],
    *,
    unordered: bool = False,
    tolerance: float = 0,
) -> str:
    """What the first difference between two tables is; empty where there is none.

    The first row is the header: ``unordered`` is about the rows below it.
    """
    if len(rows) != len(wanted):
        return f"{len(rows):,} rows instead of {len(wanted):,}"
    if not rows:
        return ""
    left, right = [tuple(row) for row in rows], [tuple(row) for row in wanted]
    if unordered:
        left = [left[0], *sorted(left[1:])]
        right = [right[0], *sorted(right[1:])]
        if not tolerance:
            missing = Counter(right) - Counter(left)
            if missing:
                return f"there is no row {list(next(iter(missing)))}"[:200]
    for number, (row, expected) in enumerate(zip(left, right, strict=True), 1):
        if len(row) != len(expected):
            return f"row {number:,} has {len(row)} cells instead of {len(expected)}"
        for column, (cell, other) in enumerate(zip(row, expected, strict=True), 1):
            if not _same_cell(cell, other, tolerance):
                return f"row {number:,}, cell {column}: {cell[:60]!r} instead of {other[:60]!r}"
    return ""


def _same_cell(cell: str, other: str, tolerance: float) -> bool:
    if cell == other or not tolerance:
        return cell == other
    try:
        return abs(float(cell) - float(other)) <= tolerance
    except ValueError:
        return False


def same(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal: 1 and 1.0 are, 1 and true are not."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(v, right[k]) for k, v in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)
