"""grading.json and benchmark.json: written as they were read."""

from __future__ import annotations

from typing import Any

import pytest
from evals.kit import extras, read, texts
from hypothesis import given, settings
from hypothesis import strategies as st

from skilleval.errors import InputError
from skilleval.evals import Benchmark, Grading, convert, dump
from skilleval.evals.reading import read_suite

GRADING: dict[str, Any] = {
    "expectations": [
        {"text": "The output includes a name", "passed": True, "evidence": "Found in step 3"},
        {"text": "There is a sum", "passed": False, "evidence": "No sheet"},
    ],
    "summary": {"passed": 1, "failed": 1, "total": 2, "pass_rate": 0.5},
    "execution_metrics": {"tool_calls": {"Read": 5}, "total_tool_calls": 5},
    "timing": {"executor_duration_seconds": 165.0},
    "claims": [{"claim": "12 fields", "type": "factual", "verified": True, "evidence": "Counted"}],
    "user_notes_summary": {"uncertainties": [], "needs_review": [], "workarounds": ["text"]},
    "eval_feedback": {"suggestions": [{"assertion": "a", "reason": "r"}], "overall": "o"},
}
BENCHMARK: dict[str, Any] = {
    "metadata": {
        "skill_name": "pdf", "skill_path": "/p", "executor_model": "m", "analyzer_model": "n",
        "timestamp": "2026-01-15T10:30:00Z", "evals_run": [1, "two"], "runs_per_configuration": 3,
    },
    "runs": [{
        "eval_id": 1, "eval_name": "Ocean", "configuration": "with_skill", "run_number": 1,
        "result": {"pass_rate": 0.85, "passed": 6, "failed": 1, "total": 7, "time_seconds": 42.5,
                   "tokens": 3800, "tool_calls": 18, "errors": 0},
        "expectations": [{"text": "t", "passed": True, "evidence": "e"}],
        "notes": ["n"],
    }],
    "run_summary": {
        "with_skill": {"pass_rate": {"mean": 0.85, "stddev": 0.05, "min": 0.8, "max": 0.9}},
        "without_skill": {"pass_rate": {"mean": 0.35}},
        "delta": {"pass_rate": "+0.50", "time_seconds": "+13.0", "tokens": 1700, "odd": "n/a"},
    },
    "notes": ["Eval 3 is flaky"],
}  # fmt: skip


def test_grading() -> None:
    grading = read(dump(GRADING))
    assert isinstance(grading, Grading)
    assert [graded.passed for graded in grading.expectations] == [True, False]
    assert grading.claims and grading.claims[0].verified is True
    assert convert(grading, "grading").data == GRADING


def test_grading_in_the_other_dialect() -> None:
    data = {"assertion_results": GRADING["expectations"], "summary": GRADING["summary"]}
    grading = read(dump(data))
    assert grading.dialect == "agentskills"
    assert grading.expectations == read(dump(GRADING)).expectations
    assert convert(grading, "grading").data == data


def test_benchmark() -> None:
    benchmark = read(dump(BENCHMARK))
    assert isinstance(benchmark, Benchmark)
    assert benchmark.runs[0].result and benchmark.runs[0].result.tokens == 3800
    names = ("pass_rate", "time_seconds", "tokens", "odd", "none")
    assert [benchmark.delta(n) for n in names] == [0.5, 13.0, 1700.0, None, None]
    assert convert(benchmark, "benchmark").data == BENCHMARK
    assert Benchmark().delta("pass_rate") is None


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"expectations": [{"text": "a", "passed": "yes"}]},
         r"expectations\[0\]\.passed: must be true or false, but is a text"),
        ({"expectations": "a", "summary": {}}, "of no known format"),
        ({"expectations": ["a"], "summary": {}}, r"expectations\[0\]: must be a mapping"),
        ({"expectations": [], "summary": {"total": 1.5}}, r"summary\.total: must be a whole"),
        ({"runs": [{"result": {"passed": "1"}}], "metadata": {}},
         r"runs\[0\]\.result\.passed: must be a number, but is a text"),
        ({"runs": [{"notes": "x"}], "metadata": {}}, r"runs\[0\]\.notes: must be a list"),
        ({"runs": [], "metadata": {"evals_run": [None]}}, r"evals_run\[0\]: must be a text or"),
        ({"runs": [], "run_summary": []}, "run_summary: must be a mapping of fields"),
        ({"expectations": [], "summary": {}, "claims": [{"type": "x"}]},
         r"claims\[0\]: there is no field `claim`"),
    ],
)  # fmt: skip
def test_near_misses(data: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(dump(data))


def test_an_unknown_field_is_a_remark_that_names_it() -> None:
    config = {**BENCHMARK["runs"][0], "config": "with_skill"}
    found = read(dump({**BENCHMARK, "runs": [config]}))
    (remark,) = found.remarks
    assert remark.kind == "unknown-field"
    assert remark.message.startswith("runs[0].config: an unknown field")


def test_results_are_no_cases(tmp_path: Any) -> None:
    path = tmp_path / "grading.json"
    path.write_bytes(dump(GRADING))
    with pytest.raises(InputError, match=r"holds results \(Grading\), not cases"):
        read_suite(str(path))


GRADED = st.fixed_dictionaries(
    {},
    optional={"text": texts(), "passed": st.none() | st.booleans(), "evidence": texts(),
              "x_odd": texts()},
)  # fmt: skip
COUNT = st.none() | st.integers(0, 99)


@settings(deadline=None)
@given(
    st.fixed_dictionaries(
        {"expectations": st.lists(GRADED, max_size=3),
         "summary": st.fixed_dictionaries({}, optional={"passed": COUNT, "total": COUNT,
                                                        "pass_rate": st.floats(0, 1)})},
        optional={"timing": st.none() | st.dictionaries(texts(), st.floats(0, 9)),
                  "claims": st.lists(st.fixed_dictionaries({"claim": texts()}), max_size=2)},
    ),
    extras(),
)  # fmt: skip
def test_grading_round_trip(data: dict[str, Any], extra: dict[str, Any]) -> None:
    whole = {**data, **extra}
    first = read(dump(whole))
    written = convert(first, "grading").data
    assert written == whole
    assert read(dump(written)) == first


@settings(deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "eval_id": st.integers(0, 9) | texts(),
                "configuration": texts(),
                "run_number": COUNT,
                "result": st.fixed_dictionaries({}, optional={"tokens": st.floats(0, 9)}),
                "expectations": st.lists(GRADED, max_size=2),
                "notes": st.lists(texts(), max_size=2),
            },
        ),
        max_size=3,
    ),
    st.dictionaries(texts(), st.dictionaries(texts(), texts() | st.floats(0, 1))),
    extras(),
)
def test_benchmark_round_trip(runs: Any, summary: Any, extra: dict[str, Any]) -> None:
    whole = {"runs": runs, "run_summary": summary, **extra}
    first = read(dump(whole))
    written = convert(first, "benchmark").data
    assert written == whole
    assert read(dump(written)) == first
