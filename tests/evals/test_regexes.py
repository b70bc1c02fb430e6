"""Patterns from files that mean harm."""

from __future__ import annotations

import asyncio
import time

import pytest

from skilleval.evals import regexes


def search(pattern: str, *texts: str, ignore_case: bool = False) -> list[bool]:
    return asyncio.run(regexes.search(pattern, texts, ignore_case=ignore_case))


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("b", "abc", True),
        ("^b", "a\nb", True),
        ("a$", "a\nb", True),
        (r"\d{3}-\d+", "tel 555-1", True),
        ("(?=.*x)y+", "yx", True),
        ("(?!x)y", "y", True),
        ("Caf(é|e)", "Café", True),
        ("a|b", "c", False),
        (r"(a)\1", "aa", True),
    ],
)
def test_search(pattern: str, text: str, found: bool) -> None:
    assert search(pattern, text) == [found]


def test_many_texts_and_no_case() -> None:
    assert search("ab+", "xABB", "a", "ab", ignore_case=True) == [True, False, True]
    assert search("ä", "Ä", ignore_case=True) == [True]
    assert search("a+") == []


@pytest.mark.parametrize(
    "pattern",
    ["(", "[", "a{3,1}", "(?P<n", "*a", "(" * 3000, "x" * 5000, r"(?<n>a)", "(?x", "a(?i)b"],
)
def test_broken_patterns_are_told(pattern: str) -> None:
    assert regexes.problem(pattern)
    with pytest.raises(regexes.Unsearchable, match="can't be used"):
        search(pattern, "a")


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*$", "(.*)*x(.*)*y", "(?:a?){200}a{200}b"])
def test_patterns_that_never_end_are_ended(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regexes, "SECONDS", 0.4)
    started = time.monotonic()
    with pytest.raises(regexes.Unsearchable, match="took"):
        search(pattern, "a" * 40_000 + "!")
    assert time.monotonic() - started < 5


def test_too_much_text() -> None:
    with pytest.raises(regexes.Unsearchable, match="more than"):
        search("a", "a" * (regexes.MAX_TEXT + 1))


def test_a_pattern_that_python_means_to_change_is_no_warning() -> None:
    assert search("[[a]", "a") == [True]
