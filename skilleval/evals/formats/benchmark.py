"""benchmark.json: the runs of a suite with and without a skill."""

from __future__ import annotations

from dataclasses import replace

from skilleval.evals.registry import Shape, Written, reader, writer
from skilleval.evals.results import Benchmark
from skilleval.evals.typed import add_extra, as_plain, fill, leftover
from skilleval.evals.values import Fields, Reading, Value

__all__ = ["read", "write"]

_BESIDE = frozenset(("run_summary", "metadata"))


def _score(shape: Shape) -> int:
    return 7 if shape.is_collection("runs") and shape.keys & _BESIDE else 0


@reader(
    "benchmark",
    6,
    "`benchmark.json`: the runs of a suite with and without a skill",
    words="runs run_summary metadata",
    score=_score,
)
def read(root: Value, reading: Reading) -> Benchmark:
    """Read a benchmark.json."""
    fields = Fields(root)
    benchmark = leftover(fill(Benchmark, fields), fields)
    return replace(benchmark, path=reading.path, remarks=tuple(reading.remarks))


@writer("benchmark", Benchmark)
def write(benchmark: Benchmark) -> Written:
    """Write a benchmark.json."""
    return Written(add_extra(as_plain(benchmark, "runs"), benchmark.extra), [])
