"""Links that lead to nothing, or out of the skill's folder."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator

from skilleval.lint.contract import SKILLEVAL, SPEC
from skilleval.lint.links import anchor_exists, exists, links
from skilleval.lint.model import Problem, Target, errors, notes, warnings
from skilleval.lint.registry import rule
from skilleval.lint.rules.files import GOOD
from skilleval.lint.wording import shorten
from skilleval.skill import Skill, Span
from skilleval.skill.discovery import is_inside

_PACKED = (Target.SPEC, Target.API, Target.PACKAGE)


@rule(
    "broken-link",
    "references",
    why="A link that leads to nothing costs the model a failed read, and the reader what it "
    "promised.",
    levels=warnings(),
    source=(SPEC, SKILLEVAL),
    bad=GOOD + "\nSee [forms](references/forms.md).\n",
    good={
        "pdf-tools/SKILL.md": GOOD + "\nSee [forms](references/forms.md).\n",
        "pdf-tools/references/forms.md": "# Forms\n",
    },
)
def broken_link(skill: Skill) -> Iterator[Problem]:
    """A relative link to a file that does not exist, or to a heading that is not there."""
    for document, link in links(
        skill, lambda _, link: bool(link.path) and not link.leaves and not exists(skill, link)
    ):
        yield Problem(
            f"broken link: {shorten(link.written)} does not exist{_near(skill, link.path)}",
            link.span,
            document,
        )
    for document, link in links(
        skill,
        lambda document, link: bool(link.fragment) and not anchor_exists(skill, document, link),
    ):
        if not link.path or exists(skill, link):
            yield Problem(
                f"broken link: there is no heading #{shorten(link.fragment)} in "
                f"{link.path or 'this file'}",
                link.span,
                document,
            )


def _near(skill: Skill, path: str) -> str:
    """A file that the author may have meant."""
    base = posixpath.basename(path).lower()
    for name in sorted(skill.names):
        if posixpath.basename(name).lower() == base:
            return f"; did you mean {name}?"
    return ""


_PATH_IN_CODE = re.compile(r"`((?:\./)?(?:references?|scripts|assets)/[\w./-]+\.\w{1,5})`")
_MADE_BY_USE = re.compile(
    r"(?i)\b(?:examples?|e\.g\.|would|could|might|store|sav(?:e|ing)|creat\w*|writ(?:e|ing)|"
    r"generat\w*|output|your project|new file)\b"
)
"""Words on a line whose path is one that the skill's user will have, not one of its own."""


@rule(
    "missing-path",
    "references",
    why="Instructions that name a bundled file that is not there send the model looking for it.",
    levels=notes(),
    source=SKILLEVAL,
    bad=GOOD + "\nRead `references/forms.md` before you fill in a form.\n",
    good=GOOD + "\nThe result would be stored in `assets/table.csv`.\n",
)
def missing_path(skill: Skill) -> Iterator[Problem]:
    """A path under references/, scripts/ or assets/ in inline code that does not exist."""
    document = skill.document
    line, of_its_own = Span(0, 0), True
    seen: set[str] = set()
    for match in _PATH_IN_CODE.finditer(document.text, skill.front.body):
        path = posixpath.normpath(match[1])
        if path in skill.names or path in seen:
            continue
        if match.start() >= line.end:
            line = document.line_at(match.start())
            of_its_own = not _MADE_BY_USE.search(document.text, *line)
        if of_its_own and not skill.markdown.in_block(match.start()):
            seen.add(path)
            yield Problem(
                f"{path} is named here and does not exist{_near(skill, path)}", Span(*match.span())
            )


@rule(
    "link-outside",
    "references",
    why="What lies outside the skill's folder is not packed, uploaded or installed with it.",
    levels=warnings(),
    source=(SPEC, SKILLEVAL),
    bad={
        "pdf-tools/SKILL.md": GOOD + "\nSee [the other](../forms/guide.md).\n",
        "forms/guide.md": "# Guide\n",
    },
    good=GOOD,
)
def link_outside(skill: Skill) -> Iterator[Problem]:
    """A link from the skill to a file beside or above its folder."""
    for document, link in links(skill, lambda _, link: link.leaves):
        there = exists(skill, link)
        how = "it is lost when the skill is packed or installed" if there else "it does not exist"
        sibling = there and link.path.endswith("/SKILL.md")
        yield Problem(
            f"{shorten(link.written)} lies outside the skill folder: {how}"
            + ("; name that skill in place of linking to its file" if sibling else ""),
            link.span,
            document,
            # skills of one plugin are installed side by side
            levels=warnings(*_PACKED) | notes(Target.CLAUDE_CODE) if sibling else None,
        )


@rule(
    "file-link",
    "safety",
    why="A symbolic link that leaves the folder takes files of the packing or installing machine "
    "with it, or breaks there.",
    levels=errors(Target.PACKAGE) | warnings(Target.SPEC, Target.API, Target.CLAUDE_CODE),
    source=SKILLEVAL,
    bad={"pdf-tools/SKILL.md": GOOD, "pdf-tools/passwd": "-> /etc/passwd"},
    good=GOOD,
)
def file_link(skill: Skill) -> Iterator[Problem]:
    """Symbolic links that leave the folder or lead to nothing; devices and pipes."""
    for entry in skill.entries:
        if entry.kind == "file":
            continue
        path = os.path.join(skill.folder, entry.name)
        if entry.kind == "special":
            yield Problem(f"{entry.name} is a device, pipe or socket; remove it", file=entry.name)
            continue
        target = os.path.realpath(path)
        written = _readlink(path)
        if not is_inside(target, skill.found.real):
            yield Problem(
                f"link leaves the skill folder: {entry.name} -> {written}; copy the file here",
                file=entry.name,
            )
        elif not os.path.exists(path):
            yield Problem(
                f"link leads to nothing: {entry.name} -> {written}",
                file=entry.name,
                levels=warnings(),
            )


def _readlink(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return "?"
