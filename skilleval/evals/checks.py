"""The kinds of checks: what code decides about a finished trial, before any judge.

A check is a small dataclass under `@kind`; in a file it is a mapping with its ``kind`` and
the fields of that kind. `skilleval.evals.measuring` has a function for each that looks at
the evidence. The set is closed: an unknown kind or field is an error, since a check that
does not say what its author meant is worse than none.
"""

from __future__ import annotations

import dataclasses
import posixpath
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from skilleval.evals import jsonpath, regexes
from skilleval.evals.typed import add_extra, as_plain, fill
from skilleval.evals.values import Fields, Value, closest

__all__ = [
    "KINDS",
    "Check",
    "CommandExits",
    "CostBelow",
    "FileExists",
    "FileMatches",
    "FileParses",
    "FileUnchanged",
    "JsonEquals",
    "NoDenial",
    "OutputMatches",
    "ReferenceRead",
    "SkillActivated",
    "TableEquals",
    "ToolOrder",
    "ToolUsed",
    "TurnsBelow",
    "check_as_plain",
    "read_check",
]

KINDS: dict[str, type[Check]] = {}
"""Every kind of check by its name."""
FILE_FORMATS = ("json", "jsonl", "yaml", "toml", "csv", "tsv")


@dataclass(frozen=True, kw_only=True)
class Check:
    """What every check has: an ``id``, its meaning in words, a weight, and a negation."""

    kind: ClassVar[str] = ""
    about: ClassVar[str] = ""

    id: str = ""
    text: str = ""
    weight: float = 1
    negate: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)

    def problem(self) -> str | None:
        """Why it can never be measured as it stands, or None."""
        return None


C = TypeVar("C", bound=Check)


def kind(name: str, about: str) -> Callable[[type[C]], type[C]]:
    """Declare a kind of check."""

    def decorate(cls: type[C]) -> type[C]:
        cls.kind, cls.about = name, about
        KINDS[name] = cls
        return cls

    return decorate


def path_problem(path: str) -> str | None:
    """Why a path does not stay inside the workspace, or None."""
    parts = path.replace("\\", "/")
    if not path or "\0" in path:
        return "`path` must be a path in the workspace"
    if parts.startswith(("/", "~")) or parts[1:2] == ":":
        return f"`path` must be relative to the workspace, but is {path!r}"
    if posixpath.normpath(parts).split("/")[0] == "..":
        return f"`path` leads out of the workspace: {path!r}"
    return None


def _pattern_problem(pattern: str, contains: str, *, needed: bool = True) -> str | None:
    if pattern and contains:
        return "has both `pattern` and `contains`: one is enough"
    if needed and not pattern and not contains:
        return "needs a `pattern` or `contains`"
    wrong = regexes.problem(pattern) if pattern else None
    return f"`pattern` is no regular expression that can be used: {wrong}" if wrong else None


def _count_problem(least: int, most: int | None) -> str | None:
    return f"`min` {least} is over `max` {most}" if most is not None and most < least else None


@kind("file_exists", "a file is there; `path` may have `*`, `**` and `?`")
@dataclass(frozen=True, kw_only=True)
class FileExists(Check):
    """A file exists in the workspace."""

    path: str

    def problem(self) -> str | None:
        return path_problem(self.path)


@kind("file_matches", "a file contains a text, or a regular expression matches somewhere in it")
@dataclass(frozen=True, kw_only=True)
class FileMatches(Check):
    """A file's text matches. One that is not there fails, negated or not."""

    path: str
    pattern: str = ""
    contains: str = ""
    ignore_case: bool = False

    def problem(self) -> str | None:
        return path_problem(self.path) or _pattern_problem(self.pattern, self.contains)


@kind("file_parses", "a file is well-formed JSON, JSON lines, YAML, TOML, CSV or TSV")
@dataclass(frozen=True, kw_only=True)
class FileParses(Check):
    """A file can be parsed; as what its ending says, or ``format``."""

    path: str
    format: str = ""

    @property
    def as_format(self) -> str:
        """The format that it is parsed as; empty where nothing says so."""
        ending = posixpath.splitext(self.path)[1].lstrip(".").lower()
        return self.format or {"yml": "yaml", "ndjson": "jsonl"}.get(ending, ending)

    def problem(self) -> str | None:
        if self.as_format not in FILE_FORMATS:
            return f"`format` must be one of {', '.join(FILE_FORMATS)}"
        return path_problem(self.path)


@kind("json_equals", "the value at a JSON path of a file equals `value`")
@dataclass(frozen=True, kw_only=True)
class JsonEquals(Check):
    """What stands at a JSON path equals a value; with ``[*]``, the list of all it leads to."""

    path: str
    value: Any
    at: str = "$"

    def problem(self) -> str | None:
        wrong = jsonpath.problem(self.at)
        return path_problem(self.path) or (f"`at` is no JSON path: {wrong}" if wrong else None)


@kind("table_equals", "a CSV or TSV file holds these rows, its header included")
@dataclass(frozen=True, kw_only=True)
class TableEquals(Check):
    """A table equals some rows, cell by cell."""

    path: str
    rows: tuple[tuple[str, ...], ...]
    delimiter: str = ""
    unordered: bool = False
    tolerance: float = 0

    def problem(self) -> str | None:
        if len(self.delimiter) > 1 or self.delimiter in ('"', "\n", "\r"):
            return "`delimiter` must be a single character"
        return path_problem(self.path)


@kind("file_unchanged", "an input file has the bytes that it began with")
@dataclass(frozen=True, kw_only=True)
class FileUnchanged(Check):
    """An input file was left alone."""

    path: str

    def problem(self) -> str | None:
        return path_problem(self.path)


@kind("output_matches", "the answer contains a text, or a regular expression matches in it")
@dataclass(frozen=True, kw_only=True)
class OutputMatches(Check):
    """The final answer matches."""

    pattern: str = ""
    contains: str = ""
    ignore_case: bool = False

    def problem(self) -> str | None:
        return _pattern_problem(self.pattern, self.contains)


@kind("command_exits", "a command in the workspace ends with `code`, and its output matches")
@dataclass(frozen=True, kw_only=True)
class CommandExits(Check):
    """A command, run in the sandbox after the trial, exits with a code."""

    command: str
    code: int = 0
    pattern: str = ""
    contains: str = ""

    def problem(self) -> str | None:
        if not self.command.strip():
            return "`command` is blank"
        return _pattern_problem(self.pattern, self.contains, needed=False)


@kind("tool_used", "a tool was called `min` to `max` times, with `arguments` that match")
@dataclass(frozen=True, kw_only=True)
class ToolUsed(Check):
    """A tool was called so many times; ``arguments`` are regular expressions by name."""

    tool: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    min: int = 1
    max: int | None = None

    def problem(self) -> str | None:
        for name, pattern in self.arguments.items():
            wrong = regexes.problem(pattern)
            if wrong:
                return f"`arguments.{name}` is no regular expression that can be used: {wrong}"
        return _count_problem(self.min, self.max)


@kind("tool_order", "tools were called in this order, others in between")
@dataclass(frozen=True, kw_only=True)
class ToolOrder(Check):
    """Tools were called one after the other."""

    tools: tuple[str, ...]

    def problem(self) -> str | None:
        return None if self.tools else "`tools` is empty"


@kind("skill_activated", "a skill was loaded `min` to `max` times; `*` stands for any text")
@dataclass(frozen=True, kw_only=True)
class SkillActivated(Check):
    """A skill's instructions were loaded, by whatever route."""

    skill: str
    min: int = 1
    max: int | None = None

    def problem(self) -> str | None:
        return _count_problem(self.min, self.max) if self.skill else "`skill` is empty"


@kind("reference_read", "a file of a skill was read")
@dataclass(frozen=True, kw_only=True)
class ReferenceRead(Check):
    """One of the files beside SKILL.md was read; the end of its path is enough."""

    path: str

    def problem(self) -> str | None:
        return path_problem(self.path)


@kind("no_denial", "no tool call was denied")
@dataclass(frozen=True, kw_only=True)
class NoDenial(Check):
    """Nothing was denied."""


@kind("cost_below", "the trial cost less than so many dollars")
@dataclass(frozen=True, kw_only=True)
class CostBelow(Check):
    """It was cheap."""

    dollars: float


@kind("turns_below", "the trial took fewer turns than so many")
@dataclass(frozen=True, kw_only=True)
class TurnsBelow(Check):
    """It was quick."""

    turns: int


def read_check(value: Value) -> Check:
    """A check as the native format writes it.

    Raises:
        InputError: it is of no known kind, has an unknown field, or can never be measured.
    """
    fields = Fields(value)
    name_value = fields.need("kind")
    name = name_value.text()
    cls = KINDS.get(name)
    if cls is None:
        close = closest(name, KINDS)
        raise name_value.fail(
            f"there is no check `{name}`",
            f"Did you mean `{close}`?" if close else f"The checks are {', '.join(KINDS)}.",
        )
    check = fill(cls, fields)
    extra = fields.take("extra")
    if extra is not None:
        check = dataclasses.replace(check, extra=extra.plain() if extra.pairs() else {})
    for unknown, left in fields.left.items():
        known = [each.name for each in dataclasses.fields(cls)]
        close = closest(unknown, known)
        raise left.fail(
            f"the check `{name}` has no field `{unknown}`"
            if unknown not in known
            else "must not be null",
            f"Did you mean `{close}`?" if close else f"It has {', '.join(known)}.",
        )
    wrong = check.problem()
    if wrong:
        raise value.fail(f"the check `{name}` {wrong}", "docs/records.md shows every check.")
    return check


def check_as_plain(check: Check) -> dict[str, Any]:
    """A check as the native format writes it."""
    common = [each.name for each in dataclasses.fields(Check)]
    plain = as_plain(check)
    own = {name: value for name, value in plain.items() if name not in common}
    shared = {name: value for name, value in plain.items() if name in common}
    extra = {"extra": dict(check.extra)} if check.extra else {}
    return add_extra({"kind": check.kind, **own, **shared}, extra)
