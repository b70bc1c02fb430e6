"""The folder of a benchmark in both dialects."""

from __future__ import annotations

import pytest
from conftest import Write

from skilleval.errors import InputError
from skilleval.evals import Benchmark, read_evaluations

GRADES = '{"expectations": [{"text": "t", "passed": true}], "summary": {"passed": 1, "total": 1}}'


def test_both_dialects(write: Write) -> None:
    write({
        "i/eval-2/with_skill/run-10/grading.json": GRADES,
        "i/eval-2/with_skill/run-9/grading.json": GRADES,
        "i/eval-2/without_skill/grading.json": GRADES.replace("expectations", "assertion_results"),
        "i/eval-10/with_skill/run-1/grading.json": GRADES,
        "i/eval-named/with_skill/run-1/grading.json": GRADES,
        "i/eval-2/with_skill/notes.md": "x", "i/other/grading.json": "x",
    })  # fmt: skip
    benchmark = read_evaluations("i")
    assert isinstance(benchmark, Benchmark)
    assert [(run.eval_id, run.configuration, run.run_number) for run in benchmark.runs] == [
        ("named", "with_skill", 1), (2, "with_skill", 9), (2, "with_skill", 10),
        (2, "without_skill", 1), (10, "with_skill", 1),
    ]  # fmt: skip
    assert all(run.result and run.result.passed == 1 for run in benchmark.runs)
    assert all(run.expectations and run.expectations[0].passed for run in benchmark.runs)


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "grading.json:1:2: no JSON"), ('[{"query": "q", "skills": []}]', "holds no grades")],
)
def test_a_file_without_grades(write: Write, text: str, message: str) -> None:
    write({"i/eval-1/with_skill/grading.json": text})
    with pytest.raises(InputError, match=message):
        read_evaluations("i")
