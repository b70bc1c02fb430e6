"""Files beside SKILL.md and the links between them."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote

from skilleval.lint.contract import PRACTICE, SKILLEVAL, SPEC
from skilleval.lint.model import Problem, Target, errors, notes, warnings
from skilleval.lint.registry import rule
from skilleval.lint.rules.files import GOOD
from skilleval.lint.wording import listing, plural, shorten
from skilleval.skill import Document, Markdown, Skill, Span
from skilleval.skill.discovery import is_inside

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|/|\\")
_RELATIVE = re.compile(r"\](?:\(|:[ \t])[ \t]*<?(?![A-Za-z][A-Za-z0-9+.-]*:|//|/|\))")
_NOT_PROSE = ("evals/", "tests/")
_TEMPLATE = re.compile(r"[${}<>*]|\.\.\.|…|%7[Bb]|\[|\]")
_CONTENTS = re.compile(
    r"(?im)^(?:#+|\*\*)\s*(?:\d+\.?\s*)?(?:table of contents|contents|toc|index|in this (?:file|"
    r"document|guide|reference)|quick (?:navigation|links|index)|navigation|sections|outline)\b"
    r"|^\s*\[toc\]"
)
_ANCHOR_LINK = re.compile(r"\]\(#")
_LONG_REFERENCE = 100
_CONTENTS_WITHIN = 4_000


class _Link(NamedTuple):
    """A relative link: what it names, inside or outside the skill folder."""

    span: Span
    path: str
    """From the skill folder; empty for a link inside the same file."""
    fragment: str
    written: str


def _links(skill: Skill, document: Document, markdown: Markdown) -> Iterator[_Link]:
    """The relative links of a document, without templates and addresses."""
    folder = posixpath.dirname(document.name)
    for link in markdown.links:
        target = link.target.strip()
        if not target or _SCHEME.match(target) or _TEMPLATE.search(target):
            continue
        path, _, fragment = target.partition("#")
        path = unquote(path.partition("?")[0])
        if "\0" in path:
            continue
        if path:
            path = posixpath.normpath(posixpath.join(folder, path))
        yield _Link(link.span, path, unquote(fragment), target)


def _documents_with_links(skill: Skill) -> Iterator[Document]:
    """SKILL.md and the Markdown files beside it, where there are relative links in them."""
    for document in (skill.document, *skill.texts):
        if not document.name.lower().endswith(".md") or document.name.startswith(_NOT_PROSE):
            continue
        if _RELATIVE.search(document.text):
            yield document


def _exists(skill: Skill, path: str) -> bool:
    if path in skill.names or path == ".":
        return True
    full = os.path.normpath(os.path.join(skill.folder, path))
    inside = is_inside(os.path.realpath(full), skill.found.root)
    return inside and os.path.lexists(full)


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
    for document in _documents_with_links(skill):
        markdown = skill.markdown_of(document)
        for link in _links(skill, document, markdown):
            if link.path and not _exists(skill, link.path):
                if link.path.startswith("../"):
                    continue  # a matter of link-outside
                yield Problem(
                    f"broken link: {shorten(link.written)} does not exist{_near(skill, link.path)}",
                    link.span,
                    document,
                )
            elif link.fragment:
                yield from _broken_fragment(skill, document, markdown, link)


def _near(skill: Skill, path: str) -> str:
    """A file that the author may have meant."""
    base = posixpath.basename(path).lower()
    for name in sorted(skill.names):
        if posixpath.basename(name).lower() == base:
            return f"; did you mean {name}?"
    return ""


def _broken_fragment(
    skill: Skill, document: Document, markdown: Markdown, link: _Link
) -> Iterator[Problem]:
    if link.path and link.path != document.name:
        if not link.path.lower().endswith(".md"):
            return
        other = skill.document if link.path == skill.found.file else skill.file(link.path)
        if other is None:
            return
        markdown = skill.markdown_of(other)
    if link.fragment.lower() not in markdown.anchors and not re.match(r"L\d+", link.fragment):
        yield Problem(
            f"broken link: there is no heading #{shorten(link.fragment)} in "
            f"{link.path or 'this file'}",
            link.span,
            document,
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
    for document in _documents_with_links(skill):
        for link in _links(skill, document, skill.markdown_of(document)):
            if link.path == ".." or link.path.startswith("../"):
                missing = "" if _exists(skill, link.path) else ", and there is no such file"
                yield Problem(
                    f"{shorten(link.written)} lies outside the skill folder{missing}: it is lost "
                    "when the skill is packed or installed",
                    link.span,
                    document,
                )


@rule(
    "reference-depth",
    "references",
    why="Models often read only the head of a file that another reference links to; SKILL.md "
    "itself should link to every reference.",
    levels=warnings(),
    source=PRACTICE,
    bad={
        "pdf-tools/SKILL.md": GOOD + "\nSee [forms](references/forms.md).\n",
        "pdf-tools/references/forms.md": "# Forms\n\nSee [fields](fields.md).\n",
        "pdf-tools/references/fields.md": "# Fields\n",
    },
    good={
        "pdf-tools/SKILL.md": GOOD + "\nSee [a](references/a.md) and [b](references/b.md).\n",
        "pdf-tools/references/a.md": "# A\n\nSee [b](b.md).\n",
        "pdf-tools/references/b.md": "# B\n",
    },
)
def reference_depth(skill: Skill) -> Iterator[Problem]:
    """A reference that only another reference leads to."""
    text = skill.body
    for document in _documents_with_links(skill):
        if document is skill.document or not _mentions(text, document.name):
            continue
        for link in _links(skill, document, skill.markdown_of(document)):
            deeper = link.path.lower().endswith(".md") and link.path in skill.names
            if deeper and link.path not in (document.name, skill.found.file):
                if not _mentions(text, link.path):
                    yield Problem(
                        f"reference deeper than one level: {link.path} is linked from "
                        f"{document.name} only; link to it from SKILL.md",
                        link.span,
                        document,
                    )


def _mentions(text: str, name: str) -> bool:
    """Whether a text names a file, by its path, its name, or its folder as a whole."""
    if name in text or posixpath.basename(name) in text:
        return True
    folder = posixpath.dirname(name)
    while folder:
        if re.search(rf"{re.escape(folder)}/(?![\w.-])", text) or f"{folder}/*" in text:
            return True
        folder = posixpath.dirname(folder)
    return False


@rule(
    "reference-contents",
    "references",
    why="A model may preview a long file by its head; a contents list there tells what the rest "
    "holds.",
    levels=warnings(),
    source=PRACTICE,
    bad={
        "pdf-tools/SKILL.md": GOOD + "\nSee [forms](references/forms.md).\n",
        "pdf-tools/references/forms.md": "# Forms\n" + "\nText.\n" * 80,
    },
    good={
        "pdf-tools/SKILL.md": GOOD + "\nSee [forms](references/forms.md).\n",
        "pdf-tools/references/forms.md": "# Forms\n\n## Contents\n\n- Fields\n" + "\nText.\n" * 80,
    },
)
def reference_contents(skill: Skill) -> Iterator[Problem]:
    """A reference over 100 lines without a contents list at its head."""
    for document in skill.texts:
        name = document.name
        if not name.lower().endswith(".md") or name.split("/")[0] in ("evals", "tests", "assets"):
            continue
        lines = document.text.count("\n") + 1
        if lines <= _LONG_REFERENCE or not _mentions(skill.body, name):
            continue
        head = document.text[:_CONTENTS_WITHIN]
        if not _CONTENTS.search(head) and len(_ANCHOR_LINK.findall(head)) < 3:
            yield Problem(
                f"{plural(lines, 'line')} without a contents list: put one at the top",
                Span(0, 0),
                document,
            )


_HOUSEKEEPING = re.compile(
    r"(?i)(?:.*/)?(?:license|licence|notice|copying|readme|changelog|contributing|authors|security)"
    r"(?:[.\-_].*)?\Z|(?:.*/)?(?:__init__\.py|\.[^/]+|py\.typed|requirements.*\.txt|package.*\.json|"
    r"pyproject\.toml|tsconfig.*\.json|setup\.(?:py|cfg)|uv\.lock|yarn\.lock|plugin\.json|"
    r"marketplace\.json|settings\.json)\Z|(?:evals?|tests?|eval-viewer|\.[^/]+)/|evals?\.(?:json|ya?ml)\Z|"
    r"trigger[_-]evals?\.json\Z|(?:.*/)?(?:test_[^/]+|[^/]+_test)\.\w+\Z"
)


@rule(
    "unmentioned-file",
    "references",
    why="A model reads only what something points it to: a file that nothing mentions is dead "
    "weight, or a pointer is missing.",
    levels=warnings(),
    source=PRACTICE,
    bad={
        "pdf-tools/SKILL.md": GOOD,
        "pdf-tools/references/forms.md": "# Forms\n",
    },
    good={
        "pdf-tools/SKILL.md": GOOD + "\nSee [forms](references/forms.md).\n",
        "pdf-tools/references/forms.md": "# Forms\n",
    },
)
def unmentioned_file(skill: Skill) -> Iterator[Problem]:
    """Bundled files that neither SKILL.md nor another file of the skill mentions."""
    body = skill.body
    if not body.strip():
        return
    candidates = [
        entry.name
        for entry in skill.entries
        if entry.kind == "file"
        and not _HOUSEKEEPING.match(entry.name)
        and not _mentions(body, entry.name)
    ]
    if candidates:
        candidates = _unmentioned_by_others(skill, candidates)
    if candidates:
        yield Problem(
            f"{plural(len(candidates), 'bundled file')} that nothing mentions: "
            f"{listing(candidates, 4)}; link to what is needed, remove the rest"
        )


def _unmentioned_by_others(skill: Skill, names: list[str]) -> list[str]:
    left = names
    for document in skill.texts:
        if not left:
            break
        text = document.text
        left = [
            name
            for name in left
            if name == document.name
            or (posixpath.basename(name) not in text and not _imports(text, document.name, name))
        ]
    return left


def _imports(text: str, importer: str, name: str) -> bool:
    """Whether a script imports a module by its name without the ending."""
    stem, ending = posixpath.splitext(posixpath.basename(name))
    if ending not in (".py", ".js", ".ts", ".mjs", ".sh", ".cs") or len(stem) < 3:
        return False
    return bool(re.search(rf"(?:import|from|require|source|using)\b.*\b{re.escape(stem)}\b", text))


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


@rule(
    "too-many-files",
    "references",
    why="A skill is a handful of files; what lies beyond the bound was not looked at.",
    levels=notes(),
    source=SKILLEVAL,
    bad={},
    good=GOOD,
)
def too_many_files(skill: Skill) -> Iterator[Problem]:
    """More files than are looked at."""
    if skill.found.beyond:
        yield Problem(f"{plural(skill.found.beyond, 'file')} of this folder were not looked at")
