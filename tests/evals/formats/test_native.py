"""The native format: everything that a record can hold, written and read again."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest
from evals.kit import extras, read, records, suite, texts
from hypothesis import given, settings
from hypothesis import strategies as st

from skilleval.errors import InputError
from skilleval.evals import Behaviour, InputFile, Limits, Record, Suite, convert, dump
from skilleval.evals.formats.native import record_as_plain

CASE: dict[str, Any] = {
    "skills": ["csv-tidy"],
    "query": "Tidy up orders.csv.",
    "files": ["evals/files/orders.csv", {"content": "a\n", "path": "in/a.csv"}],
    "expected_behavior": ["Runs the script", {"text": "Says so", "id": "b", "weight": 2}],
    "id": "tidy-1",
    "title": "Tidy",
    "turns": ["And now the other file."],
    "setup": ["git init -q"],
    "checks": [{"kind": "file_exists", "path": "a.csv"}],
    "must_not": ["Overwrites the input"],
    "expected_output": "A clean file.",
    "should_trigger": True,
    "expected_skill": "csv-tidy",
    "acceptable_skills": ["csv-clean"],
    "distractors": ["json-diff"],
    "arms": ["none", "offered"],
    "limits": {"turns": 9, "seconds": 60.5, "dollars": 0.1, "network": False},
    "weight": 2,
    "tags": ["fast"],
    "note": "from an issue",
    "extra": {"severity": "high"},
}


def test_all_fields() -> None:
    (record,) = suite([CASE]).records
    assert record.messages == ("Tidy up orders.csv.", "And now the other file.")
    assert record.files[0] == InputFile("evals/files/orders.csv")
    assert [file.target for file in record.files] == ["orders.csv", "in/a.csv"]
    assert record.expected_behavior[1] == Behaviour("Says so", "b", 2)
    assert record.limits == Limits(9, 60.5, 0.1, False)
    assert record.may_load == {"csv-tidy", "csv-clean"}
    assert record.origin and (record.origin.format, record.origin.index) == ("native", 0)
    assert set(CASE) == {field.name for field in fields(Record)} - {"origin"}
    assert record_as_plain(record) == CASE
    assert list(record_as_plain(record))[:4] == list(CASE)[:4]


def test_one_record_and_a_mapping_of_records() -> None:
    one = suite(CASE)
    whole = suite({"skill": "a", "description": "d", "records": [CASE], "extra": {"x": 1}})
    assert one.records == whole.records
    assert (whole.skill, whole.description, whole.extra) == ("a", "d", {"x": 1})
    assert convert(whole, "native").data["extra"] == {"x": 1}


def test_behaviours_have_ids_and_forbidden_ones_are_negated() -> None:
    expected = ["a", {"text": "b", "id": "b1"}]
    case = {"skills": [], "query": "q", "must_not": ["c"], "expected_behavior": expected}
    (record,) = suite([case]).records
    assert [(b.id, b.text, b.negate) for b in record.behaviours] == [
        ("b2", "a", False), ("b1", "b", False), ("b3", "c", True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "gradeable"),
    [
        ({}, False),
        ({"skills": []}, True),
        ({"should_trigger": False}, True),
        ({"checks": [{"kind": "no_denial"}]}, True),
        ({"must_not": ["x"]}, True),
        ({"expected_output": "x"}, False),
    ],
)
def test_gradeable(change: dict[str, Any], gradeable: bool) -> None:
    found = suite([{"skills": ["a"], "query": "q", **change}])
    assert found.records[0].gradeable is gradeable
    assert ("ungradeable" in {r.kind for r in found.remarks}) is not gradeable


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"query": None}, r"evals\.json:\d+:\d+: \[0\]\.query: must not be null"),
        ({"skills": "a"}, r"\[0\]\.skills: must be a list, but is a text"),
        ({"arms": ["offerd"]}, r"\[0\]\.arms\[0\]: there is no arm 'offerd'"),
        ({"files": ["../secret"]}, r"files\[0\]: '../secret' leads out of the folder"),
        ({"files": ["a/../../b"]}, "leads out"),
        ({"files": ["/etc/passwd"]}, "is not relative"),
        ({"files": ["C:\\x"]}, "is not relative"),
        ({"files": ["..\\x"]}, "leads out"),
        ({"files": [{"path": "a"}]}, "no field `source` or `content`"),
        ({"files": [{"content": "a"}]}, "needs a `path`"),
        ({"files": [3]}, "must be a path, or a mapping"),
        ({"limits": {"turns": -1}}, r"limits\.turns: must be a whole number from 0 on"),
        ({"limits": {"dollars": -1}}, "`dollars` must not be negative"),
        ({"limits": {"network": "no"}}, "must be true or false, but is a text"),
        ({"should_trigger": "yes"}, "must be true or false, but is a text"),
        ({"expected_behavior": [{"txt": "a"}]}, "no field `text` here, but `txt`"),
        ({"id": True}, "must be a text or a whole number"),
        ({"extra": []}, "must be a mapping of fields, but is a list"),
    ],
)
def test_near_misses(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        suite([{"skills": ["a"], "query": "q", **change}])


def test_places_of_many_lines() -> None:
    text = json.dumps([CASE, {**CASE, "id": 2, "tags": "x"}], indent=1)
    line = 1 + next(n for n, row in enumerate(text.split("\n")) if '"tags": "x"' in row)
    with pytest.raises(InputError, match=rf"^evals\.json:{line}:11: \[1\]\.tags: must be a list"):
        read(text)


def test_remarks() -> None:
    found = suite([{**CASE, "shoud_trigger": 1}, {**CASE, "should_trigger": False}])
    assert [(r.kind, r.message.split(":")[0]) for r in found.remarks] == [
        ("unknown-field", "[0].shoud_trigger"), ("duplicate-id", "[1]"), ("contradiction", "[1]"),
    ]  # fmt: skip
    assert found.records[0].extra == {"severity": "high", "shoud_trigger": 1}


@settings(max_examples=60, deadline=None)
@given(st.lists(records(), max_size=3), st.none() | texts(), texts(), extras())
def test_round_trip(
    cases: list[Record], skill: str | None, description: str, extra: dict[str, Any]
) -> None:
    before = Suite(tuple(cases), skill=skill, description=description, extra=extra)
    written = convert(before, "native")
    assert written.lost == []
    after = read(dump(written.data))
    assert after == before
    assert not {remark.kind for remark in after.remarks} & {"unknown-field", "duplicate-key"}
