"""Scores of queries against descriptions."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skilleval.models.offline.words import Index, index_of, words_of

CSV = "Cleans CSV files: removes duplicate rows and trims cells."
LOG = "Groups the errors in log files and counts them."


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("report.pdf", ["report", "pdf"]),
        ("trimCells of csv-tidy", ["trim", "cell", "csv", "tidy"]),
        ("tidying tidied tidies tidy", ["tidy"] * 4),
        ("compare comparing compared compares", ["compar"] * 4),
        ("trimming trims", ["trim", "trim"]),
        ("Please use the skill for my files", []),
        ("Schlüssel, 日本", ["schlüssel", "日本"]),
        ("", []),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert words_of(text) == words


def test_the_best_description_wins() -> None:
    csv, log = Index([CSV, LOG]).scores("Which errors does app.log hold?")
    assert log > 0.4
    assert csv == 0


def test_formula() -> None:
    """One word, once in the description of average length: idf times one, over the scale."""
    (score, _) = Index(["alpha beta", "gamma delta"]).scores("alpha")
    rare = math.log(1 + (300 - 1 + 0.5) / 1.5)
    assert score == pytest.approx(rare / (rare + 2 * rare))


def test_two_rare_words_of_a_short_query_score_a_half() -> None:
    (score, _) = Index(["alpha beta", "gamma delta"]).scores("alpha beta")
    assert score == pytest.approx(0.5)


@pytest.mark.parametrize("size", [1, 5, 100, 300])
def test_scores_do_not_depend_on_the_size_of_the_catalog(size: int) -> None:
    others = [f"unrelated{i} matter{i} number{i} subject{i} theme{i}" for i in range(size - 1)]
    score = Index([CSV, *others]).scores("Remove duplicate rows of orders.csv")[0]
    assert 0.55 < score < 0.75


def test_a_long_query_needs_more() -> None:
    index = Index([CSV])
    chatter = " ".join(f"chatter{i}" for i in range(100))
    assert index.scores(f"duplicate rows {chatter}")[0] < index.scores("duplicate rows")[0] / 2


def test_words_that_many_descriptions_share_weigh_little() -> None:
    index = Index([f"report about topic{i}" for i in range(200)])
    assert index.scores("report")[0] < 0.1 < index.scores("topic7")[7]


def test_nothing_to_compare() -> None:
    assert Index([]).scores("a query") == []
    assert Index(["", "text"]).scores("") == [0, 0]


def test_an_index_is_kept() -> None:
    assert index_of((CSV, LOG)) is index_of((CSV, LOG))


@given(st.lists(st.text(), max_size=5), st.text())
def test_scores_are_from_zero_to_one(texts: list[str], query: str) -> None:
    scores = Index(texts).scores(query)
    assert len(scores) == len(texts)
    assert all(0 <= score < 1 for score in scores)


def test_more_words_in_common_score_more() -> None:
    index = Index([CSV, LOG])
    found = [index.scores(query)[0] for query in ("csv", "csv rows", "csv duplicate rows")]
    assert all(a < b for a, b in pairwise(found))
