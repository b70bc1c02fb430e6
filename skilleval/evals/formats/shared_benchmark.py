"""shared-benchmark.json: cases with assertions that name their oracle, and ablations."""

from __future__ import annotations

from skilleval.evals.records import Behaviour, Record, Suite
from skilleval.evals.registry import Shape, reader
from skilleval.evals.shared import finish, read_behaviours, read_files, read_identifier
from skilleval.evals.values import Fields, Reading, Value

__all__ = ["read"]

_WHOLE = frozenset(("variants", "skill_paths", "ablations"))


def _score(shape: Shape) -> int:
    return 7 if shape.is_collection("cases") and shape.keys & _WHOLE else 0


@reader(
    "shared-benchmark",
    12,
    "`shared-benchmark.json`: cases, variants and ablations",
    words="cases variants skill_paths ablations",
    score=_score,
)
def read(root: Value, reading: Reading) -> Suite:
    """Read a shared-benchmark.json."""
    fields = Fields(root)
    name = fields.take("skill_name")
    skill = name.text() if name else None
    cases = [(_case(item, skill), item) for item in fields.items("cases")]
    extra = fields.rest("version", "skill_paths", "variants", "ablations")
    return finish(reading, "shared-benchmark", cases, skill=skill, extra=extra)


def _case(value: Value, skill: str | None) -> Record:
    fields = Fields(value)
    return Record(
        query=fields.need("prompt").text(),
        skills=None if skill is None else (skill,),
        files=read_files(fields.take("files")),
        expected_behavior=(
            *read_behaviours(fields.take("expected_behavior")),
            *(_assertion(item) for item in fields.items("assertions")),
        ),
        id=read_identifier(fields, "id"),
        title=fields.text("name"),
        should_trigger=fields.flag("should_trigger"),
        tags=fields.texts("tags"),
        extra=fields.rest("split", "kind"),
    )


def _assertion(value: Value) -> Behaviour:
    """What an assertion's oracle says, in words; code can't ask the oracle."""
    if value.kind == "text":
        return Behaviour(value.text())
    fields = Fields(value)
    name = fields.text("name")
    oracle = fields.left.get("oracle")
    text = fields.text("text", "oracle") if oracle is None or oracle.kind == "text" else ""
    if not text and not name:
        fields.need("name")
    return Behaviour(text or name, name, extra=fields.rest("type", "severity", "oracle"))
