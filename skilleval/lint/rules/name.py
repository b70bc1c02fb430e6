"""The name: present, text, short, of the right letters, like the folder, not reserved."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from skilleval.lint.contract import (
    API,
    CLAUDE_CODE,
    MAX_NAME,
    PACKAGE,
    RESERVED_WORDS,
    SKILLS_REF,
    SPEC,
    UNICODE,
    YAML,
)
from skilleval.lint.model import Edit, Fix, Problem, Target, errors, notes, warnings
from skilleval.lint.registry import rule
from skilleval.lint.rules.files import GOOD
from skilleval.lint.wording import code_point, plural, quoted, shorten
from skilleval.skill import Field, Skill, Span
from skilleval.skill.yamltree import Mapping, Scalar

_STRICT = (Target.SPEC, Target.API, Target.PACKAGE)
_ASCII_NAME = re.compile(r"[a-z0-9-]*\Z")
_FOLDER_AS_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*\Z")
_PLAIN = re.compile(r"[A-Za-z0-9_./:+-]+\Z")


def _named(text: str, name: str = "pdf-tools") -> str:
    return text.replace("name: pdf-tools", f"name: {name}")


def has_fields(skill: Skill) -> bool:
    """Whether keys could be looked for: there is frontmatter, and it is a map or empty."""
    root = skill.front.root
    return skill.front.readable and (root is None or isinstance(root, Mapping))


def scalar_problem(entry: Field, label: str) -> Problem | None:
    """A value that YAML turned into a number, boolean or date, with quotes as the fix."""
    value = entry.value
    if not isinstance(value, Scalar) or value.kind in ("string", "null"):
        return None
    fix = Fix(f"quote the {label}", (Edit(entry.span, quoted(value.value)),), safe=True)
    article = "an" if value.kind == "integer" else "a"
    return Problem(
        f'{label} is {article} {value.kind}, not text: quote it ("{shorten(value.value)}")',
        entry.span,
        fix=fix if not value.tag and not value.anchor else None,
    )


@rule(
    "name-missing",
    "name",
    why="The specification, the upload and the packager require a name; Claude Code takes the "
    "folder's.",
    levels=errors(*_STRICT),
    source=(SPEC, API, PACKAGE),
    bad=GOOD.replace("name: pdf-tools\n", ""),
    good=GOOD,
)
def name_missing(skill: Skill) -> Iterator[Problem]:
    """No name, or one without a value."""
    if not has_fields(skill):
        return
    entry = skill.front.fields.get("name")
    if entry is None:
        fix = None
        start = skill.front.block.start
        if _FOLDER_AS_NAME.match(skill.folder_name) and not _is_flow(skill):
            indent = _indent(skill)
            if not indent.strip(" "):  # else the first key stands behind a "?"
                line = f"{indent}name: {skill.folder_name}{_newline(skill)}"
                edit = Edit(Span(start, start), line)
                fix = Fix("add the folder's name", (edit,), safe=True)
        yield Problem("name missing: add the folder's name", opening_line(skill), fix=fix)
    elif entry.kind == "null" or (entry.kind == "string" and not (entry.text or "").strip()):
        word = "null" if entry.value.end > entry.value.start and entry.kind == "null" else "empty"
        fix = None
        if (
            word == "null"
            and isinstance(entry.value, Scalar)
            and entry.value.value == (skill.folder_name)
        ):
            fix = Fix("quote the name", (Edit(entry.span, quoted(entry.value.value)),), safe=True)
        yield Problem(f"name missing: the value is {word}", entry.span, fix=fix)


def opening_line(skill: Skill) -> Span:
    """The line that opens the frontmatter: where something missing is reported."""
    return skill.document.line_at(max(skill.front.block.start - 1, 0))


def _is_flow(skill: Skill) -> bool:
    return isinstance(skill.front.root, Mapping) and skill.front.root.flow


def _newline(skill: Skill) -> str:
    """The line break that the frontmatter's first line ends with."""
    above = skill.document.text[: skill.front.block.start]
    return "\r\n" if above.endswith("\r\n") else above[-1:]


def _indent(skill: Skill) -> str:
    """What stands before the first key on its line."""
    root = skill.front.root
    if not isinstance(root, Mapping) or not root.pairs:
        return ""
    key = root.pairs[0][0].start
    return skill.document.text[skill.document.line_at(key).start : key]


@rule(
    "name-type",
    "name",
    why="YAML reads some unquoted words as numbers, booleans or dates; a name must be text.",
    levels=errors(*_STRICT) | warnings(Target.CLAUDE_CODE),
    source=(SPEC, PACKAGE, YAML),
    bad=_named(GOOD, "2024"),
    good=_named(GOOD),
)
def name_type(skill: Skill) -> Iterator[Problem]:
    """The name is a number, a boolean, a date, a list or a map."""
    entry = skill.front.fields.get("name")
    if entry is None:
        return
    problem = scalar_problem(entry, "name")
    if problem:
        yield problem
    elif entry.kind in ("list", "map"):
        yield Problem(f"name is a {entry.kind}, not text", entry.span, levels=errors())


@rule(
    "name-length",
    "name",
    why="Names are at most 64 characters.",
    levels=errors(*_STRICT),
    source=(SPEC, API, PACKAGE),
    bad=_named(GOOD, "pdf-" * 17 + "x"),
    good=_named(GOOD),
)
def name_length(skill: Skill) -> Iterator[Problem]:
    """Longer than 64 code points."""
    name = skill.front.string("name")
    if name and len(name) > MAX_NAME:
        span = skill.front.fields["name"].span
        yield Problem(f"name is {len(name):,} of {MAX_NAME} characters; shorten it", span)


@rule(
    "name-characters",
    "name",
    why="Names are lower-case letters, digits and hyphens. The specification's text says both "
    '"unicode lowercase alphanumeric" and "a-z"; the upload and the packager take a-z only.',
    levels=errors(*_STRICT),
    source=(SPEC, SKILLS_REF, API, PACKAGE),
    bad=_named(GOOD, "PDF_tools"),
    good=_named(GOOD),
)
def name_characters(skill: Skill) -> Iterator[Problem]:
    """Anything but a-z, 0-9 and the hyphen."""
    name = skill.front.string("name")
    if not name or _ASCII_NAME.match(name):
        return
    span = skill.front.fields["name"].span
    kept = unicodedata.normalize("NFKC", name)
    if all(c == "-" or (c.isalnum() and c == c.lower()) for c in kept):
        first = next(c for c in name if not c.isascii())
        yield Problem(
            f"name has letters outside a-z ({code_point(first)}): the specification contradicts "
            "itself here (it says both unicode alphanumerics and a-z), the upload and the packager "
            "refuse it",
            span,
            levels=errors(Target.API, Target.PACKAGE) | notes(Target.SPEC),
        )
        return
    suggestion = re.sub(r"[^a-z0-9]+", "-", kept.lower()).strip("-")
    fix = None
    entry = skill.front.fields["name"]
    if suggestion and _PLAIN.match(name) and suggestion == skill.folder_name:
        fix = Fix(f"rename the skill to {suggestion}", (Edit(entry.span, suggestion),))
    code = ""
    levels = None
    if ":" in name:
        code = "; Claude Code gives : a meaning of its own, plugin:skill"
        levels = errors(*_STRICT) | notes(Target.CLAUDE_CODE)
    yield Problem(
        f"name has {_kinds(kept)}: lower-case letters, digits and hyphens only{code}",
        span,
        levels=levels,
        fix=fix,
    )


def _kinds(name: str) -> str:
    """What is wrong with the characters of a name, in words."""
    kinds = []
    if any(c.isupper() for c in name):
        kinds.append("upper case")
    if any(c.isspace() for c in name):
        kinds.append("spaces")
    if "_" in name:
        kinds.append("underscores")
    others = sorted({c for c in name if not (c.isalnum() or c.isspace() or c in "-_")})
    if others:
        shown = " ".join(c if c.isprintable() else code_point(c) for c in others[:4])
        kinds.append(f"the {'characters' if len(others) > 1 else 'character'} {shown}")
    return " and ".join(kinds) or "letters that are not lower case"


@rule(
    "name-hyphens",
    "name",
    why="A hyphen joins two words of a name: not first, not last, not twice.",
    levels=errors(Target.SPEC, Target.PACKAGE),
    source=(SPEC, PACKAGE),
    bad=_named(GOOD, "pdf--tools"),
    good=_named(GOOD),
)
def name_hyphens(skill: Skill) -> Iterator[Problem]:
    """A hyphen at an end, or two in a row."""
    name = skill.front.string("name")
    if name and (name.startswith("-") or name.endswith("-") or "--" in name):
        where = "two hyphens in a row" if "--" in name else "a hyphen at an end"
        yield Problem(f"name has {where}", skill.front.fields["name"].span)


@rule(
    "name-folder",
    "name",
    why="The specification wants the name to be the folder's name. Claude Code calls the skill by "
    "its folder and lists it as folder (name); the packager names the archive's folder after it.",
    levels=errors(Target.SPEC) | warnings(Target.PACKAGE) | notes(Target.CLAUDE_CODE),
    source=(SPEC, PACKAGE, CLAUDE_CODE),
    bad=_named(GOOD, "pdf-kit"),
    good=_named(GOOD),
)
def name_folder(skill: Skill) -> Iterator[Problem]:
    """Name and folder differ after Unicode normalisation (NFKC)."""
    name = skill.front.string("name")
    if not name:
        return
    folder = skill.folder_name
    if unicodedata.normalize("NFKC", name) != unicodedata.normalize("NFKC", folder):
        entry = skill.front.fields["name"]
        fix = None
        if _ASCII_NAME.match(folder) and isinstance(entry.value, Scalar):
            quote = entry.value.style if entry.value.style in "'\"" else ""
            edit = Edit(entry.span, f"{quote}{folder}{quote}")
            fix = Fix(f"rename the skill to {folder}", (edit,))
        yield Problem(
            f"name is {shorten(name)}, folder is {shorten(folder)}: the specification wants both "
            "the same, Claude Code does not mind and calls the skill by its folder",
            entry.span,
            fix=fix if entry.value.end > entry.value.start else None,
        )


@rule(
    "name-reserved",
    "name",
    why="The Claude platform reserves its own names.",
    levels=errors(Target.API),
    source=API,
    bad=_named(GOOD, "claude-pdf"),
    good=_named(GOOD),
)
def name_reserved(skill: Skill) -> Iterator[Problem]:
    """The name holds "anthropic" or "claude"."""
    name = (skill.front.string("name") or "").lower()
    for word in RESERVED_WORDS:
        if word in name:
            yield Problem(
                f"name holds the reserved word {word}: the upload refuses it",
                skill.front.fields["name"].span,
            )


@rule(
    "name-lookalike",
    "safety",
    why="A name that looks like another one, written with letters of another alphabet, passes "
    "itself off as a skill that people trust.",
    levels=warnings(),
    source=UNICODE,
    bad=_named(GOOD, "pdf-t\u043e\u043els"),
    good=_named(GOOD),
)
def name_lookalike(skill: Skill) -> Iterator[Problem]:
    """Letters of several alphabets in one name, or a name made of look-alikes."""
    name = skill.front.string("name") or ""
    if not name or name.isascii() or len(name) > 200:
        return
    from confusable_homoglyphs import confusables  # a megabyte of tables: only where needed

    found = confusables.is_confusable(name, greedy=True, preferred_aliases=["latin"])
    letters = [hit["character"] for hit in found or [] if not hit["character"].isascii()]
    latin = [
        glyph["c"]
        for hit in found or []
        for glyph in hit["homoglyphs"]
        if glyph["c"].isascii() and glyph["c"].isalnum()
    ]
    if letters and latin:
        yield Problem(
            f"name has a look-alike letter: {code_point(letters[0])}, which looks like {latin[0]} "
            f"({plural(len(letters), 'such letter')})",
            skill.front.fields["name"].span,
        )
