"""The words of linting: targets, severities, rules, problems, findings and fixes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from skilleval.lint.contract import API, CLAUDE_CODE, PACKAGE, SKILLS_REF, SPEC
from skilleval.lint.suppress import Suppressions
from skilleval.prompt.listing import Line
from skilleval.skill import Document, Skill, Span

__all__ = [
    "ALL",
    "CatalogCheck",
    "Edit",
    "Example",
    "Finding",
    "Fix",
    "Levels",
    "Problem",
    "Rule",
    "Severity",
    "SkillCheck",
    "SkillReport",
    "Target",
    "Verdict",
    "errors",
    "notes",
    "warnings",
]


class Target(StrEnum):
    """A reader of skills with a contract of its own."""

    SPEC = "spec"
    API = "api"
    PACKAGE = "package"
    CLAUDE_CODE = "claude-code"


class Severity(StrEnum):
    """How bad a finding is for a target, the worst first: an error breaks its contract."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """Larger is worse."""
        return _RANKS[self]


_RANKS = {Severity.ERROR: 3, Severity.WARNING: 2, Severity.NOTE: 1}

Levels = Mapping[Target, Severity]
"""How bad something is, for each target that minds at all."""

ALL: tuple[Target, ...] = tuple(Target)

SOURCE_TARGETS: Mapping[str, Target] = {
    SPEC: Target.SPEC,
    SKILLS_REF: Target.SPEC,
    API: Target.API,
    PACKAGE: Target.PACKAGE,
    CLAUDE_CODE: Target.CLAUDE_CODE,
}
"""Sources that speak for one target; the others speak for all."""


def errors(*targets: Target) -> dict[Target, Severity]:
    """Levels: an error for the targets named (default: every target)."""
    return dict.fromkeys(targets or ALL, Severity.ERROR)


def warnings(*targets: Target) -> dict[Target, Severity]:
    """Levels: a warning for the targets named (default: every target)."""
    return dict.fromkeys(targets or ALL, Severity.WARNING)


def notes(*targets: Target) -> dict[Target, Severity]:
    """Levels: a note for the targets named (default: every target)."""
    return dict.fromkeys(targets or ALL, Severity.NOTE)


class Edit(NamedTuple):
    """Replace a span of a file's text."""

    span: Span
    text: str


class Fix(NamedTuple):
    """A change that settles a problem.

    ``safe`` means that no reader can understand the skill differently afterwards than its
    author meant. ``rename`` gives the file another name in place of editing it.
    """

    title: str
    edits: tuple[Edit, ...] = ()
    safe: bool = False
    rename: str | None = None


class EditView(NamedTuple):
    """An edit with lines and columns, as outputs show it."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


class FixView(NamedTuple):
    """A fix as outputs show it."""

    title: str
    safe: bool
    edits: tuple[EditView, ...]
    rename: str | None

    @classmethod
    def of(cls, fix: Fix, document: Document) -> FixView:
        """The view of a fix to a document."""
        edits = tuple(
            EditView(
                *document.position(edit.span.start), *document.position(edit.span.end), edit.text
            )
            for edit in fix.edits
        )
        return cls(fix.title, fix.safe, edits, fix.rename)


class Problem(NamedTuple):
    """What a check says: the message, and where.

    Attributes:
        message: one sentence, with the actual value and the remedy.
        span: where in the document; None for the file as a whole.
        document: the file; None for SKILL.md.
        file: path of a file that is no document (a picture, a link), from the skill folder.
        levels: how bad it is where that differs from the rule's own levels.
        fix: how to settle it.
    """

    message: str
    span: Span | None = None
    document: Document | None = None
    file: str | None = None
    levels: Levels | None = None
    fix: Fix | None = None


@dataclass(slots=True)
class Finding:
    """What a rule found, ready to show. Lines and columns from 1, in code points."""

    rule: str
    severity: Severity
    levels: dict[Target, Severity]
    path: str
    """Relative to the working directory where it lies below it, else absolute."""
    line: int
    column: int
    end_line: int
    end_column: int
    message: str
    source: str
    excerpt: str = ""
    """The source line, for people; of a long one the part around the place."""
    excerpt_column: int = 1
    """The column that the excerpt begins with."""
    fix: FixView | None = None
    skill: str = ""
    """The path of the skill's folder."""

    @property
    def targets(self) -> list[Target]:
        """The targets for which it is as bad as ``severity`` says."""
        return [t for t, level in self.levels.items() if level is self.severity]

    @property
    def order(self) -> tuple[str, int, int, str]:
        """Sorts findings as a reader goes through the files."""
        return (self.path, self.line, self.column, self.rule)


class Verdict(StrEnum):
    """Pass: no error for that target."""

    PASS = "pass"  # noqa: S105 - a verdict, no password
    FAIL = "fail"


class Place(NamedTuple):
    """Where a field stands, for findings made after the document is gone."""

    line: int
    column: int
    end_line: int
    end_column: int
    excerpt: str = ""
    excerpt_column: int = 1


@dataclass(slots=True)
class SkillReport:
    """What is left of a skill once its own rules have run: enough to compare it with others.

    Attributes:
        path: of the folder, as shown.
        file: of SKILL.md, as shown.
        folder: the folder's real place (absolute).
        catalog: path of the folder whose skills are visible together, as shown.
        readable: its SKILL.md could be read.
        digest: of SKILL.md's bytes.
        listed: the line that Claude Code lists it with, or None where it is hidden.
        name_at, description_at: where those fields stand.
        suppressions: the comments in SKILL.md that switch rules off.
        suppressed: how many findings comments switched off.
        verdicts: filled in at the end.
    """

    path: str
    file: str
    folder: str
    name: str
    description: str | None
    catalog: str
    readable: bool
    digest: bytes
    listed: Line | None
    name_at: Place
    description_at: Place
    suppressions: Suppressions
    findings: list[Finding] = field(default_factory=list)
    suppressed: int = 0
    verdicts: dict[Target, Verdict] = field(default_factory=dict)


SkillCheck = Callable[[Skill], Iterable[Problem]]


class CatalogProblem(NamedTuple):
    """What a check across skills says of one of them."""

    skill: SkillReport
    message: str
    at: Place
    levels: Levels | None = None


CatalogCheck = Callable[[list[SkillReport]], Iterator[CatalogProblem]]

Example = str | Mapping[str, str]
"""A SKILL.md in the folder ``pdf-tools``, or files by their path from a folder of skills."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: what it is for, how bad it is to break it for whom, and who says so.

    Exactly one of ``check`` (one skill at a time) and ``check_catalog`` (all together) is
    set; neither for the few rules about linting itself (comments that switch rules off).
    """

    id: str
    group: str
    why: str
    levels: Levels
    sources: tuple[str, ...]
    bad: Example
    good: Example
    check: SkillCheck | None = None
    check_catalog: CatalogCheck | None = None

    def source(self, targets: Iterable[Target] = ALL) -> str:
        """Who says so, in a line; without the documents of targets that are not among these."""
        named = [s for s in self.sources if s not in SOURCE_TARGETS]
        own = [s for s in self.sources if SOURCE_TARGETS.get(s) in tuple(targets)]
        return "; ".join([*own, *named] or self.sources)
