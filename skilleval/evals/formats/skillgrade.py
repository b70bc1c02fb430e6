"""skillgrade's ``eval.yaml``: ``tasks: [{name, instruction, workspace, graders}]``."""

from __future__ import annotations

from typing import Any

from skilleval.evals.beside import text_beside
from skilleval.evals.checks import Check, CommandExits
from skilleval.evals.records import Behaviour, InputFile, Limits, Record, Suite
from skilleval.evals.registry import Shape, reader
from skilleval.evals.shared import finish, read_files, usable
from skilleval.evals.values import Fields, Reading, Value

__all__ = ["read"]

FULL_SCORE = r'"score"\s*:\s*1(?:\.0*)?\s*[,}]'
"""What a script says that is content: it prints its score as JSON, whatever it exits with."""


def _score(shape: Shape) -> int:
    if not shape.is_collection("tasks"):
        return 0
    inside = shape.inside("tasks")
    return 6 if "instruction" in inside else 5 if "defaults" in shape.keys else 0


@reader(
    "skillgrade",
    8,
    "skillgrade's `eval.yaml`: tasks with instructions",
    words="tasks instruction defaults workspace graders",
    score=_score,
)
def read(root: Value, reading: Reading) -> Suite:
    """Read an eval.yaml of tasks with instructions."""
    fields = Fields(root)
    name = fields.take("skill")
    skill = name.text() if name else None
    defaults = fields.left.get("defaults")
    seconds = None
    if defaults is not None and defaults.kind != "null":
        seconds = Fields(defaults).number("timeout")
    cases = [(_task(item, seconds), item) for item in fields.items("tasks")]
    extra = fields.rest("version", "defaults")
    return finish(reading, "skillgrade", cases, skill=skill, extra=extra)


def _task(value: Value, seconds: float | None) -> Record:
    fields = Fields(value)
    instruction = fields.need("instruction")
    text = text_beside(instruction)
    extra: dict[str, Any] = {} if text is None else {"instruction": instruction.text()}
    checks: list[Check] = []
    behaviours: list[Behaviour] = []
    kept: list[Any] = []
    for item in fields.items("graders"):
        found = _grader(item)
        if isinstance(found, Check):
            checks.append(found)
        elif isinstance(found, Behaviour):
            behaviours.append(found)
        else:
            kept.append(item.plain())
    if kept:
        extra["graders"] = kept
    own = fields.number("timeout")
    expected = fields.left.get("expected")
    return Record(
        query=instruction.text() if text is None else text,
        files=_workspace(fields.take("workspace")),
        expected_behavior=tuple(behaviours),
        title=fields.text("name"),
        checks=tuple(checks),
        expected_output=fields.text("expected") if expected and expected.kind == "text" else "",
        limits=Limits(seconds=seconds if own is None else own),
        extra={**extra, **fields.rest("expected", "metadata", "trials", "agent", "model")},
    )


def _workspace(value: Value | None) -> tuple[InputFile, ...]:
    return read_files(value)


def _grader(value: Value) -> Check | Behaviour | None:
    fields = Fields(value)
    sort = fields.need("type").text()
    number = fields.number("weight")
    weight = 1 if number is None else number
    name = fields.text("name")
    if sort == "deterministic" and fields.has("run"):
        command = fields.need("run").text()
        return usable(
            CommandExits(command=command, pattern=FULL_SCORE, id=name, weight=weight,
                         text="its script gives the full score", extra=fields.rest("setup")),
            value,
        )  # fmt: skip
    if sort == "llm_rubric" and fields.has("rubric"):
        rubric = fields.need("rubric")
        text = text_beside(rubric)
        extra: dict[str, Any] = {} if text is None else {"rubric": rubric.text()}
        extra |= fields.rest("setup", "model")
        return Behaviour(rubric.text() if text is None else text, name, weight, extra=extra)
    value.reading.remark(
        "unmeasurable", f"{value.path}: graders of the type {sort} are kept, not run", value.start
    )
    return None
