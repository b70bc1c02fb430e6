"""Paths with stars."""

from __future__ import annotations

import fnmatch
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skilleval.evals.globs import matches, text_matches


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.csv", "a.csv", True),
        ("*.csv", "x/a.csv", False),
        ("**/*.csv", "a.csv", True),
        ("**/*.csv", "x/y/a.csv", True),
        ("x/**", "x/y/z", True),
        ("./a?.md", "ab.md", True),
        ("a?.md", "a.md", False),
        ("x/*/z", "x/y/y/z", False),
        ("**", "a/b", True),
    ],
)
def test_matches(pattern: str, path: str, fits: bool) -> None:
    assert matches(pattern, path) is fits


@given(st.text("ab*?", max_size=8), st.text("ab", max_size=8))
def test_as_the_standard_library(pattern: str, text: str) -> None:
    assert text_matches(pattern, text) is bool(re.match(fnmatch.translate(pattern), text))


def test_it_can_not_be_made_slow() -> None:
    started = time.process_time()
    assert not text_matches("*a" * 200 + "b", "a" * 2_000)
    assert not matches("**/a/" * 40 + "b", "a/" * 400)
    assert time.process_time() - started < 2
