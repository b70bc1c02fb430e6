"""The line that a skill is listed with, and which descriptions a listing has room for.

Facts measured on Claude Code 2.1.332: the line is ``- name: description``, ``when_to_use``
follows behind `` - ``; a run of line breaks, tabs, control, format or private characters
becomes one space, other white space stays; angle brackets are escaped; one skill's text is
cut at 1,536 UTF-16 units. Without a description the first line that is not blank stands for
it. The listing gets one per cent of the context window: what does not fit is listed by its
bare name.
"""

from __future__ import annotations

import re
from collections.abc import Container
from collections.abc import Sequence as SequenceOf
from decimal import Decimal
from typing import NamedTuple

from skilleval.skill import Field, Skill, State
from skilleval.skill.yamltree import Scalar, Sequence

__all__ = [
    "LISTING_CUT",
    "LISTING_SHARE",
    "Line",
    "budget",
    "call_name",
    "hidden_because",
    "is_hidden",
    "is_waiting",
    "line_of",
    "listing_text",
    "other_name",
    "units",
    "without_description",
]

LISTING_CUT = 1_536
LISTING_SHARE = 0.01
_FIRST_LINE_CUT = 100
_HEADING = re.compile(r"#{1,6}\s+")
_INFINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z")
_NUMBER = re.compile(r"(?:[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?|0x[0-9a-fA-F]+|0o[0-7]+)\Z")
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_ODD = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f"
    "\u2028-\u202e\u2060-\u2064\u2066-\u206f\ue000-\uf8ff\ufe00-\ufe0f\ufeff\ufff9-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0001\U000e0020-\U000e007f\U000f0000-\U000ffffd\U00100000-\U0010fffd]+"
)
"""Control, format, private and separator characters, and variation selectors."""
_SHOWN_NAME = re.compile(r"[\w.:-]+\Z")


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
    """Description and when_to_use as one line of escaped text, before it is cut."""
    text = _said(skill, "description") or _first_line(skill)
    when = _said(skill, "when_to_use")
    line = _in_one_line(f"{text} - {when}" if when else text)
    return line.replace("<", "&lt;").replace(">", "&gt;")


def _field(skill: Skill, key: str) -> Field | None:
    """A field of frontmatter that stands where the client looks: on the first line."""
    return skill.front.fields.get(key) if skill.front.state is State.OK else None


def _said(skill: Skill, key: str) -> str:
    """A field's text, with numbers and booleans as JavaScript writes them (YAML 1.2)."""
    entry = _field(skill, key)
    value = entry.resolved if entry else None
    if not isinstance(value, Scalar) or value.kind == "null":
        return ""
    if value.style != "plain":
        return value.value
    if value.value.lower() in ("true", "false"):
        return value.value.lower()
    return _number(value.value) or value.value


def _number(text: str) -> str:
    """A number of YAML 1.2 as JavaScript prints it; empty for any other text."""
    if _INFINITE.match(text):
        return text[:1].strip("+.iI") + "Infinity"
    if not _NUMBER.match(text):
        return ""
    number = float(int(text, 0)) if text[:2] in ("0x", "0o") else float(text)
    if number in (float("inf"), float("-inf")):
        return "Infinity" if number > 0 else "-Infinity"
    if not number:
        return "0"
    if 1e-6 <= abs(number) < 1e21:
        return format(Decimal(repr(number)), "f").removesuffix(".0")
    return repr(number)


def units(text: str) -> int:
    """The length of a text as the client counts it: in UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _in_one_line(text: str) -> str:
    return _ODD.sub(" ", _ANSI.sub("", text.strip()))


def _cut(text: str) -> str:
    """A text cut to what the listing shows; half a character shows as U+FFFD."""
    if units(text) <= LISTING_CUT:
        return text
    data = text.encode("utf-16-le", "surrogatepass")[: (LISTING_CUT - 1) * 2]
    return data.decode("utf-16-le", "replace") + "…"


def _first_line(skill: Skill) -> str:
    """What stands for a description that is missing: the first line, without heading marks."""
    body = skill.body if skill.front.state is State.OK else skill.document.text
    line = next((line.strip() for line in body.splitlines() if line.strip()), "Skill")
    text = _HEADING.sub("", line, count=1) if line.startswith("#") else line
    return text if len(text) <= _FIRST_LINE_CUT else text[: _FIRST_LINE_CUT - 3] + "..."


def is_hidden(skill: Skill) -> bool:
    """Whether ``disable-model-invocation`` keeps a skill out of the listing."""
    hidden = _field(skill, "disable-model-invocation")
    return bool(hidden and (hidden.text or "").lower() in ("true", "yes", "on", "1"))


def hidden_because(skill: Skill) -> str:
    """Why a model does not see a skill at first; empty where it does."""
    if skill.trouble:
        return "its SKILL.md can't be read"
    if is_hidden(skill):
        return "disable-model-invocation: only people may call it"
    if is_waiting(skill):
        return "paths: it waits until a file that they name is read"
    return ""


def call_name(skill: Skill) -> str:
    """What a skill is called by: its folder's name; in a plugin, ``plugin:`` stands before it.

    A skill that is a plugin by itself is called by the name in its frontmatter.
    """
    catalog = skill.found.catalog
    if not catalog.plugin:
        return skill.folder_name
    inner = skill.folder_name
    if skill.folder == catalog.folder:
        inner = _said(skill, "name") or inner
    return f"{catalog.plugin}:{inner}"


def other_name(skill: Skill, bare: bool = False) -> str:
    """The name in a skill's frontmatter, by which it may be called, too; empty without one.

    Args:
        skill: a skill.
        bare: without the plugin.
    """
    name, plugin = _said(skill, "name"), skill.found.catalog.plugin
    if bare or not name or not plugin or name.startswith(f"{plugin}:"):
        return name
    return f"{plugin}:{name}"


def line_of(skill: Skill, taken: Container[str] = ()) -> Line | None:
    """A skill's line, or None where the model does not see it at first.

    Args:
        skill: a skill.
        taken: names by which others are called: they are not told as the skill's other name.
    """
    if hidden_because(skill):
        return None
    name, other = call_name(skill), other_name(skill)
    if other != name and other not in taken and _SHOWN_NAME.match(other):
        name = f"{name} ({other})"
    return Line(name, _cut(listing_text(skill)))


def is_waiting(skill: Skill) -> bool:
    """Whether a skill is listed only once a file that its ``paths`` name was read."""
    paths = _field(skill, "paths")
    if paths is None or paths.kind == "null":
        return False
    value = paths.resolved
    return bool(value.items) if isinstance(value, Sequence) else bool(paths.text)


def without_description(lines: SequenceOf[Line], characters: int) -> list[Line]:
    """The lines that a budget has no room to show whole.

    Names come first; what is left of the budget goes to descriptions in the order of the
    listing, which is that of the names; one that does not fit makes room for a shorter one
    behind it. The line breaks between lines count (measured to the character).
    """
    breaks = len(lines) - 1
    if sum(units(line.whole) for line in lines) + breaks <= characters:
        return []
    left = characters - sum(units(line.bare) for line in lines) - breaks
    lost = []
    for line in lines:
        extra = units(line.whole) - units(line.bare)
        if extra and extra > left:
            lost.append(line)
        else:
            left -= extra
    return lost
