"""agent-exam: ``{kind, prompt, assertions}``, or ``{kind: trigger, positive, negative}``."""

from __future__ import annotations

from typing import Any

from skilleval.evals.checks import Check, ToolUsed
from skilleval.evals.formats.skill_creator import read_assertion
from skilleval.evals.records import Behaviour, InputFile, Record, Suite
from skilleval.evals.registry import Shape, reader
from skilleval.evals.shared import finish, outside, read_identifier
from skilleval.evals.values import Fields, Reading, Value

__all__ = ["read"]

_BESIDE = frozenset(("prompt", "positive", "negative"))


def _score(shape: Shape) -> int:
    keys = shape.inside() if shape.is_list else shape.keys
    return 6 if "kind" in keys and keys & _BESIDE else 0


@reader(
    "agent-exam",
    10,
    "agent-exam: `{kind, prompt, assertions}`, `{kind: trigger, positive, negative}`",
    words="kind prompt assertions positive negative mcp_tool",
    score=_score,
)
def read(root: Value, reading: Reading) -> Suite:
    """Read one exam, or a list of them."""
    cases: list[tuple[Record, Value]] = []
    for item in root.items() if root.kind == "list" else [root]:
        kind = Fields(item).need("kind").text()
        cases += _triggers(item) if kind == "trigger" else [(_exam(item), item)]
    return finish(reading, "agent-exam", cases)


def _triggers(value: Value) -> list[tuple[Record, Value]]:
    fields = Fields(value)
    name, tool = fields.take("skill"), fields.take("mcp_tool")
    skills = (name.text(),) if name else None
    tags = fields.texts("tags")
    prompts = [(item, True) for item in fields.items("positive")]
    prompts += [(item, False) for item in fields.items("negative")]
    extra = fields.rest("kind")
    found = []
    for item, wanted in prompts:
        checks: tuple[Check, ...] = ()
        if tool is not None:
            checks = (ToolUsed(tool=tool.text(), negate=not wanted),)
        inner = Fields(item) if item.kind == "mapping" else None
        query = inner.need("prompt", "query").text() if inner else item.text()
        record = Record(
            query,
            skills,
            checks=checks,
            should_trigger=None if tool is not None and name is None else wanted,
            tags=tags,
            note=inner.text("reason", "note") if inner else "",
            extra={**extra, **(inner.rest() if inner else {})},
        )
        found.append((record, item))
    return found


def _exam(value: Value) -> Record:
    fields = Fields(value)
    name = fields.take("skill")
    checks: list[Check] = []
    behaviours: list[Behaviour] = []
    for item in fields.items("assertions"):
        found = read_assertion(item)
        if isinstance(found, Check):
            checks.append(found)
        else:
            behaviours.append(found)
    files: tuple[InputFile, ...] = ()
    extra: dict[str, Any] = {}
    setup = fields.fields("setup")
    if setup is not None:
        files = _fixture(setup)
        left = setup.rest("env")
        extra = {"setup": left} if left else {}
    return Record(
        query=fields.need("prompt").text(),
        skills=(name.text(),) if name else None,
        files=files,
        expected_behavior=tuple(behaviours),
        id=read_identifier(fields, "id"),
        title=fields.text("name"),
        checks=tuple(checks),
        tags=fields.texts("tags"),
        extra={**extra, **fields.rest("kind")},
    )


def _fixture(setup: Fields) -> tuple[InputFile, ...]:
    """A fixture is a folder: what is in it lies at the top of the workspace."""
    fixture = setup.take("fixture")
    if fixture is None:
        return ()
    wrong = outside(fixture.text())
    if wrong:
        raise fixture.fail(f"{fixture.text()!r} {wrong}", "Put the fixture below this folder.")
    return (InputFile(source=fixture.text(), path="."),)
