"""The record: one evaluation case, whatever file it comes from.

Four fields are the heart of it: ``skills``, ``query``, ``files`` and ``expected_behavior``.
The others may be left out; `skilleval.evals.describe` has the table of them all, and
`skilleval.evals.formats.native` how they are written.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from skilleval.evals.checks import Check
from skilleval.evals.values import Remark

__all__ = ["ARMS", "Behaviour", "InputFile", "Limits", "Origin", "Record", "Suite"]

ARMS = ("none", "offered", "forced")
"""What a model can get of a skill: nothing, its line in the listing, its instructions."""


@dataclass(frozen=True)
class Origin:
    """Where a case came from; ``index`` counts the cases of a file from 0."""

    path: str
    line: int
    format: str
    index: int


@dataclass(frozen=True)
class Behaviour:
    """Something that the answer or the way to it must show, for a judge to look at."""

    text: str
    id: str = ""
    weight: float = 1
    negate: bool = False
    """It must not show."""
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class InputFile:
    """A file that lies in the workspace when a trial begins.

    Its bytes come from ``source``, a path below the folder of the skill or of the suite, or
    are the ``content`` itself. ``path`` is where it lies in the workspace.
    """

    source: str | None = None
    content: str | None = None
    path: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def target(self) -> str:
        """Where it lies in the workspace: the last part of the source where nothing is said."""
        return self.path or posixpath.basename((self.source or "").rstrip("/"))


@dataclass(frozen=True)
class Limits:
    """What a trial may use; None where the suite says nothing."""

    turns: int | None = None
    seconds: float | None = None
    dollars: float | None = None
    network: bool | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Record:
    """One evaluation case.

    Attributes:
        query: the first thing that the user says.
        skills: those under test; empty where none may be loaded, None where the file names
            none.
        files: what lies in the workspace.
        expected_behavior: what a judge looks for.
        id: as in the file.
        title: a name for people.
        turns: what the user says after the query, one at a time.
        setup: commands that prepare the workspace.
        checks: what code decides, before any judge.
        must_not: what must not show.
        expected_output: what a good answer looks like, in words; it grades nothing.
        should_trigger: whether the skill is to be loaded.
        expected_skill: the one to be loaded, where several are at hand.
        acceptable_skills: others that may be loaded in its place.
        distractors: skills that are in the catalog, too.
        arms: the arms that it runs in; all where empty.
        limits: what a trial may use.
        weight: how much it counts in its suite.
        tags: words to select it by.
        note: a remark for people.
        extra: fields of the file that have no place here.
        origin: where it came from; two records that differ in it alone are equal.
    """

    query: str
    skills: tuple[str, ...] | None = None
    files: tuple[InputFile, ...] = ()
    expected_behavior: tuple[Behaviour, ...] = ()
    id: int | str | None = None
    title: str = ""
    turns: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    must_not: tuple[Behaviour, ...] = ()
    expected_output: str = ""
    should_trigger: bool | None = None
    expected_skill: str | None = None
    acceptable_skills: tuple[str, ...] = ()
    distractors: tuple[str, ...] = ()
    arms: tuple[str, ...] = ()
    limits: Limits = Limits()
    weight: float = 1
    tags: tuple[str, ...] = ()
    note: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    origin: Origin | None = field(default=None, compare=False)

    @property
    def messages(self) -> tuple[str, ...]:
        """Everything that the user says, in order."""
        return (self.query, *self.turns)

    @property
    def behaviours(self) -> tuple[Behaviour, ...]:
        """What a judge decides, forbidden things included, each with an id of its own."""
        found = [*self.expected_behavior, *(replace(b, negate=True) for b in self.must_not)]
        taken = {behaviour.id for behaviour in found if behaviour.id}
        named, number = [], 0
        for behaviour in found:
            if not behaviour.id:
                number += 1
                while f"b{number}" in taken:
                    number += 1
                behaviour = replace(behaviour, id=f"b{number}")
            named.append(behaviour)
        return tuple(named)

    @property
    def may_load(self) -> frozenset[str]:
        """The skills whose loading is right: none where the skill is to stay out."""
        if self.should_trigger is False:
            return frozenset()
        expected = (self.expected_skill,) if self.expected_skill else self.skills or ()
        return frozenset((*expected, *self.acceptable_skills))

    @property
    def gradeable(self) -> bool:
        """Whether there is anything to grade: a check, a behaviour, or an activation."""
        return bool(
            self.checks
            or self.expected_behavior
            or self.must_not
            or self.should_trigger is not None
            or self.expected_skill
            or self.skills == ()
        )


@dataclass(frozen=True)
class Suite:
    """The cases of a file.

    Attributes:
        records: in the order of the file.
        format: the name of the file's format.
        path: of the file.
        skill: the skill that the file as a whole is about, where it says so.
        description: what the file says of itself.
        remarks: what is odd about it.
        files: every file that was read for it.
        extra: fields of the file as a whole that have no place here.
    """

    records: tuple[Record, ...]
    format: str = "native"
    path: str = field(default="", compare=False)
    skill: str | None = None
    description: str = ""
    remarks: tuple[Remark, ...] = field(default=(), compare=False)
    files: tuple[str, ...] = field(default=(), compare=False)
    extra: Mapping[str, Any] = field(default_factory=dict)
