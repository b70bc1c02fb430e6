"""Trigger sets and trigger reports."""

from __future__ import annotations

from typing import Any

import pytest
from evals.kit import extras, read, suite, texts, words
from hypothesis import given, settings
from hypothesis import strategies as st

from skilleval.errors import InputError
from skilleval.evals import TriggerReport, convert, dump

REPORT = {
    "skill_name": "a",
    "description": "d",
    "results": [
        {"query": "q", "should_trigger": True, "trigger_rate": 0.5, "triggers": 1, "runs": 2,
         "pass": True},
    ],
    "summary": {"total": 1, "passed": 1, "failed": 0},
}  # fmt: skip


def test_both_names_of_the_query() -> None:
    found = suite([
        {"query": "a", "should_trigger": True, "reason": "r"},
        {"prompt": "b", "should_trigger": False, "note": "n"},
    ])  # fmt: skip
    assert found.format == "trigger"
    assert [(r.query, r.should_trigger, r.note) for r in found.records] == [
        ("a", True, "r"), ("b", False, "n"),
    ]  # fmt: skip
    assert found.remarks == ()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([{"query": "a", "should_trigger": "yes"}], r"\[0\]\.should_trigger: must be true or fal"),
        ([{"query": "a", "should_trigger": True}, {"query": "b"}],
         r"\[1\]: there is no field `should_trigger`"),
        ([{"query": "a", "should_trigger": True}, {"query": "b", "shoud_trigger": True}],
         r"\[1\]\.shoud_trigger: there is no field `should_trigger` here, but `shoud_trigger`"),
        ([{"qurey": "a", "should_trigger": True}], "there is no field `query` here, but `qurey`"),
        ([{"query": ["a"], "should_trigger": True}], r"\[0\]\.query: must be a text, but is a li"),
    ],
)  # fmt: skip
def test_near_misses(data: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        suite(data)


def test_what_has_no_place_is_named() -> None:
    native = suite([
        {"skills": ["a"], "query": "q", "should_trigger": True, "files": ["f.csv"]},
        {"skills": ["a"], "query": "q", "expected_behavior": ["x"]},
    ])  # fmt: skip
    written = convert(native, "trigger")
    assert written.data == [{"query": "q", "should_trigger": True}]
    assert written.lost == [
        "case 2 altogether: no `should_trigger`",
        "`skills` of case 1",
        "`files` of case 1",
    ]


CASES = st.fixed_dictionaries(
    {"query": texts(), "should_trigger": st.booleans()},
    optional={"id": st.integers(0, 9) | words(), "reason": texts(), "note": texts(),
              "notes": texts(), "tags": st.lists(words(), max_size=2)},
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(st.tuples(CASES, extras()), min_size=1, max_size=4))
def test_round_trip(cases: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    first = suite([case | odd for case, odd in cases])
    assert first.format == "trigger"
    written = convert(first, "trigger")
    assert written.lost == []
    assert read(dump(written.data)) == first


def test_report() -> None:
    report = read(dump(REPORT))
    assert isinstance(report, TriggerReport)
    assert report.results[0].pass_ is True
    assert report.summary and report.summary.total == 1
    assert convert(report, "trigger").data == REPORT


RESULTS = st.fixed_dictionaries(
    {"query": texts(), "triggers": st.integers(0, 9)},
    optional={"should_trigger": st.none() | st.booleans(), "trigger_rate": st.floats(0, 1),
              "runs": st.integers(0, 9), "pass": st.none() | st.booleans(), "x_odd": texts()},
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(RESULTS, min_size=1, max_size=3), extras(), st.none() | texts())
def test_report_round_trip(results: list[Any], extra: dict[str, Any], name: str | None) -> None:
    data = {"skill_name": name, "results": results, **extra}
    report = read(dump(data))
    assert convert(report, "trigger").data == data
