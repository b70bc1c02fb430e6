"""Words that rules look for, found in one pass over a text.

Most rules about running text have nothing to say of most files. Each names the words without
which it can't find anything; all of them are looked for together (Aho-Corasick), and a rule
goes on only where one of its words stands. No word may be part of another one: of two that
overlap in a text, only the first is found.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from skilleval.skill import Document, Skill, Span

if TYPE_CHECKING:
    from ahocorasick_rs import BytesAhoCorasick

__all__ = ["Marks"]

_words: list[str] = []
_matcher: BytesAhoCorasick | None = None


class Marks:
    """The words of one rule, declared where the rule's module is loaded."""

    def __init__(self, *words: str) -> None:
        self.words = words
        _words.extend(word for word in words if word not in _words)

    def documents(self, skill: Skill) -> list[Document]:
        """The text files of a skill in which any of the words stands."""
        marked: dict[str, list[Document]] | None = skill.memo.get("marked")
        if marked is None:
            marked = skill.memo["marked"] = {}
            for document in skill.documents:
                for word in _occurrences(document):
                    marked.setdefault(word, []).append(document)
        found = {d.name: d for word in self.words for d in marked.get(word, ())}
        return list(found.values())

    def of(self, document: Document) -> list[int]:
        """Where any of the words stands, in order."""
        found = _occurrences(document)
        return sorted(at for word in self.words for at in found.get(word, ()))

    def lines(self, document: Document) -> Iterator[Span]:
        """The lines that hold any of the words, each once."""
        end = -1
        for at in self.of(document):
            if at >= end:
                line = document.line_at(at)
                end = line.end
                yield line


def _occurrences(document: Document) -> dict[str, list[int]]:
    global _matcher
    found: dict[str, list[int]] | None = document.memo.get("marks")
    if found is None:
        if _matcher is None:
            from ahocorasick_rs import BytesAhoCorasick, Implementation

            words = [word.encode() for word in _words]
            _matcher = BytesAhoCorasick(words, implementation=Implementation.DFA)
        found = document.memo["marks"] = {}
        at = before = 0  # the same place, in characters and in bytes
        ascii_only = not document.beyond_ascii
        for index, start, _ in _matcher.find_matches_as_indexes(document.data):
            if ascii_only:
                at = start
            else:
                at += len(document.data[before:start].decode("utf-8", "replace"))
                before = start
            found.setdefault(_words[index], []).append(at)
    return found
