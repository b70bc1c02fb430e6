"""SKILL.md as a file: whether it is there, can be read, and is UTF-8 text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from skilleval.lint.contract import API, CLAUDE_CODE, PACKAGE, SKILLEVAL, SPEC
from skilleval.lint.model import Edit, Fix, Problem, Target, errors, notes, warnings
from skilleval.lint.registry import rule
from skilleval.lint.wording import listing, plural
from skilleval.skill import Skill, Span, TroubleKind
from skilleval.skill.document import BOM

GOOD = """---
name: pdf-tools
description: Extracts text and tables from PDF files. Use when the user asks about a PDF.
---

# PDF tools

Run `pdftotext` on the file.
"""

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")
_NOT_CONTROL = bytes(b for b in range(256) if b in b"\t\n\r" or (b >= 32 and b != 127))
_MANY_EDITS = 1_000
_LONE_CR = re.compile(r"\r(?!\n)")


@rule(
    "skill-file-unreadable",
    "file",
    why="A SKILL.md that can't be opened as a file is no skill for anybody.",
    levels=errors(),
    source=SPEC,
    bad={"pdf-tools/SKILL.md/notes.txt": "SKILL.md is a folder here"},
    good=GOOD,
)
def skill_file_unreadable(skill: Skill) -> Iterator[Problem]:
    """SKILL.md is a folder, a device, a dangling link, too large, or may not be read."""
    trouble = skill.trouble
    if trouble is None:
        return
    if trouble.kind is TroubleKind.DANGLING:
        yield Problem(
            f"dangling link: {skill.found.file} {trouble.message}; put the file itself here"
        )
    elif trouble.kind is TroubleKind.OUTSIDE:
        yield Problem(
            f"{skill.found.file} {trouble.message}; it was not read, put the file itself here"
        )
    else:
        yield Problem(f"{skill.found.file} {trouble.message}; it must be a readable text file")


@rule(
    "skill-file-name",
    "file",
    why="Readers look for SKILL.md in exactly this case; elsewhere than on case-insensitive "
    "file systems any other spelling is not found.",
    levels=errors(),
    source=(SPEC, CLAUDE_CODE),
    bad={"pdf-tools/skill.md": GOOD},
    good=GOOD,
)
def skill_file_name(skill: Skill) -> Iterator[Problem]:
    """The file is called skill.md, Skill.md or the like."""
    if skill.found.file != "SKILL.md":
        message = f"rename {skill.found.file} to SKILL.md: readers look for that name only"
        fix = Fix(f"rename {skill.found.file} to SKILL.md", safe=False, rename="SKILL.md")
        yield Problem(message, fix=fix)


@rule(
    "skill-file-linked",
    "file",
    why="Archives, uploads and Windows checkouts do not keep symbolic links.",
    levels=notes(),
    source=SKILLEVAL,
    bad={"pdf-tools/SKILL.md": "-> ../shared/SKILL.md", "shared/SKILL.md": GOOD},
    good=GOOD,
)
def skill_file_linked(skill: Skill) -> Iterator[Problem]:
    """SKILL.md is a symbolic link."""
    if skill.found.linked and skill.trouble is None:
        yield Problem(
            f"{skill.found.file} is a symbolic link: archives, uploads and Windows checkouts "
            "may lose it"
        )


@rule(
    "pointer-file",
    "file",
    why="A checkout without symbolic links leaves text files that hold only a path; every "
    "reader takes that path for the skill's instructions.",
    levels=errors(),
    source=SKILLEVAL,
    bad="../../shared/pdf-tools/SKILL.md",
    good=GOOD,
)
def pointer_file(skill: Skill) -> Iterator[Problem]:
    """SKILL.md holds nothing but the path of another file."""
    if skill.is_pointer:
        target = skill.document.text.strip()
        yield Problem(
            f"pointer file: it holds only the path {target}, as a symbolic link does that was "
            "checked out as text; put the skill itself here, or check out with core.symlinks=true"
        )


@rule(
    "not-utf8",
    "file",
    why="SKILL.md is UTF-8 on every system; other bytes reach the model as garbage or not at all.",
    levels=errors(),
    source=(SPEC, CLAUDE_CODE),
    bad={"pdf-tools/SKILL.md": "---\nname: pdf-tools\ndescription: \udcfcber PDF\n---\n\nBody\n"},
    good=GOOD,
)
def not_utf8(skill: Skill) -> Iterator[Problem]:
    """Bytes that are not UTF-8."""
    document = skill.document
    if document.bad_byte is None:
        return
    start = len(document.data[: document.bad_byte].decode("utf-8"))
    value = document.data[document.bad_byte]
    guess = " (it looks like UTF-16)" if document.data[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
    yield Problem(
        f"not UTF-8{guess}: byte 0x{value:02X} at offset {document.bad_byte:,}; save the file "
        "as UTF-8",
        Span(start, start + 1),
    )


@rule(
    "byte-order-mark",
    "file",
    why="Some readers take a byte order mark for text in front of the frontmatter and then find "
    "no metadata.",
    levels=warnings(),
    source=SKILLEVAL,
    bad=BOM + GOOD,
    good=GOOD,
)
def byte_order_mark(skill: Skill) -> Iterator[Problem]:
    """The file starts with U+FEFF."""
    if skill.document.text.startswith(BOM) and skill.document.bad_byte is None:
        span = Span(0, 1)
        fix = Fix("remove the byte order mark", (Edit(span, ""),), safe=True)
        yield Problem("the file starts with a byte order mark; save it without", span, fix=fix)


@rule(
    "control-character",
    "file",
    why="NUL and other control characters are no text: editors hide them and YAML refuses them.",
    levels=warnings(),
    source="YAML 1.2.2, printable characters; " + SKILLEVAL,
    bad=GOOD.replace("Run", "Run\x07"),
    good=GOOD,
)
def control_character(skill: Skill) -> Iterator[Problem]:
    """Control characters: an error in the frontmatter, a warning in the body."""
    document = skill.document
    if document.bad_byte is not None:
        return
    problem = skill.front.problem
    if problem and problem.kind == "control" and not _CONTROL.match(document.text, problem.offset):
        yield Problem(
            f"{problem.message} in the frontmatter: YAML refuses it; remove it",
            Span(problem.offset, problem.offset + 1),
            levels=errors(),
        )
    if not document.data.translate(None, _NOT_CONTROL) and not _CONTROL.search(
        document.beyond_ascii
    ):
        return
    seen: dict[str, list[int]] = {}
    for match in _CONTROL.finditer(document.text):
        seen.setdefault(match[0], []).append(match.start())
    for character, offsets in seen.items():
        inside = offsets[0] < skill.front.body and skill.front.block.start <= offsets[0]
        name = "NUL byte" if character == "\0" else f"control character U+{ord(character):04X}"
        times = f" ({plural(len(offsets), 'time')})" if len(offsets) > 1 else ""
        where = " in the frontmatter: YAML refuses it" if inside else " in the text"
        yield Problem(
            f"{name}{where}{times}; remove it",
            Span(offsets[0], offsets[0] + 1),
            levels=errors() if inside else None,
        )


@rule(
    "line-ending",
    "file",
    why="A lone carriage return ends a line for some readers and not for others: with these the "
    "whole file is one line and the frontmatter is not found.",
    levels=errors(Target.SPEC, Target.PACKAGE, Target.API) | warnings(Target.CLAUDE_CODE),
    source=(PACKAGE, SKILLEVAL),
    bad=GOOD.replace("\n", "\r"),
    good=GOOD,
)
def line_ending(skill: Skill) -> Iterator[Problem]:
    """Carriage returns without a line feed."""
    text = skill.document.text
    if "\r" not in text or skill.document.bad_byte is not None:
        return
    lone = [match.start() for match in _LONE_CR.finditer(text)]
    if lone:
        edits = tuple(Edit(Span(at, at + 1), "\n") for at in lone)
        if len(lone) > _MANY_EDITS:
            edits = (Edit(Span(0, len(text)), _LONE_CR.sub("\n", text)),)
        fix = Fix("end lines with a line feed", edits)
        in_front = lone[0] < skill.front.body
        yield Problem(
            f"line ending: {plural(len(lone), 'carriage return')} without a line feed; save the "
            "file with LF or CRLF line endings",
            Span(lone[0], lone[0] + 1),
            levels=None if in_front else warnings(),
            fix=fix,
        )


@rule(
    "empty-file",
    "file",
    why="An empty SKILL.md tells a model nothing.",
    levels=errors(),
    source=(SPEC, API, PACKAGE),
    bad="",
    good=GOOD,
)
def empty_file(skill: Skill) -> Iterator[Problem]:
    """Nothing but white space."""
    if skill.trouble is None and not skill.document.text.strip("\ufeff \t\r\n"):
        yield Problem(f"{skill.found.file} is empty; write frontmatter and instructions")


@rule(
    "nested-skill",
    "file",
    why="A skill inside a skill is a skill of its own: readers that search deep list it "
    "separately, archives and uploads allow one SKILL.md only.",
    levels=notes(),
    source=(API, SKILLEVAL),
    bad={"pdf-tools/SKILL.md": GOOD, "pdf-tools/forms/SKILL.md": GOOD.replace("-tools", "-forms")},
    good=GOOD,
)
def nested_skill(skill: Skill) -> Iterator[Problem]:
    """Another SKILL.md below this one."""
    if skill.found.nested:
        names = listing([f"{name}/SKILL.md" for name in skill.found.nested], 3)
        yield Problem(
            f"nested skill: {names}; it counts as a skill of its own, not as part of this"
        )
