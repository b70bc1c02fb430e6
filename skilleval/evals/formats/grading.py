"""grading.json: the grades of one trial, as skill-creator and agentskills.io write them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from skilleval.evals.registry import Shape, Written, reader, writer
from skilleval.evals.results import Grading
from skilleval.evals.typed import add_extra, as_plain, fill, leftover
from skilleval.evals.values import Fields, Reading, Value

__all__ = ["read", "write"]

_LISTS = ("expectations", "assertion_results")


def _score(shape: Shape) -> int:
    if {"prompt", "query", "question", "evals", "runs"} & shape.keys:
        return 0
    for name in _LISTS:
        if shape.is_collection(name):
            inside = shape.inside(name)
            return 7 if "passed" in inside or "summary" in shape.keys else 0
    return 0


@reader(
    "grading",
    5,
    "`grading.json`: the grades of one trial",
    words="expectations assertion_results summary passed evidence",
    score=_score,
)
def read(root: Value, reading: Reading) -> Grading:
    """Read a grading.json."""
    fields = Fields(root)
    other = fields.has("assertion_results") and not fields.has("expectations")
    grading = fill(Grading, fields, {"expectations": ("assertion_results",)} if other else None)
    return replace(
        leftover(grading, fields),
        dialect="agentskills" if other else "skill-creator",
        path=reading.path,
        remarks=tuple(reading.remarks),
    )


@writer("grading", Grading)
def write(grading: Grading) -> Written:
    """Write a grading.json in the dialect that it was read in."""
    plain: dict[str, Any] = as_plain(grading, "expectations")
    if grading.dialect == "agentskills":
        plain = {"assertion_results": plain.pop("expectations"), **plain}
    return Written(add_extra(plain, grading.extra), [])
