"""Results that other tools write and read: grades, benchmarks, trigger reports.

They are kept as they are, field by field; what is absent stays absent, and what is unknown
stays in ``extra``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from skilleval.evals.typed import fill, leftover, register
from skilleval.evals.values import Fields, Remark, Value

__all__ = [
    "Benchmark",
    "BenchmarkMetadata",
    "BenchmarkRun",
    "Claim",
    "Graded",
    "Grading",
    "RunResult",
    "Summary",
    "TriggerReport",
    "TriggerResult",
]

_DELTA = re.compile(r"\s*([-+]?[0-9]{1,30}(?:\.[0-9]{1,30})?)\s*[a-z%]{0,10}\s*\Z", re.IGNORECASE)
Extra = Mapping[str, Any]


@dataclass(frozen=True)
class Graded:
    """What became of one expectation; ``passed`` is None where it could not be told."""

    text: str | None = None
    passed: bool | None = None
    evidence: str | None = None
    extra: Extra = field(default_factory=dict)


@dataclass(frozen=True)
class Summary:
    """How many expectations passed."""

    passed: int | None = None
    failed: int | None = None
    total: int | None = None
    pass_rate: float | None = None
    extra: Extra = field(default_factory=dict)


@dataclass(frozen=True)
class Claim:
    """Something that the answer says of itself, and whether it is so."""

    claim: str
    type: str | None = None
    verified: bool | None = None
    evidence: str | None = None
    extra: Extra = field(default_factory=dict)


@dataclass(frozen=True)
class Grading:
    """A grading.json: the grades of one trial.

    ``dialect`` is ``agentskills`` where the grades are called ``assertion_results``.
    """

    expectations: tuple[Graded, ...] = ()
    summary: Summary | None = None
    execution_metrics: Mapping[str, Any] | None = None
    timing: Mapping[str, Any] | None = None
    claims: tuple[Claim, ...] | None = None
    user_notes_summary: Mapping[str, Any] | None = None
    eval_feedback: Mapping[str, Any] | None = None
    extra: Extra = field(default_factory=dict)
    dialect: str = field(default="skill-creator", metadata={"file": False})
    path: str = field(default="", compare=False)
    remarks: tuple[Remark, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class BenchmarkMetadata:
    """What was measured, with what, and when."""

    skill_name: str | None = None
    skill_path: str | None = None
    executor_model: str | None = None
    analyzer_model: str | None = None
    timestamp: str | None = None
    evals_run: tuple[int | str, ...] | None = None
    runs_per_configuration: int | None = None
    extra: Extra = field(default_factory=dict)


@dataclass(frozen=True)
class RunResult:
    """The numbers of one run."""

    pass_rate: float | None = None
    passed: int | None = None
    failed: int | None = None
    total: int | None = None
    time_seconds: float | None = None
    tokens: float | None = None
    tool_calls: int | None = None
    errors: int | None = None
    extra: Extra = field(default_factory=dict)


@dataclass(frozen=True)
class BenchmarkRun:
    """One run of one case in one configuration."""

    eval_id: int | str | None = None
    eval_name: str | None = None
    configuration: str | None = None
    run_number: int | None = None
    result: RunResult | None = None
    expectations: tuple[Graded, ...] | None = None
    notes: tuple[str, ...] | None = None
    extra: Extra = field(default_factory=dict)


@dataclass(frozen=True)
class Benchmark:
    """A benchmark.json: the runs with and without a skill, and their summary.

    ``run_summary`` is kept as written: the differences are texts in one dialect and numbers
    in the other.
    """

    metadata: BenchmarkMetadata | None = None
    runs: tuple[BenchmarkRun, ...] = ()
    run_summary: Mapping[str, Any] | None = None
    notes: tuple[str, ...] | None = None
    extra: Extra = field(default_factory=dict)
    path: str = field(default="", compare=False)
    remarks: tuple[Remark, ...] = field(default=(), compare=False)

    def delta(self, name: str) -> float | None:
        """A difference as a number, whichever dialect it is written in; None where unknown."""
        deltas = (self.run_summary or {}).get("delta")
        value = deltas.get(name) if isinstance(deltas, dict) else None
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
        match = _DELTA.match(value) if isinstance(value, str) else None
        return float(match[1]) if match else None


@dataclass(frozen=True)
class TriggerResult:
    """How often a skill was loaded for one query."""

    query: str
    should_trigger: bool | None = None
    trigger_rate: float | None = None
    triggers: int | None = None
    runs: int | None = None
    pass_: bool | None = None
    extra: Extra = field(default_factory=dict)


@dataclass(frozen=True)
class TriggerReport:
    """What became of a trigger set."""

    skill_name: str | None = None
    description: str | None = None
    results: tuple[TriggerResult, ...] = ()
    summary: Summary | None = None
    extra: Extra = field(default_factory=dict)
    path: str = field(default="", compare=False)
    remarks: tuple[Remark, ...] = field(default=(), compare=False)


def read_graded(value: Value) -> Graded:
    """One grade."""
    fields = Fields(value)
    return leftover(fill(Graded, fields, {"text": ("text", "assertion", "expectation")}), fields)


def read_trigger_result(value: Value) -> TriggerResult:
    """One line of a trigger report."""
    fields = Fields(value)
    names = {"query": ("query", "prompt"), "pass_": ("pass", "passed")}
    return leftover(fill(TriggerResult, fields, names), fields)


def _nested(cls: type[Any]) -> Any:
    def read(value: Value) -> Any:
        fields = Fields(value)
        return leftover(fill(cls, fields), fields)

    return read


def _many(read: Any) -> Any:
    return lambda value: tuple(read(item) for item in value.items())


for _cls in (Summary, BenchmarkMetadata, RunResult):
    register(f"{_cls.__name__} | None", _nested(_cls))
for _suffix in ("", " | None"):
    register(f"tuple[Graded, ...]{_suffix}", _many(read_graded))
    register(f"tuple[Claim, ...]{_suffix}", _many(_nested(Claim)))
    register(f"tuple[BenchmarkRun, ...]{_suffix}", _many(_nested(BenchmarkRun)))
    register(f"tuple[TriggerResult, ...]{_suffix}", _many(read_trigger_result))
