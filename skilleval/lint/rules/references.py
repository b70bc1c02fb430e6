"""Files beside SKILL.md: whether a model finds its way to them and through them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from skilleval.lint.contract import PRACTICE, SKILLEVAL
from skilleval.lint.links import Link, links
from skilleval.lint.model import Problem, notes, warnings
from skilleval.lint.registry import rule
from skilleval.lint.rules.files import GOOD
from skilleval.lint.wording import listing, plural
from skilleval.skill import Document, Skill, Span

_CONTENTS = re.compile(
    r"(?im)^(?:#+|\*\*)\s*(?:\d+\.?\s*)?(?:table of contents|contents|toc|index|in this (?:file|"
    r"document|guide|reference)|quick (?:navigation|links|index)|navigation|sections|outline)\b"
    r"|^\s*\[toc\]"
)
_ANCHOR_LINK = re.compile(r"\]\(#")
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

    for document, link in links(skill, deeper):
        yield Problem(
            f"reference deeper than one level: {link.path} is linked from {document.name} only; "
            "link to it from SKILL.md",
            link.span,
            document,
        )


def _mentions(text: str, name: str) -> bool:
    """Whether a text names a file, by its path, its name, or its folder as a whole."""
    if name in text or posixpath.basename(name) in text:
        return True
    folder = posixpath.dirname(name)
    while folder:
        if _names_folder(text, folder + "/"):
            return True
        folder = posixpath.dirname(folder)
    return False


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
        lines = document.data.count(b"\n") + 1
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
    r"marketplace\.json|settings\.json)\Z|(?:evals?|tests?|eval-viewer|\.[^/]+)/|(?:.*/)?__pycache__/|evals?\.(?:json|ya?ml)\Z|"
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
