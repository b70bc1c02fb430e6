"""waza: ``eval.yaml`` with tasks inline or in files of their own, and ``trigger_tests.yaml``."""

from __future__ import annotations

from typing import Any

from skilleval.evals.beside import matching, open_beside, text_beside
from skilleval.evals.checks import Check, FileExists, FileMatches, OutputMatches, ToolUsed
from skilleval.evals.records import Behaviour, Limits, Record, Suite
from skilleval.evals.registry import Shape, reader
from skilleval.evals.shared import finish, read_behaviours, read_files, read_identifier, usable
from skilleval.evals.values import Fields, Reading, Value

__all__ = ["read", "read_triggers"]

_WHOLE = frozenset(("config", "graders", "metrics", "skill", "hooks"))
_TASK = frozenset(("expected", "graders", "id", "name"))
_TRIGGERS = ("should_trigger_prompts", "should_not_trigger_prompts")
Graders = tuple[list[Check], list[Behaviour], list[Any]]


def _score(shape: Shape) -> int:
    if "scenarios" in shape.keys or "tests" in shape.keys:
        return 0
    if {"tasks", "tasks_from"} & shape.keys:
        inside = shape.inside("tasks")
        if "instruction" in inside or "defaults" in shape.keys:
            return 0
        return 5 if shape.keys & _WHOLE or "inputs" in inside or shape.has_texts("tasks") else 0
    return 4 if "inputs" in shape.keys and shape.keys & _TASK else 0


@reader(
    "waza",
    7,
    "waza's `eval.yaml`, and its task files",
    words="tasks tasks_from graders config metrics inputs expected trials_per_task",
    score=_score,
)
def read(root: Value, reading: Reading) -> Suite:
    """Read an eval.yaml with its tasks, or one task."""
    fields = Fields(root)
    if not fields.has("tasks", "tasks_from"):
        return finish(reading, "waza", [(_task(root, None, None, ([], [], [])), root)])
    name = fields.take("skill")
    skill = name.text() if name else None
    config = fields.left.get("config")
    seconds = Fields(config).number("timeout_seconds") if config and _there(config) else None
    shared = _graders(fields, "graders")
    cases, files = [], []
    for value in _tasks(fields):
        if value.kind == "text":
            for path in matching(value):
                files.append(path)
                task = open_beside(path, reading)
                cases.append((_task(task, skill, seconds, shared), task))
        else:
            cases.append((_task(value, skill, seconds, shared), value))
    description = fields.text("description")
    extra = {"graders": shared[2]} if shared[2] else {}
    extra |= fields.rest("name", "version", "config", "metrics", "hooks", "inputs", "baseline")
    return finish(reading, "waza", cases, files, skill=skill, description=description, extra=extra)


def _there(value: Value) -> bool:
    return value.kind != "null"


def _tasks(fields: Fields) -> list[Value]:
    found = fields.items("tasks")
    more = fields.take("tasks_from")
    if more is not None:
        found += [more] if more.kind == "text" else more.items()
    return found


def _task(value: Value, skill: str | None, seconds: float | None, shared: Graders) -> Record:
    fields = Fields(value)
    inputs = Fields(fields.need("inputs"))
    query = inputs.need("prompt", "prompts").text()
    files = read_files(inputs.take("files"))
    extra: dict[str, Any] = {"inputs": left} if (left := inputs.rest("context")) else {}
    expected = fields.fields("expected")
    checks, behaviours, kept = _graders(fields, "graders")
    should = None
    if expected is not None:
        checks += _wanted(expected, "output_contains", False)
        checks += _wanted(expected, "output_not_contains", True)
        should = expected.flag("should_trigger")
        outcomes = [item for item in expected.items("outcomes") if item.kind == "text"]
        behaviours += [Behaviour(item.text()) for item in outcomes]
        left = expected.rest()
        extra |= {"expected": left} if left else {}
    if kept:
        extra["graders"] = kept
    own = fields.number("timeout_seconds")
    return Record(
        query=query,
        skills=None if skill is None else (skill,),
        files=files,
        expected_behavior=(*behaviours, *shared[1]),
        id=read_identifier(fields, "id"),
        title=fields.text("name"),
        checks=(*checks, *shared[0]),
        should_trigger=should,
        limits=Limits(seconds=seconds if own is None else own),
        tags=fields.texts("tags"),
        note=fields.text("description"),
        extra={**extra, **fields.rest("enabled")},
    )


def _wanted(fields: Fields, name: str, negate: bool) -> list[Check]:
    value = fields.take(name)
    items = [] if value is None else [value] if value.kind == "text" else value.items()
    return [usable(OutputMatches(contains=item.text(), negate=negate), item) for item in items]


def _graders(fields: Fields, name: str) -> Graders:
    """Checks and behaviours of some graders, and those that can be neither."""
    checks: list[Check] = []
    behaviours: list[Behaviour] = []
    kept: list[Any] = []
    for value in fields.items(name):
        grader = Fields(value)
        sort = grader.need("type").text()
        read = _READERS.get(sort)
        found = read(grader, value) if read else None
        if found is None:
            value.reading.remark(
                "unmeasurable", f"{value.path}: graders of the type {sort} are kept, not run",
                value.start,
            )  # fmt: skip
            kept.append(value.plain())
        else:
            checks += [each for each in found if isinstance(each, Check)]
            behaviours += [each for each in found if isinstance(each, Behaviour)]
    return checks, behaviours, kept


def _settings(grader: Fields) -> tuple[Fields, str, float]:
    config = grader.fields("config")
    weight = grader.number("weight")
    return config or grader, grader.text("name"), 1 if weight is None else weight


def _regex(grader: Fields, value: Value) -> list[Check | Behaviour]:
    config, name, weight = _settings(grader)
    found: list[Check | Behaviour] = []
    for key, pattern, negate in (
        ("must_match", True, False), ("regex_match", True, False), ("contains", False, False),
        ("must_not_match", True, True), ("regex_not_match", True, True),
        ("must_contain", False, False), ("not_contains", False, True),
    ):  # fmt: skip
        for item in config.items(key):
            text = item.text()
            check = OutputMatches(pattern=text if pattern else "",
                                  contains="" if pattern else text,
                                  negate=negate, id=name, weight=weight)  # fmt: skip
            found.append(usable(check, item))
    return _complete(found, grader, config)


def _complete(
    found: list[Check | Behaviour], grader: Fields, config: Fields
) -> list[Check | Behaviour]:
    """The same, with what was left of the grader on its first check, so that nothing is lost."""
    from dataclasses import replace

    left = grader.rest() if config is grader else {**config.rest(), **grader.rest()}
    return [replace(found[0], extra=left), *found[1:]] if found and left else found


def _file(grader: Fields, value: Value) -> list[Check | Behaviour]:
    config, name, weight = _settings(grader)
    found: list[Check | Behaviour] = []
    for key, negate in (("must_exist", False), ("must_not_exist", True)):
        for item in config.items(key):
            check: Check = FileExists(path=item.text(), negate=negate, id=name, weight=weight)
            found.append(usable(check, item))
    for item in config.items("content_patterns"):
        inner = Fields(item)
        path = inner.need("path").text()
        for key, negate in (("must_match", False), ("must_not_match", True)):
            for pattern in inner.items(key):
                check = FileMatches(path=path, pattern=pattern.text(), negate=negate, id=name,
                                    weight=weight)  # fmt: skip
                found.append(usable(check, pattern))
        inner.rest()
    return _complete(found, grader, config)


def _tools(grader: Fields, value: Value) -> list[Check | Behaviour]:
    config, name, weight = _settings(grader)
    found: list[Check | Behaviour] = []
    for key, negate in (("expect_tools", False), ("reject_tools", True)):
        for item in config.items(key):
            inner = Fields(item) if item.kind == "mapping" else None
            tool = inner.need("tool", "name").text() if inner else item.text()
            left = inner.rest() if inner else {}
            found.append(ToolUsed(tool=tool, negate=negate, id=name, weight=weight, extra=left))
    return _complete(found, grader, config)


def _judge(grader: Fields, value: Value) -> list[Check | Behaviour] | None:
    config, name, weight = _settings(grader)
    source = config.take("rubric", "prompt") or grader.take("rubric", "prompt")
    if source is None:
        return None
    if source.kind == "list":
        found: list[Check | Behaviour] = list(read_behaviours(source))
    else:
        text = text_beside(source)
        extra = {} if text is None else {"rubric": source.text()}
        found = [Behaviour(source.text() if text is None else text, name, weight, extra=extra)]
    left = grader.rest() if config is grader else {**config.rest(), **grader.rest()}
    first = found[0] if found else None
    if isinstance(first, Behaviour) and left:
        found[0] = Behaviour(first.text, first.id, first.weight, extra={**left, **first.extra})
    return found


_READERS: dict[str, Any] = {
    "regex": _regex, "text": _regex, "keyword": _regex, "file": _file, "tool_constraint": _tools,
    "prompt": _judge, "llm": _judge, "llm_comparison": _judge,
}  # fmt: skip


@reader(
    "waza-triggers",
    7,
    "waza's `trigger_tests.yaml`",
    words="should_trigger_prompts should_not_trigger_prompts",
    score=lambda shape: 8 if shape.keys & set(_TRIGGERS) else 0,
)
def read_triggers(root: Value, reading: Reading) -> Suite:
    """Read a trigger_tests.yaml."""
    fields = Fields(root)
    name = fields.take("skill")
    skill = name.text() if name else None
    cases = []
    for key in _TRIGGERS:
        for item in fields.items(key):
            cases.append((_prompt(item, skill, key == _TRIGGERS[0]), item))
    return finish(reading, "waza-triggers", cases, skill=skill, extra=fields.rest())


def _prompt(value: Value, skill: str | None, wanted: bool) -> Record:
    skills = None if skill is None else (skill,)
    if value.kind == "text":
        return Record(value.text(), skills, should_trigger=wanted)
    fields = Fields(value)
    own = fields.flag("should_trigger")
    return Record(
        query=fields.need("prompt").text(),
        skills=skills,
        should_trigger=wanted if own is None else own,
        note=fields.text("reason"),
        extra=fields.rest("confidence"),
    )
