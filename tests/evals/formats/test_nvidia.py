"""NVIDIA's evals.json in its three dialects."""

from __future__ import annotations

from typing import Any

import pytest
from evals.kit import suite

from skilleval.errors import InputError
from skilleval.evals import Behaviour
from skilleval.evals.checks import CommandExits, ReferenceRead, ToolUsed

CASE: dict[str, Any] = {
    "id": "x-1",
    "question": "How do I profile it?",
    "expected_skill": "profiler",
    "expected_script": "scripts/run.py",
    "ground_truth": "With the script.",
    "expected_behavior": ["Runs the script"],
    "acceptable_skills": ["tracer"],
    "expected_test": "t",
    "files": ["data/a.csv"],
}


def test_a_list_and_a_single_case() -> None:
    found, single = suite([CASE]), suite(CASE)
    assert found.format == single.format == "nvidia"
    assert found.records == single.records
    (record,) = found.records
    assert record.may_load == {"profiler", "tracer"}
    assert record.expected_output == "With the script."
    (check,) = record.checks
    assert isinstance(check, ToolUsed) and check.arguments == {"command": r"run\.py"}
    assert record.extra == {"expected_test": "t"}
    assert found.remarks == ()


def test_null_says_that_no_skill_may_be_loaded() -> None:
    (record,) = suite([{"question": "q", "expected_skill": None, "expected_script": None}]).records
    assert (record.should_trigger, record.expected_skill, record.skills) == (False, None, None)
    assert record.may_load == frozenset()
    assert record.gradeable


def test_cases_with_assertions() -> None:
    found = suite({
        "skill": "a",
        "cases": [{
            "prompt": "q",
            "must_not": ["Deletes anything"],
            "expected_references": ["references/x.md"],
            "deterministic_assertions": [
                {"cmd": "test -f x", "expect_exit": 0, "expect_substring": "ok"},
            ],
            "rubric": [{"dimension": "safety", "pass_if": "Asks first"}],
        }],
    })  # fmt: skip
    (record,) = found.records
    assert found.format == "nvidia" and record.skills == ("a",)
    assert record.checks == (
        ReferenceRead(path="references/x.md"),
        CommandExits(command="test -f x", contains="ok"),
    )
    assert record.expected_behavior == (Behaviour("Asks first", "safety"),)
    assert [b.negate for b in record.behaviours] == [False, True]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([{**CASE, "expected_skill": 1}], r"\[0\]\.expected_skill: must be a text"),
        ([{**CASE, "expected_behavior": "x"}], r"\[0\]\.expected_behavior: must be a list"),
        ([{"qestion": "q", "expected_skill": None}],
         "there is no field `question` or `prompt` or `query` here, but `qestion`"),
        ({"skill": "a", "cases": [{"prompt": "q", "rubric": [{"dimension": "d"}]}]},
         r"cases\[0\]\.rubric\[0\]: there is no field `pass_if`"),
    ],
)  # fmt: skip
def test_near_misses(data: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        suite(data)
