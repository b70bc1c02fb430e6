"""Settling findings by editing the files, every other byte untouched.

Edits are worked out in memory, round after round until nothing is left to fix, and only then
written; so looking at the difference first shows exactly what fixing would do, and fixing
twice changes nothing more.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from skilleval.errors import InputError
from skilleval.files import write_atomically
from skilleval.lint.engine import Options, minding, shown_path
from skilleval.lint.engine import problems as found_problems
from skilleval.lint.model import Edit, Fix, Problem
from skilleval.lint.suppress import read_suppressions
from skilleval.skill import Document, Found, Frontmatter, Skill, read_frontmatter

__all__ = ["SkillFixes", "fix_skill", "write_fixes"]

_ROUNDS = 10


@dataclass
class SkillFixes:
    """What fixing one skill comes to.

    Attributes:
        found: the skill as it was.
        old, new: the bytes of the files that change, by their path from the folder.
        rename: old and new name of the skill file where it gets another one.
        titles: what was done, a line for each fix.
    """

    found: Found
    old: dict[str, bytes] = field(default_factory=dict)
    new: dict[str, bytes] = field(default_factory=dict)
    rename: tuple[str, str] | None = None
    titles: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.titles)

    def diff(self) -> Iterator[str]:
        """The change as a unified diff, line by line."""
        folder = shown_path(self.found.folder)
        prefix = "" if folder == "." else f"{folder}/"
        renamed = {self.rename[1]: self.rename[0]} if self.rename else {}
        for name in sorted({*self.new, *renamed}):
            path, target = prefix + renamed.get(name, name), prefix + name
            if name in renamed:
                yield f"diff --git a/{path} b/{target}\nrename from {path}\nrename to {target}\n"
            if name not in self.new:
                continue
            old, new = _lines(self.old[name]), _lines(self.new[name])
            for line in difflib.unified_diff(old, new, f"a/{path}", f"b/{target}"):
                yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(data: bytes) -> list[str]:
    lines = data.decode("utf-8", "replace").split("\n")
    return [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def fix_skill(found: Found, options: Options, unsafe: bool = False) -> SkillFixes:
    """Work out the fixes of one skill, without writing anything.

    Args:
        found: the skill.
        options: which rules are on; comments that switch them off hold here, too.
        unsafe: also fixes that could change what a reader understands.
    """
    fixes = SkillFixes(found)
    overlay: dict[str, bytes] = {}
    for _ in range(_ROUNDS):
        skill = Skill(found, overlay)
        problems = list(_fixable(skill, options, unsafe))
        if not problems:
            break
        before = len(fixes.titles)
        for document, group in _by_document(skill, problems):
            chosen = _choose(document, group, skill.front)
            fixes.titles += [fix.title for fix in chosen]
            data = _edited(document, chosen).encode("utf-8")
            if data != document.data:
                fixes.old.setdefault(document.name, document.data)
                overlay[document.name] = fixes.new[document.name] = data
        for fix in group_renames(problems):
            if fixes.rename is None and not os.path.lexists(os.path.join(found.folder, fix)):
                fixes.rename = (found.file, fix)
                fixes.titles.append(f"rename {found.file} to {fix}")
                overlay[fix] = overlay.pop(found.file, skill.document.data)
                for files in (fixes.old, fixes.new):
                    if found.file in files:
                        files[fix] = files.pop(found.file)
                found = replace(found, file=fix)
        if len(fixes.titles) == before:
            break  # what is left would do harm
    return fixes


def group_renames(problems: Iterable[Problem]) -> list[str]:
    """The new names that fixes ask for."""
    return [p.fix.rename for p in problems if p.fix and p.fix.rename]


def _fixable(skill: Skill, options: Options, unsafe: bool) -> Iterator[Problem]:
    if skill.found.linked or skill.trouble:
        return  # never write through a link
    for rule, problem in found_problems(skill, options):
        if not problem.fix or not (problem.fix.safe or unsafe):
            continue
        document = problem.document or skill.document
        line = document.position(problem.span.start).line if problem.span else 1
        off = options.suppressions and read_suppressions(document).covers(rule.id, line)
        path = os.path.join(shown_path(skill.folder), document.name)
        wanted = minding(options, rule, path, problem.levels)
        if wanted and not off and document.bad_byte is None:
            yield problem


def _by_document(skill: Skill, problems: Iterable[Problem]) -> list[tuple[Document, list[Fix]]]:
    groups: dict[str, tuple[Document, list[Fix]]] = {}
    for problem in problems:
        document = problem.document or skill.document
        if problem.fix and problem.fix.edits:
            groups.setdefault(document.name, (document, []))[1].append(problem.fix)
    return list(groups.values())


def _choose(document: Document, fixes: list[Fix], front: Frontmatter) -> list[Fix]:
    """The fixes to apply together: none that overlap, and none that would break the frontmatter.

    What overlaps gets its turn in the next round.
    """
    chosen: list[Fix] = []
    for fix in fixes:
        taken = (edit for other in chosen for edit in other.edits)
        if not any(_overlap(edit, other) for other in taken for edit in fix.edits):
            chosen.append(fix)
    readable = document.name.lower() == "skill.md" and front.readable
    if not readable or read_frontmatter(_edited(document, chosen)).readable:
        return chosen
    harmless: list[Fix] = []
    for fix in chosen:
        if read_frontmatter(_edited(document, [*harmless, fix])).readable:
            harmless.append(fix)
    return harmless


def _edited(document: Document, fixes: Iterable[Fix]) -> str:
    """A document's text with fixes applied that do not overlap."""
    pieces, at = [], 0
    for edit in sorted(edit for fix in fixes for edit in fix.edits):
        pieces += [document.text[at : edit.span.start], edit.text]
        at = edit.span.end
    return "".join([*pieces, document.text[at:]])


def _overlap(one: Edit, other: Edit) -> bool:
    if one.span == other.span:
        return True
    return one.span.start < other.span.end and other.span.start < one.span.end


def write_fixes(fixes: SkillFixes) -> None:
    """Put fixed files in place.

    Raises:
        InputError: a file changed since it was read, or can't be written; files written
            before it stay.
    """
    folder = fixes.found.folder
    for name, data in fixes.new.items():
        source = fixes.rename[0] if fixes.rename and name == fixes.rename[1] else name
        path = os.path.join(folder, source)
        try:
            with open(path, "rb") as file:
                unchanged = file.read() == fixes.old[name]
            if unchanged:
                write_atomically(path, data)
        except OSError as error:
            raise InputError(f"can't write {shown_path(path)}: {error.strerror}") from None
        if not unchanged:
            raise InputError(f"{shown_path(path)} changed while it was being fixed; run it again")
    if fixes.rename:
        old, new = (os.path.join(folder, name) for name in fixes.rename)
        try:
            os.rename(old, new)
        except OSError as error:
            raise InputError(f"can't rename {shown_path(old)}: {error.strerror}") from None
