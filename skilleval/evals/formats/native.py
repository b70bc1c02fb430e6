"""The native format: a list of records, one record, or a mapping with ``records``.

A record is ``{skills, query, files, expected_behavior}`` with any of the optional fields beside
them. A behaviour is a text, or a mapping with its ``text``; a file is a path, or a
mapping with ``source`` or ``content`` and the ``path`` in the workspace; a check is a mapping
with its ``kind``. The mapping form of a file has room for what is said of the whole suite.
``extra`` keeps fields of other formats that have no place here.
"""

from __future__ import annotations

from typing import Any

from skilleval.evals.checks import check_as_plain, read_check
from skilleval.evals.records import ARMS, Behaviour, InputFile, Record, Suite
from skilleval.evals.registry import Shape, Written, reader, writer
from skilleval.evals.shared import (
    finish,
    read_behaviours,
    read_extra,
    read_files,
    read_identifier,
    read_limits,
)
from skilleval.evals.typed import as_plain
from skilleval.evals.values import Fields, Reading, Value

__all__ = ["read", "record_as_plain", "write"]

_TELLING = frozenset(("skills", "expected_behavior", "files", "checks", "must_not", "turns"))


def _score(shape: Shape) -> int:
    if shape.is_collection("records"):
        return 8
    keys = shape.inside() if shape.is_list else shape.keys
    if "query" not in keys or {"assert", "kind"} & keys:
        return 0
    return 3 + len(keys & _TELLING) if keys & _TELLING else 1


@reader(
    "native",
    1,
    "records of skilleval: `{skills, query, files, expected_behavior}`",
    words="records skills query files expected_behavior",
    score=_score,
)
def read(root: Value, reading: Reading) -> Suite:
    """Read a native file."""
    if root.kind == "list":
        return finish(reading, "native", [(_record(item), item) for item in root.items()])
    fields = Fields(root)
    if not fields.has("records"):
        return finish(reading, "native", [(_record(root), root)])
    items = fields.items("records")
    skill, description = fields.take("skill"), fields.text("description")
    extra = read_extra(fields)
    return finish(
        reading,
        "native",
        [(_record(item), item) for item in items],
        skill=skill.text() if skill else None,
        description=description,
        extra=extra,
    )


def _record(value: Value) -> Record:
    fields = Fields(value)
    skills = fields.take("skills")
    arms = fields.take("arms")
    for arm in arms.items() if arms else []:
        if arm.text() not in ARMS:
            raise arm.fail(f"there is no arm {arm.text()!r}", f"The arms are {', '.join(ARMS)}.")
    expected = fields.take("expected_skill")
    checks = tuple(read_check(item) for item in fields.items("checks"))
    weight = fields.number("weight")
    return Record(
        query=fields.need("query").text(),
        skills=skills.texts() if skills else None,
        files=read_files(fields.take("files"), nested=True),
        expected_behavior=read_behaviours(fields.take("expected_behavior"), nested=True),
        id=read_identifier(fields, "id"),
        title=fields.text("title"),
        turns=fields.texts("turns"),
        setup=fields.texts("setup"),
        checks=checks,
        must_not=read_behaviours(fields.take("must_not"), nested=True),
        expected_output=fields.text("expected_output"),
        should_trigger=fields.flag("should_trigger"),
        expected_skill=expected.text() if expected else None,
        acceptable_skills=fields.texts("acceptable_skills"),
        distractors=fields.texts("distractors"),
        arms=arms.texts() if arms else (),
        limits=read_limits(fields.take("limits"), nested=True),
        weight=1 if weight is None else weight,
        tags=fields.texts("tags"),
        note=fields.text("note"),
        extra=read_extra(fields),
    )


@writer("native", Suite)
def write(suite: Suite) -> Written:
    """Write a native file; nothing is lost."""
    records = [record_as_plain(record) for record in suite.records]
    if suite.skill is None and not suite.description and not suite.extra:
        return Written(records, [])
    whole: dict[str, Any] = {"skill": suite.skill} if suite.skill is not None else {}
    if suite.description:
        whole["description"] = suite.description
    if suite.extra:
        whole["extra"] = dict(suite.extra)
    return Written({**whole, "records": records}, [])


def record_as_plain(record: Record) -> dict[str, Any]:
    """A record as a native file holds it: without its origin."""
    plain: dict[str, Any] = {} if record.skills is None else {"skills": list(record.skills)}
    plain |= {
        "query": record.query,
        "files": [_file(file) for file in record.files],
        "expected_behavior": [_behaviour(each) for each in record.expected_behavior],
    }
    simple = as_plain(record)
    for name in simple:
        if name in plain or name == "origin":
            continue
        if name == "checks":
            plain[name] = [check_as_plain(check) for check in record.checks]
        elif name == "must_not":
            plain[name] = [_behaviour(each) for each in record.must_not]
        elif name == "limits":
            plain[name] = _nested(record.limits)
        else:
            plain[name] = simple[name]
    if record.extra:
        plain["extra"] = dict(record.extra)
    return plain


def _nested(made: Any) -> dict[str, Any]:
    extra = {"extra": dict(made.extra)} if made.extra else {}
    return as_plain(made) | extra


def _behaviour(behaviour: Behaviour) -> str | dict[str, Any]:
    plain = _nested(behaviour)
    return behaviour.text if plain == {"text": behaviour.text} else plain


def _file(file: InputFile) -> str | dict[str, Any]:
    plain = _nested(file)
    return file.source if file.source and plain == {"source": file.source} else plain
