"""The keys of the frontmatter: once each, known, spelt right, and whole."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from skilleval.lint.contract import (
    API,
    CLAUDE_CODE,
    CLAUDE_CODE_KEYS,
    PACKAGE,
    SKILLS_REF,
    SPEC,
    SPEC_KEYS,
    YAML,
)
from skilleval.lint.model import Edit, Fix, Problem, Target, errors, notes, warnings
from skilleval.lint.registry import rule
from skilleval.lint.rules.files import GOOD
from skilleval.lint.wording import quoted, shorten
from skilleval.skill import Field, Skill, Span
from skilleval.skill.yamltree import Scalar


@rule(
    "duplicate-key",
    "frontmatter",
    why="YAML forbids a key twice; of readers that go on, some take the first value and some "
    "the last.",
    levels=errors(Target.SPEC) | warnings(Target.API, Target.PACKAGE, Target.CLAUDE_CODE),
    source=(YAML, SKILLS_REF),
    bad=GOOD.replace("description:", "description: Reads PDFs.\ndescription:"),
    good=GOOD,
)
def duplicate_key(skill: Skill) -> Iterator[Problem]:
    """A key stands twice, quoted or not."""
    for key in skill.front.duplicates:
        yield Problem(
            f"duplicate key {shorten(key.value)}: keep one of them", Span(key.start, key.end)
        )


# A comment, but not one that switches a rule off.
_LOST = re.compile(r"[ \t]+#(?![ \t]*skilleval:)")


@rule(
    "text-lost",
    "frontmatter",
    why='In an unquoted value a space and "#" start a comment: the rest of the line is lost.',
    levels=warnings(),
    source=YAML,
    bad=GOOD.replace("Use when", "Fixes issue #42. Use when"),
    good=GOOD.replace("Use when", "Fixes issue#42. Use when"),
)
def text_lost(skill: Skill) -> Iterator[Problem]:
    """A comment cuts a description, or another text meant for people, short."""
    document = skill.document
    for name in ("name", "description", "when_to_use", "compatibility"):
        entry = skill.front.fields.get(name)
        if not entry or not isinstance(entry.value, Scalar) or entry.value.style != "plain":
            continue
        if entry.value.start == entry.value.end:
            continue
        end = document.line_at(entry.value.end).end
        rest = document.text[entry.value.end : end]
        if _LOST.match(rest):
            whole = document.text[entry.value.start : end].rstrip()
            fix = None
            if "\n" not in whole and "\r" not in whole:
                fix = Fix("quote the value", (Edit(Span(entry.value.start, end), quoted(whole)),))
            start = entry.value.end + len(rest) - len(rest.lstrip(" \t"))
            yield Problem(
                f'text after " #" is lost: the {name} ends at "{entry.value.value[-24:]}"; '
                "quote the value",
                Span(start, end),
                fix=fix,
            )


@rule(
    "unknown-key",
    "frontmatter",
    why="The specification, the upload and the packager accept six keys; a further one makes "
    "them refuse the skill. Claude Code ignores what it does not know.",
    levels=errors(Target.SPEC, Target.API, Target.PACKAGE),
    source=(SPEC, API, PACKAGE, CLAUDE_CODE),
    bad=GOOD.replace("name:", "tags: pdf\nname:", 1),
    good=GOOD.replace("---\n\n", "metadata:\n  tags: pdf\n---\n\n", 1),
)
def unknown_key(skill: Skill) -> Iterator[Problem]:
    """A top-level key outside the specification that is no typo of a known one."""
    for name, entry in skill.front.fields.items():
        if name in SPEC_KEYS or _meant(name):
            continue
        span = Span(entry.key.start, entry.key.end)
        if name in CLAUDE_CODE_KEYS:
            verb = "accepts" if name == "version" else "reads"
            yield Problem(
                f"Claude Code {verb} the key {name}, the specification does not have it: it "
                f"knows {', '.join(SPEC_KEYS)}",
                span,
            )
        else:
            yield Problem(
                f"unknown key {shorten(name)}: {_better_place(entry)}",
                span,
                levels=errors(Target.SPEC, Target.API, Target.PACKAGE) | notes(Target.CLAUDE_CODE),
            )


def _better_place(entry: Field) -> str:
    """Where the value of an unknown key belongs."""
    name = entry.key.value
    if name in ("tools", "compatible_tools"):
        return "for tools there is allowed-tools"
    if name in ("triggers", "not_for", "keywords", "when"):
        return "say it in the description, where a model sees it"
    if entry.kind in ("list", "map"):
        return "put it under metadata, written as one text"
    return "put it under metadata"


@rule(
    "key-typo",
    "frontmatter",
    why="A misspelt key is not read, and nobody says so.",
    levels=errors(Target.SPEC, Target.API, Target.PACKAGE) | warnings(Target.CLAUDE_CODE),
    source=(SPEC, CLAUDE_CODE),
    bad=GOOD.replace("description", "descriptoin"),
    good=GOOD,
)
def key_typo(skill: Skill) -> Iterator[Problem]:
    """A key that is nearly a known one."""
    for name, entry in skill.front.fields.items():
        meant = _meant(name)
        if meant:
            span = Span(entry.key.start, entry.key.end)
            if meant in skill.front.fields:
                yield Problem(
                    f"unknown key {shorten(name)}: there is {meant} already, remove this one", span
                )
                continue
            fix = None
            if entry.key.style == "plain":
                fix = Fix(f"rename the key to {meant}", (Edit(span, meant),))
            yield Problem(f"unknown key {shorten(name)}: did you mean {meant}?", span, fix=fix)


_KNOWN = (*SPEC_KEYS, *CLAUDE_CODE_KEYS)
_FOLDED = {key.replace("-", "").replace("_", ""): key for key in _KNOWN}
_CUSTOM = frozenset({"agents", "models", "path", "hook", "versions", "tools", "author", "argument"})
"""Words of their own that happen to be near a known key."""


def _meant(name: str) -> str | None:
    """The known key that a name is a misspelling of."""
    if name in _KNOWN or name in _CUSTOM:
        return None
    folded = name.lower().replace("-", "").replace("_", "").replace(" ", "")
    if folded in _FOLDED:
        return _FOLDED[folded]
    if len(name) < 4 or len(name) > 40:
        return None
    close = difflib.get_close_matches(name.lower(), _KNOWN, n=1, cutoff=0.82)
    return close[0] if close else None
