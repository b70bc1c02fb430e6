"""Trigger sets: ``[{query, should_trigger}]``, and the reports on them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from skilleval.evals.records import Record, Suite
from skilleval.evals.registry import Shape, Written, reader, writer
from skilleval.evals.results import TriggerReport
from skilleval.evals.shared import finish, losses, named, read_identifier
from skilleval.evals.typed import add_extra, as_plain, fill, leftover
from skilleval.evals.values import Fields, Reading, Value

__all__ = ["read", "read_report", "write", "write_report"]

_MORE = frozenset(
    "skills expected_behavior expectations assertions expected_output expected_skill question "
    "checks assert kind must_not".split()
)
_REPORT = frozenset(("trigger_rate", "triggers"))


def _score(shape: Shape) -> int:
    keys = shape.inside()
    if "should_trigger" not in keys or not {"query", "prompt"} & keys:
        return 0
    return 0 if keys & _MORE else 5


@reader(
    "trigger",
    4,
    "trigger sets: `[{query, should_trigger}]`",
    words="query prompt should_trigger",
    score=_score,
)
def read(root: Value, reading: Reading) -> Suite:
    """Read a trigger set."""
    return finish(reading, "trigger", [(_case(item), item) for item in root.items()])


def _case(value: Value) -> Record:
    fields = Fields(value)
    return Record(
        query=fields.need("query", "prompt").text(),
        should_trigger=fields.need("should_trigger").flag(),
        id=read_identifier(fields, "id"),
        note=fields.text("reason", "note", "notes"),
        tags=fields.texts("tags"),
        extra=fields.rest(),
    )


@writer("trigger", Suite)
def write(suite: Suite) -> Written:
    """Write a trigger set: the cases that say whether the skill is to be loaded."""
    silent = [n for n, record in enumerate(suite.records, 1) if record.should_trigger is None]
    lost = [f"{named(silent)} altogether: no `should_trigger`"] if silent else []
    lost += losses(
        [record for record in suite.records if record.should_trigger is not None],
        "id note tags should_trigger",
    )
    if suite.skill is not None:
        lost.append("the name of the skill")
    if suite.description:
        lost.append("`description` of the suite")
    lost += [f"`{name}` of the suite" for name in suite.extra]
    return Written([_write_case(r) for r in suite.records if r.should_trigger is not None], lost)


def _write_case(record: Record) -> dict[str, Any]:
    plain: dict[str, Any] = {} if record.id is None else {"id": record.id}
    plain |= {"query": record.query, "should_trigger": record.should_trigger}
    if record.note:
        plain["reason"] = record.note
    if record.tags:
        plain["tags"] = list(record.tags)
    return add_extra(plain, record.extra)


@reader(
    "trigger-report",
    4,
    "what became of a trigger set: `{skill_name, results, summary}`",
    words="results trigger_rate triggers summary",
    score=lambda s: 7 if s.is_collection("results") and s.inside("results") & _REPORT else 0,
)
def read_report(root: Value, reading: Reading) -> TriggerReport:
    """Read a trigger report."""
    fields = Fields(root)
    report = leftover(fill(TriggerReport, fields), fields)
    return replace(report, path=reading.path, remarks=tuple(reading.remarks))


@writer("trigger-report", TriggerReport)
def write_report(report: TriggerReport) -> Written:
    """Write a trigger report."""
    plain = as_plain(report, "results")
    for result in plain["results"]:
        if "pass_" in result:
            result["pass"] = result.pop("pass_")
    return Written(add_extra(plain, report.extra), [])
