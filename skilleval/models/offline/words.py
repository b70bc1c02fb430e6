"""How well a query fits the descriptions of skills: Okapi BM25 over words, as a score below 1.

BM25 with k1 = 1.5 and b = 0.75, after Robertson and Zaragoza, "The Probabilistic Relevance
Framework: BM25 and Beyond" (2009), section 3.4, with the idf that cannot become negative::

    evidence(q, d) = sum over the words w of q that stand in d of
        idf(w) * f(w, d) * (k1 + 1) / (f(w, d) + k1 * (1 - b + b * |d| / average |d|))
    idf(w) = ln(1 + (N - n(w) + 0.5) / (n(w) + 0.5))

Evidence itself grows with the catalog and with the query, so no threshold would fit all. Two
things make it comparable:

- N is at least 300: a smaller catalog counts as if the rest of 300 descriptions stood
  beside it and held none of the words. A rare word weighs the same in a catalog of one and in
  one of 300.
- score = evidence / (evidence + 2 * R + 0.1 * missing), where R is the idf of a word that one
  description alone has, and ``missing`` the idf of the query's words that the description
  lacks. A score of 0.5 is about two rare words of a short query; a long query needs more.

The packages ``bm25s`` and ``rank-bm25`` were weighed against these few lines (2026-11): each
needs numpy, which takes 0.12 s to import, longer than it takes to score a catalog of 300 here;
neither has a score with a scale, and both leave it to their callers to split words.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

__all__ = ["Index", "index_of", "words_of"]

_K1 = 1.5
_B = 0.75
_CATALOG = 300
_MISSING = 0.1
_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_STOP = frozenset(
    """
    a about above after again all also am an and any are as ask asked asks at be because been
    before being below between both but by can could did do does doing down during each few
    file files for from further get give had has have having he her here hers him his how i if
    in into is it its itself just let like look make me more most my need no nor not now of off
    on once one only or other our out over own please same say see she should show skill skills
    so some such take tell than that the their them then there these they thing this those
    through to too two under until up us use used user users using very want was we were what
    when where whether which while who whom why will with without would write you your
    """.split()
)
"""Words that say nothing about what a query is about, those of descriptions included."""


def words_of(text: str) -> list[str]:
    """The words that count: lower case, without endings, camelCase and kebab-case taken apart.

    A file name gives its parts, so that ``report.pdf`` has the word ``pdf``.
    """
    found = []
    for run in _WORD.findall(text):
        for part in _CAMEL.split(run):
            word = part.lower()
            if len(word) > 1 and word not in _STOP:
                found.append(_stem(word))
    return found


def _stem(word: str) -> str:
    """A word without the endings of number and tense: "tidying", "tidied" to "tidy".

    No stemmer in full: it brings together what descriptions and queries say in different
    forms, and leaves short words alone.
    """
    if word.endswith(("ies", "ied")) and len(word) > 4:
        return word[:-3] + "y"
    for ending in ("ing", "ed", "es", "s", "e"):
        stem = word[: -len(ending)]
        if word.endswith(ending) and len(stem) >= 3 and not word.endswith("ss"):
            if ending in ("ing", "ed") and stem[-1] == stem[-2] and stem[-1] not in "lsz":
                return stem[:-1]  # trimming, trim
            return stem[:-1] if len(stem) > 3 and stem.endswith("e") else stem
    return word


class Index:
    """Texts, ready to be scored against queries."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._counts = [Counter(words_of(text)) for text in texts]
        self._lengths = [sum(counts.values()) for counts in self._counts]
        self._average = (sum(self._lengths) / len(texts) if texts else 0) or 1
        self._holders = Counter(word for counts in self._counts for word in counts)
        self._size = max(len(texts), _CATALOG)

    def _idf(self, holders: int) -> float:
        return math.log(1 + (self._size - holders + 0.5) / (holders + 0.5))

    def scores(self, query: str) -> list[float]:
        """How well each text fits a query: from 0 (no word in common) to below 1."""
        weights = {word: self._idf(self._holders[word]) for word in dict.fromkeys(words_of(query))}
        asked, rare = sum(weights.values()), self._idf(1)
        found = []
        for counts, length in zip(self._counts, self._lengths, strict=True):
            evidence = met = 0.0
            flat = _K1 * (1 - _B + _B * length / self._average)
            for word, weight in weights.items():
                times = counts.get(word, 0)
                if times:
                    met += weight
                    evidence += weight * times * (_K1 + 1) / (times + flat)
            found.append(evidence / (evidence + 2 * rare + _MISSING * (asked - met)))
        return found


@lru_cache(maxsize=16)
def index_of(texts: tuple[str, ...]) -> Index:
    """The index of some texts, kept for the next turn of the conversation."""
    return Index(texts)
