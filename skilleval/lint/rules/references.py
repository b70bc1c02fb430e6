"""Files beside SKILL.md: whether a model finds its way to them and through them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import islice

from skilleval.lint.contract import PRACTICE, SKILLEVAL
from skilleval.lint.links import Link, links
from skilleval.lint.model import Problem, notes, warnings
from skilleval.lint.registry import rule
from skilleval.lint.rules.files import GOOD
from skilleval.lint.wording import listing, plural
from skilleval.skill import Document, Skill, Span

_CONTENTS = re.compile(
    r"\n(?:(?:#+|\*\*)[ \t]*(?:\d+\.?[ \t]*)?(?:table of contents|contents|toc|index|"
    r"in this (?:file|document|guide|reference)|quick (?:navigation|links|index)|"
    r"navigation|sections|outline)\b"
    r"|[ \t]*\[toc\])"
)
_ANCHOR_LINK = re.compile(r"\]\(#")
_HANDED_OVER = re.compile(
    r"(?i)(?:.*/)?(?:evals|tests|assets|agents|prompts|templates)/|.*[-_](?:prompt|template)\.md\Z"
)
"""Files that are given away whole, such as prompts and templates, or that no skill reads."""
_HEADING_OR_FENCE = re.compile(r"\n(?:(```|~~~)|#{1,3} +([^\r\n]*))")
_LIST_OR_CELL = re.compile(r"\n[ ]*(?:[-*+]|\d+[.)]|\|)[ ]+([^\r\n|]*)")
_LEAST_HEADINGS = 4
_LONG_REFERENCE = 100
_CONTENTS_WITHIN = 4_000


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
    body = skill.body

    def deeper(document: Document, link: Link) -> bool:
        return (
            document is not skill.document
            and link.path.lower().endswith(".md")
            and link.path in skill.names
            and link.path not in (document.name, skill.found.file)
            and not _mentions(body, link.path)
            and _mentions(body, document.name)
        )

    by_document: dict[str, tuple[Document, Link, list[str]]] = {}
    for document, link in links(skill, deeper):
        names = by_document.setdefault(document.name, (document, link, []))[2]
        if link.path not in names:
            names.append(link.path)
    for document, first, names in by_document.values():
        what = "their folder" if len(names) > 1 else "it"
        yield Problem(
            f"reference deeper than one level: SKILL.md names {document.name} only, and that "
            f"leads on to {listing(names, 3)}; name {what} in SKILL.md, too",
            first.span,
            document,
        )


def _mentions(text: str, name: str) -> bool:
    """Whether a text names a file, by its path, its name, or its folder as a whole."""
    if name in text or posixpath.basename(name) in text:
        return True
    if name.endswith(".py") and name[:-3].replace("/", ".") in text:
        return True  # from package.module import …
    folder = posixpath.dirname(name)
    while folder:
        if _names_folder(text, folder + "/"):
            return True
        folder = posixpath.dirname(folder)
    return "/" in name and any(_matches(name, pattern) for pattern in _globs(text))


_NOT_IN_GLOB = re.compile(r"[^\w./{}*-]+")


@lru_cache(maxsize=4)
def _globs(text: str) -> list[str]:
    """What looks like a pattern for paths (asked for again and again of the same text)."""
    words = [word for word in text.split() if "/" in word and ("*" in word or "{" in word)]
    parts = [part for word in words[:_MOST_GLOBS] for part in _NOT_IN_GLOB.split(word[:300])]
    return [part for part in parts if "/" in part and ("*" in part or "{" in part)]


_MOST_GLOBS = 200


def _matches(name: str, pattern: str) -> bool:
    """Whether a pattern such as ``guides/*-intro.md`` or ``{lang}/README.md`` names a file."""
    wanted = re.sub(r"\{[^}]*\}", "*", pattern).removeprefix("./").split("/")
    parts = name.split("/")
    if len(wanted) != len(parts) or not wanted[-1].strip("*"):
        return False
    return all(fnmatchcase(part, want) for part, want in zip(parts, wanted, strict=True))


def _names_folder(text: str, folder: str) -> bool:
    """Whether ``folder/`` stands in a text with no file name behind it (``folder/*`` counts)."""
    at = text.find(folder)
    while at >= 0:
        behind = text[at + len(folder) : at + len(folder) + 1]
        if not (behind.isalnum() or behind in "_.-") or not behind:
            return True
        at = text.find(folder, at + 1)
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
        "pdf-tools/references/forms.md": "# Forms\n" + "\n## Part\nText.\n" * 80,
    },
    good={
        "pdf-tools/SKILL.md": GOOD + "\nSee [forms](references/forms.md).\n",
        "pdf-tools/references/forms.md": "# Forms\n\n## Contents\n\n- Part\n"
        + "\n## Part\nText.\n" * 80,
    },
)
def reference_contents(skill: Skill) -> Iterator[Problem]:
    """A reference over 100 lines without a contents list at its head."""
    for document in skill.texts:
        name = document.name
        if not name.lower().endswith(".md") or _HANDED_OVER.match(name):
            continue
        lines = document.data.count(b"\n") + 1
        if lines <= _LONG_REFERENCE or not _mentions(skill.body, name):
            continue
        if posixpath.basename(name).lower() == "readme.md" and name not in skill.body:
            continue
        if not _has_contents(document.text):
            yield Problem(
                f"{plural(lines, 'line')} without a contents list: put one at the top",
                Span(0, 0),
                document,
            )


def _has_contents(text: str) -> bool:
    """Whether a file's head says what the rest holds, or there is too little to say."""
    head = "\n" + text[:_CONTENTS_WITHIN]
    if _CONTENTS.search(head.lower()) or len(_ANCHOR_LINK.findall(head)) >= 3:
        return True
    if len(list(islice(_headings(text), _LEAST_HEADINGS))) < _LEAST_HEADINGS:
        return True
    listed = {match[1].strip(" *`[]") for match in _LIST_OR_CELL.finditer(head)}
    return len(listed) >= 5 and len(listed.intersection(_headings(text))) >= 5


def _headings(text: str) -> Iterator[str]:
    """Headings of the first three levels, outside fences."""
    fence = None
    for match in _HEADING_OR_FENCE.finditer(text):
        if match[1]:
            fence = match[1] if fence is None else None if fence == match[1] else fence
        elif fence is None:
            yield match[2].strip()


_HOUSEKEEPING = re.compile(
    r"(?i)(?:.*/)?(?:license|licence|notice|copying|readme|changelog|contributing|authors|security|"
    r"how_to_use|install(?:ation)?|usage|claude|agents|gemini|codeowners|version)"
    r"(?:[.\-_].*)?\Z|(?:.*/)?(?:__init__\.py|\.[^/]+|py\.typed|requirements.*\.txt|package.*\.json|"
    r"pyproject\.toml|tsconfig.*\.json|setup\.(?:py|cfg)|uv\.lock|yarn\.lock|plugin\.json|"
    r"marketplace\.json|settings\.json)\Z|agents/openai\.ya?ml\Z|(?:evals?|tests?|eval-viewer|\.[^/]+)/|(?:.*/)?__pycache__/|evals?\.(?:json|ya?ml)\Z|"
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
    if not body or body.isspace():
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
    if stem not in text:
        return False
    return bool(re.search(rf"(?:import|from|require|source|using)\b.*\b{re.escape(stem)}\b", text))


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
