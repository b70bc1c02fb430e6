"""A catalog of skills as a model sees it: the listing, and what became of each skill in it."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from skilleval.prompt.listing import (
    LISTING_CUT,
    Line,
    call_name,
    hidden_because,
    is_waiting,
    line_of,
    listing_text,
    other_name,
    units,
    without_description,
)
from skilleval.skill import Catalog, Skill

__all__ = ["Entry", "Listing", "State", "Style", "build_listing"]

_HEADER = "The following skills are available for use with the Skill tool:"
_DOCUMENTED_HEADER = (
    "Skills available here. Before you use one, read the SKILL.md in its folder and follow it:"
)
_TAKEN = "a skill of the same name comes before it"
_SIGNS = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"
"""Signs in the order of the Unicode collation; digits and letters follow."""


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
    skills: Sequence[Skill],
    style: Style = Style.CLAUDE_CODE,
    budget: int | None = None,
    shown_as: Callable[[str], str] = str,
) -> Listing:
    """List a catalog.

    Args:
        skills: those that are visible together: listed are those of no plugin, then plugin
            after plugin as they come here, each group by name. Of two skills of one name,
            the client knows the first only.
        style: how.
        budget: characters for the lines together; only Claude Code's listing has one.
        shown_as: the path by which the model knows a skill's folder.
    """
    if style is Style.DOCUMENTED:
        listed = (_documented(skill, shown_as(skill.folder)) for skill in skills)
        entries = sorted(listed, key=lambda e: e.name)
        return Listing(style, tuple(entries), None)
    known = _known(skills)
    shown = _lines(known)
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
    there = set(map(id, known))
    for skill in skills:
        why = hidden_because(skill) or ("" if id(skill) in there else _TAKEN)
        if why:
            found.append(Entry(skill.folder, skill.folder_name, State.HIDDEN, "", 0, why))
    return Listing(style, tuple(found), budget)


def _known(skills: Sequence[Skill]) -> list[Skill]:
    """The skills that the client knows of, in the order of its listing."""
    first: dict[str, tuple[int, Skill]] = {}
    groups: dict[Catalog | None, int] = {None: 0}
    for skill in skills:
        if not skill.trouble and not is_waiting(skill):
            catalog = skill.found.catalog if skill.found.catalog.plugin else None
            group = groups.setdefault(catalog, len(groups))
            first.setdefault(call_name(skill), (group, skill))
    order = sorted(first.items(), key=lambda item: (item[1][0], _collation(item[0])))
    return [skill for _, (_, skill) in order]


def _lines(known: Sequence[Skill]) -> list[tuple[Skill, Line]]:
    """The lines of those that are listed; two of them never tell of one other name."""
    taken = {call_name(skill) for skill in known}
    shown = []
    for skill in known:
        if line := line_of(skill, taken):
            shown.append((skill, line))
        taken.add(other_name(skill))
    return shown


def _collation(name: str) -> tuple[list[int], str, str]:
    """A key that sorts names as people do: accents and case count between equal letters only."""
    letters = [c for c in unicodedata.normalize("NFD", name) if not unicodedata.combining(c)]
    plain = "".join(letters).lower()
    ranks = [_SIGNS.index(c) if c in _SIGNS else len(_SIGNS) + ord(c) for c in plain]
    return ranks, unicodedata.normalize("NFD", name.lower()), name.swapcase()


def _documented(skill: Skill, folder: str) -> Entry:
    why = "" if skill.has_text else "its SKILL.md can't be read"
    if not why and not skill.description:
        why = "it has no description"
    if why:
        return Entry(skill.folder, skill.name, State.HIDDEN, "", 0, why)
    text = " ".join((skill.description or "").split())
    line = f"- {skill.name} - {text} ({folder}/)"
    return Entry(skill.folder, skill.name, State.WHOLE, line, 0, "")
