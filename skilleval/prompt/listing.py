"""The line that a skill is listed with, and which descriptions a listing has room for.

Facts measured on Claude Code 2.1.332: the line is ``- name: description``, ``when_to_use``
follows behind `` - ``, white space is collapsed, angle brackets are escaped, one skill's text
is cut at 1,536 characters. Without a description the first line that is not blank stands for
it. The listing gets one per cent of the context window: what does not fit is listed by its
bare name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from skilleval.skill import Skill
from skilleval.skill.yamltree import Scalar

__all__ = [
    "LISTING_CUT",
    "LISTING_SHARE",
    "Line",
    "budget",
    "is_hidden",
    "listed",
    "listing_text",
    "without_description",
]

LISTING_CUT = 1_536
LISTING_SHARE = 0.01
_FIRST_LINE_CUT = 100
_HEADING = re.compile(r"#{1,6}\s+")


class Line(NamedTuple):
    """A skill's line in the listing: the name it is called by, and the text behind it."""

    name: str
    text: str

    @property
    def whole(self) -> str:
        """The line as it stands where there is room."""
        return f"- {self.name}: {self.text}" if self.text else f"- {self.name}"

    @property
    def bare(self) -> str:
        """The line where there is none."""
        return f"- {self.name}"


def budget(context_window: int, characters_per_token: int = 4) -> int:
    """Characters that the listing may take on a model.

    Args:
        context_window: in tokens.
        characters_per_token: what the client reckons with: 4, and 3 for the models that have
            a million tokens by themselves (claude-opus-4-7 and later, and all of the fifth
            generation). Measured: 8,000 characters on a 200k model, 30,000 on those.
    """
    return int(context_window * LISTING_SHARE * characters_per_token)


def listing_text(skill: Skill) -> str:
    """Description and when_to_use as one line of text, before it is cut."""
    text = skill.description or _first_line(skill)
    when = skill.front.string("when_to_use")
    joined = f"{text} - {when}" if when else text
    return " ".join(joined.split())


def _first_line(skill: Skill) -> str:
    """What stands for a description that is missing: the first line, without heading marks."""
    line = next((line.strip() for line in skill.body.splitlines() if line.strip()), "Skill")
    text = _HEADING.sub("", line, count=1) if line.startswith("#") else line
    return text if len(text) <= _FIRST_LINE_CUT else text[: _FIRST_LINE_CUT - 3] + "..."


def is_hidden(skill: Skill) -> bool:
    """Whether ``disable-model-invocation`` keeps a skill out of the listing."""
    hidden = skill.front.fields.get("disable-model-invocation")
    return bool(hidden and (hidden.text or "").lower() in ("true", "yes", "on", "1"))


def listed(skill: Skill) -> Line | None:
    """A skill's line, or None where it is hidden from the model."""
    if is_hidden(skill):
        return None
    name, own = skill.folder_name, skill.front.fields.get("name")
    if own and isinstance(own.value, Scalar) and own.value.value not in ("", name):
        name = f"{name} ({own.value.value})"
    plugin = skill.found.catalog.plugin
    if plugin:
        name = f"{plugin}:{name}"
    text = listing_text(skill)
    if len(text) > LISTING_CUT:
        text = text[: LISTING_CUT - 1] + "…"
    return Line(name, text.replace("<", "&lt;").replace(">", "&gt;"))


def without_description(lines: Sequence[Line], characters: int) -> list[Line]:
    """The lines that a budget has no room to show whole.

    Names come first; what is left of the budget goes to descriptions in the order of the
    listing, which is that of the names; one that does not fit makes room for a shorter one
    behind it. The line breaks between lines count (measured to the character).
    """
    breaks = len(lines) - 1
    if sum(len(line.whole) for line in lines) + breaks <= characters:
        return []
    left = characters - sum(len(line.bare) for line in lines) - breaks
    lost = []
    for line in lines:
        extra = len(line.whole) - len(line.bare)
        if extra and extra > left:
            lost.append(line)
        else:
            left -= extra
    return lost
