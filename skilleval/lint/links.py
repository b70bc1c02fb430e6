"""Relative links of a skill's Markdown files, and whether they lead anywhere.

Most files have links and nothing wrong with them. So a pattern first finds whatever may be a
link, and only a file in which one of those matters is parsed, which tells what really is one
(and not, for instance, an example in a code block).
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import NamedTuple
from urllib.parse import unquote

from skilleval.skill import Document, Skill, Span
from skilleval.skill.discovery import is_inside
from skilleval.skill.markdown import heading_anchor

__all__ = ["Link", "anchor_exists", "exists", "links"]

# Both begin with plain text, which is what makes searching for them fast.
_LIKE_LINK = re.compile(r"\]\([ \t]*<?([^\s)>]+)")
_LIKE_DEFINITION = re.compile(r"\]:[ \t]*<?([^\s>]+)")
_LIKE_HEADING = re.compile(r"\n#{1,6}[ \t]+([^\r\n]*)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|/|\\")
_TEMPLATE = re.compile(r"[${}<>*]|\.\.\.|…|%7[Bb]|\[|\]")
_NOT_PROSE = re.compile(
    r"(?:.*/)?(?:evals|tests|expected_outputs?|samples?|fixtures)/|(?:.*/)?sample[-_]"
)
"""Files whose links are part of an example, not of the skill."""
_MOST = 5_000
"""Links of one file that are looked at."""
_LONGEST = 500
_PLACEHOLDER = frozenset({"link", "url", "path", "file", "href", "target", "here"})


class Link(NamedTuple):
    """A relative link.

    ``path`` counts from the skill folder and is empty for a link inside the same file;
    ``written`` is the target as it stands there.
    """

    span: Span
    path: str
    fragment: str
    written: str
    from_root: str = ""
    """The same path counted from the skill folder, as the specification wants it written."""

    @property
    def leaves(self) -> bool:
        """Whether it leads out of the skill folder."""
        return self.path == ".." or self.path.startswith("../")


def links(
    skill: Skill, wanted: Callable[[Document, Link], bool]
) -> Iterator[tuple[Document, Link]]:
    """The links of SKILL.md and the Markdown files beside it that a rule wants."""
    for document, like in _perhaps(skill):
        if any(wanted(document, link) for link in like):
            for found in skill.markdown_of(document).links[:_MOST]:
                link = _link(document, found.target, found.span)
                if link and wanted(document, link):
                    yield document, link


def _perhaps(skill: Skill) -> list[tuple[Document, list[Link]]]:
    """The files with what looks like a relative link, in code or not (worked out once)."""
    found: list[tuple[Document, list[Link]]] | None = skill.memo.get("links")
    if found is None:
        prose = (
            document
            for document in (skill.document, *skill.texts)
            if document.name.lower().endswith(".md") and not _NOT_PROSE.match(document.name)
        )
        looked_at = ((document, _like_links(document)) for document in prose)
        found = skill.memo["links"] = [(document, like) for document, like in looked_at if like]
    return found


def _like_links(document: Document) -> list[Link]:
    matches = chain(*(p.finditer(document.text) for p in (_LIKE_LINK, _LIKE_DEFINITION)))
    like = (_link(document, m[1], Span(*m.span())) for m in islice(matches, _MOST))
    return [link for link in like if link]


def _link(document: Document, target: str, span: Span) -> Link | None:
    """What a link's target names; None for addresses, templates and nothing."""
    target = target.strip()
    if "\\" in target or len(target) > _LONGEST:
        return None  # a matter of backslash-path; no path at all
    if (
        not target
        or target.lower() in _PLACEHOLDER
        or _SCHEME.match(target)
        or _TEMPLATE.search(target)
    ):
        return None
    path, _, fragment = target.partition("#")
    path = unquote(path.partition("?")[0])
    if "\0" in path:
        return None
    if path:
        written = posixpath.normpath(path)
        path = posixpath.normpath(posixpath.join(posixpath.dirname(document.name), path))
        return Link(span, path, unquote(fragment), target, written)
    return Link(span, path, unquote(fragment), target)


def exists(skill: Skill, link: Link) -> bool:
    """Whether a link's file is there; outside the named root nothing is looked for."""
    path = link.path
    if path in skill.names or path == "." or link.from_root in skill.names:
        return True
    full = os.path.normpath(os.path.join(skill.folder, path))
    inside = is_inside(os.path.realpath(full), skill.found.root)
    return inside and os.path.lexists(full)


def anchor_exists(skill: Skill, document: Document, link: Link) -> bool:
    """Whether a link's fragment names something; true where that can't be told."""
    target: Document | None = document
    if link.path and link.path != document.name:
        if not link.path.lower().endswith(".md"):
            return True
        target = skill.document if link.path == skill.found.file else skill.file(link.path)
    if target is None or re.match(r"L\d+", link.fragment):
        return True
    fragment = link.fragment.lower().replace("\ufe0f", "")
    return fragment in _headings(target) or fragment in skill.markdown_of(target).anchors


def _headings(document: Document) -> set[str]:
    """Anchors of what looks like a heading: right nearly always, and cheap."""
    found: set[str] | None = document.memo.get("headings")
    if found is None:
        names = (heading_anchor(m[1]) for m in _LIKE_HEADING.finditer("\n" + document.text))
        found = document.memo["headings"] = set(names)
    return found
