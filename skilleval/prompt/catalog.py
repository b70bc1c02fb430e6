"""A catalog of skills as a model sees it: the listing, and what became of each skill in it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from skilleval.prompt.listing import (
    LISTING_CUT,
    hidden_because,
    line_of,
    listing_text,
    units,
    without_description,
)
from skilleval.skill import Skill

__all__ = ["Entry", "Listing", "State", "Style", "build_listing"]

_HEADER = "The following skills are available for use with the Skill tool:"
_DOCUMENTED_HEADER = (
    "Skills available here. Before you use one, read the SKILL.md in its folder and follow it:"
)


class Style(StrEnum):
    """How skills are listed.

    ``documented``: name, description and folder, as the Agent Skills documentation describes
    it; the model reads SKILL.md itself. ``claude-code``: what that client sends.
    """

    DOCUMENTED = "documented"
    CLAUDE_CODE = "claude-code"


class State(StrEnum):
    """What a model sees of a skill."""

    WHOLE = "whole"
    CUT = "cut"
    NAME_ONLY = "name only"
    HIDDEN = "hidden"


class Entry(NamedTuple):
    """What became of a skill.

    Attributes:
        path: its folder (absolute).
        name: what it is called by.
        state: what the model sees of it.
        line: as it is listed; empty where it is hidden.
        lost: how much of its text is not shown, in the unit that the style counts.
        why: the reason where it is not whole.
    """

    path: str
    name: str
    state: State
    line: str
    lost: int
    why: str


@dataclass(frozen=True)
class Listing:
    """The listing of a catalog.

    ``characters`` is what counts against ``budget``: the lines with the breaks between them,
    without the header. A budget of None means that there is none.
    """

    style: Style
    entries: tuple[Entry, ...]
    budget: int | None

    @property
    def lines(self) -> list[str]:
        """The skills that are listed."""
        return [entry.line for entry in self.entries if entry.line]

    @property
    def characters(self) -> int:
        """How much of the budget is used."""
        return sum(map(units, self.lines)) + max(len(self.lines) - 1, 0)

    @property
    def text(self) -> str:
        """The block as a model gets it; empty where no skill is listed."""
        if not self.lines:
            return ""
        header = _HEADER if self.style is Style.CLAUDE_CODE else _DOCUMENTED_HEADER
        return "\n".join([header, "", *self.lines])


def build_listing(
    skills: Sequence[Skill], style: Style = Style.CLAUDE_CODE, budget: int | None = None
) -> Listing:
    """List a catalog.

    Args:
        skills: those that are visible together, in any order: they are listed by name.
        style: how.
        budget: characters for the lines together; only Claude Code's listing has one.
    """
    if style is Style.DOCUMENTED:
        entries = sorted((_documented(skill) for skill in skills), key=lambda e: e.name)
        return Listing(style, tuple(entries), None)
    shown = [(skill, line) for skill in skills if (line := line_of(skill))]
    shown.sort(key=lambda pair: pair[1].name)
    bare = (
        set()
        if budget is None
        else {id(line) for line in without_description([line for _, line in shown], budget)}
    )
    found = []
    for skill, line in shown:
        length = units(listing_text(skill))
        if id(line) in bare:
            why = "no room for its description in the listing"
            found.append(Entry(skill.folder, line.name, State.NAME_ONLY, line.bare, length, why))
        elif length > LISTING_CUT:
            lost = length - LISTING_CUT + 1
            why = f"{length:,} of {LISTING_CUT:,} characters"
            found.append(Entry(skill.folder, line.name, State.CUT, line.whole, lost, why))
        else:
            found.append(Entry(skill.folder, line.name, State.WHOLE, line.whole, 0, ""))
    for skill in skills:
        why = hidden_because(skill)
        if why:
            found.append(Entry(skill.folder, skill.folder_name, State.HIDDEN, "", 0, why))
    return Listing(style, tuple(found), budget)


def _documented(skill: Skill) -> Entry:
    why = "" if skill.has_text else "its SKILL.md can't be read"
    if not why and not skill.description:
        why = "it has no description"
    if why:
        return Entry(skill.folder, skill.name, State.HIDDEN, "", 0, why)
    text = " ".join((skill.description or "").split())
    line = f"- {skill.name} - {text} ({skill.folder}{os.sep})"
    return Entry(skill.folder, skill.name, State.WHOLE, line, 0, "")
