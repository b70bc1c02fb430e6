"""NVIDIA's ``evals.json``: ``[{question, expected_skill, expected_behavior, ...}]``.

An ``expected_skill`` of null says that no skill may be loaded. One case may stand alone, and
``{skill, cases}`` is another dialect with assertions and a rubric.
"""

from __future__ import annotations

from dataclasses import replace

from skilleval.evals.checks import Check, CommandExits, ReferenceRead, ToolUsed
from skilleval.evals.records import Behaviour, Record, Suite
from skilleval.evals.registry import Shape, reader
from skilleval.evals.shared import finish, read_behaviours, read_files, read_identifier, usable
from skilleval.evals.values import Fields, Reading, Value

__all__ = ["read"]

_CASE = frozenset(("expected_skill", "expected_script", "ground_truth"))
_CASES = frozenset(("must_not", "rubric", "deterministic_assertions", "expected_references"))


def _score(shape: Shape) -> int:
    if shape.is_collection("cases"):
        inside = shape.inside("cases")
        if {"variants", "skill_paths", "ablations", "schemaVersion"} & shape.keys:
            return 0
        return 5 if inside & (_CASE | _CASES | {"question"}) else 0
    keys = shape.inside() if shape.is_list else shape.keys
    if "question" in keys:
        return 7
    return 4 if keys & _CASE and "query" not in keys else 0


@reader(
    "nvidia",
    3,
    "NVIDIA's `evals.json`: questions with the skill that is expected",
    words="question expected_skill expected_script ground_truth cases",
    score=_score,
)
def read(root: Value, reading: Reading) -> Suite:
    """Read one of the three dialects."""
    if root.kind == "list":
        return finish(reading, "nvidia", [(_case(item, None), item) for item in root.items()])
    fields = Fields(root)
    if not fields.has("cases"):
        return finish(reading, "nvidia", [(_case(root, None), root)])
    name = fields.take("skill", "skill_name")
    skill = name.text() if name else None
    cases = [(_case(item, skill), item) for item in fields.items("cases")]
    description = fields.text("description")
    return finish(
        reading, "nvidia", cases, skill=skill, description=description, extra=fields.rest()
    )


def _case(value: Value, skill: str | None) -> Record:
    fields = Fields(value)
    none = "expected_skill" in fields.left and fields.left["expected_skill"].kind == "null"
    expected = fields.take("expected_skill")
    should = fields.flag("should_trigger")
    if none:
        del fields.left["expected_skill"]
        should = False if should is None else should
    files = fields.take("files")
    named = expected.text() if expected else None
    return Record(
        query=fields.need("question", "prompt", "query").text(),
        skills=(skill,) if skill is not None else (named,) if named is not None else None,
        files=read_files(files),
        expected_behavior=(
            *read_behaviours(fields.take("expected_behavior", "expected_behaviors")),
            *_rubric(fields),
        ),
        id=read_identifier(fields, "id"),
        title=fields.text("name"),
        checks=tuple(_checks(fields)),
        must_not=read_behaviours(fields.take("must_not")),
        expected_output=fields.text("ground_truth", "expected_output"),
        should_trigger=should,
        expected_skill=named,
        acceptable_skills=fields.words("acceptable_skills"),
        tags=fields.words("tags"),
        note=fields.text("note", "notes"),
        extra=fields.rest("expected_test"),
    )


def _rubric(fields: Fields) -> list[Behaviour]:
    found = []
    value = fields.take("rubric")
    for item in (value.items() if value.kind == "list" else [value]) if value else []:
        if item.kind == "text":
            found.append(Behaviour(item.text()))
            continue
        inner = Fields(item)
        dimension = inner.text("dimension")
        text = inner.need("pass_if", "text").text()
        found.append(Behaviour(text, id=dimension, extra=inner.rest()))
    return found


def _checks(fields: Fields) -> list[Check]:
    checks: list[Check] = []
    script = fields.take("expected_script")
    if script is not None:
        name = script.text()
        arguments = {"command": _literal(name.rpartition("/")[2])}
        check = ToolUsed(tool="Bash", arguments=arguments, text=f"runs {name}",
                         extra={"expected_script": name})  # fmt: skip
        checks.append(usable(check, script))
    for item in fields.items("expected_references"):
        checks.append(usable(ReferenceRead(path=item.text()), item))
    value = fields.take("deterministic_assertions")
    for item in (value.items() if value.kind == "list" else [value]) if value else []:
        if item.kind == "text":
            checks.append(usable(CommandExits(command=item.text()), item))
            continue
        inner = Fields(item)
        exits = inner.take("expect_exit")
        made = CommandExits(
            command=inner.need("cmd", "command").text(),
            code=exits.whole(least=-255) if exits else 0,
            contains=inner.text("expect_substring"),
            id=inner.text("id", "name"),
        )
        checks.append(replace(usable(made, item), extra=inner.rest()))
    return checks


def _literal(text: str) -> str:
    """A text as a pattern that matches it."""
    return "".join(f"\\{c}" if c in "\\.^$*+?{}[]()|" else c for c in text)
