"""promptfoo: tests with ``assert``, and its assertions on skills, ``skill-used``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from skilleval.evals.checks import Check, CostBelow, OutputMatches, SkillActivated, ToolUsed
from skilleval.evals.records import Behaviour, Record, Suite
from skilleval.evals.registry import Shape, reader
from skilleval.evals.shared import finish, usable
from skilleval.evals.values import Fields, Reading, Value

__all__ = ["read", "read_assertion"]

_QUERIES = ("prompt", "query", "request", "input", "question", "message", "task")
_VARIABLE = re.compile(r"\{\{\s*([\w.-]{1,80})\s*\}\}")
_OUTPUT = {
    "contains": ("contains", False), "icontains": ("contains", True), "regex": ("pattern", False),
}  # fmt: skip


def _score(shape: Shape) -> int:
    if shape.is_list:
        return 6 if "assert" in shape.inside() else 0
    if not shape.is_collection("tests"):
        return 0
    return 6 if {"assert", "vars"} & shape.inside("tests") or "prompts" in shape.keys else 0


@reader(
    "promptfoo",
    13,
    "promptfoo's tests, with `skill-used` and `not-skill-used`",
    words="tests assert vars prompts providers",
    score=_score,
)
def read(root: Value, reading: Reading) -> Suite:
    """Read a promptfoo configuration, or a list of its tests."""
    if root.kind == "list":
        return finish(reading, "promptfoo", [(_test(v, None), v) for v in root.items()])
    fields = Fields(root)
    template = _template(fields)
    default = fields.left.get("defaultTest")
    shared = _asserted(Fields(default)) if default and default.kind == "mapping" else []
    cases = [(_test(item, template, shared), item) for item in fields.items("tests")]
    description = fields.text("description")
    extra = fields.rest("prompts", "providers", "defaultTest", "$schema", "tags")
    return finish(reading, "promptfoo", cases, description=description, extra=extra)


def _asserted(fields: Fields) -> list[Check | Behaviour]:
    return [found for item in fields.items("assert") for found in read_assertion(item)]


def _template(fields: Fields) -> str | None:
    """The prompt that the variables of a test go into, where there is exactly one."""
    prompts = fields.left.get("prompts")
    if prompts is None or prompts.kind != "list":
        return None
    items = prompts.items()
    only = items[0] if len(items) == 1 and items[0].kind == "text" else None
    return None if only is None or only.text().startswith("file:") else only.text()


def _test(value: Value, template: str | None, shared: Sequence[Check | Behaviour] = ()) -> Record:
    fields = Fields(value)
    variables = fields.left.get("vars")
    plain = variables.plain() if variables and variables.kind == "mapping" else {}
    texts = {name: text for name, text in plain.items() if isinstance(text, str)}
    if template is not None:
        query = _VARIABLE.sub(lambda match: texts.get(match[1], match[0]), template)
    else:
        query = next((texts[name] for name in _QUERIES if name in texts), "")
        query = query or next(iter(texts.values()), "")
    if not query:
        raise value.fail("nothing here says what to ask", "Add a variable `prompt` below `vars`.")
    found = [*_asserted(fields), *shared]
    return Record(
        query=query,
        expected_behavior=tuple(each for each in found if isinstance(each, Behaviour)),
        title=fields.text("description"),
        checks=tuple(each for each in found if isinstance(each, Check)),
        extra=fields.rest("vars", "metadata", "options", "threshold", "provider"),
    )


def read_assertion(value: Value) -> list[Check | Behaviour]:
    """An assertion as checks, or as a behaviour where only a judge can decide it."""
    fields = Fields(value)
    sort = fields.need("type").text()
    negate, word = sort.startswith("not-"), sort.removeprefix("not-")
    number = fields.number("weight")
    found: list[Check | Behaviour]
    if word == "skill-used":
        found = list(_skills(fields.need("value"), negate))
    elif word in _OUTPUT:
        name, ignore = _OUTPUT[word]
        text = {name: fields.need("value").text()}
        check = OutputMatches(**text, ignore_case=ignore, negate=negate)  # type: ignore[arg-type]
        found = [usable(check, value)]
    elif word == "cost" and fields.has("threshold"):
        found = [CostBelow(dollars=fields.need("threshold").number(), negate=negate)]
    elif word == "trajectory:tool-used" and fields.has("value"):
        tool = fields.need("value")
        found = [ToolUsed(tool=tool.text(), negate=negate)] if tool.kind == "text" else []
        fields.left |= {} if found else {"value": tool}
    elif word == "llm-rubric" and fields.has("value"):
        found = [Behaviour(fields.need("value").text(), negate=negate)]
    else:
        found = []
    if not found:
        value.reading.remark(
            "unmeasurable", f"{value.path}: an assertion `{sort}` is kept, not run", value.start
        )
        shown = str(fields.left["value"].plain())[:200] if fields.has("value") else ""
        found = [Behaviour(f"{sort}: {shown}" if shown else sort, extra={"type": sort})]
    weight = 1 if number is None else number
    extra = fields.rest("value", "threshold", "metric", "provider")
    first = replace(found[0], weight=weight, extra={**found[0].extra, **extra})
    return [first, *(replace(each, weight=weight) for each in found[1:])]


def _skills(value: Value, negate: bool) -> list[Check]:
    """``name``, ``[names]``, or ``{name | pattern, min, max}``."""
    if value.kind == "text":
        return [SkillActivated(skill=value.text(), negate=negate)]
    if value.kind == "list":
        return [SkillActivated(skill=item.text(), negate=negate) for item in value.items()]
    fields = Fields(value)
    name = fields.need("name", "pattern").text()
    least, most = fields.take("min"), fields.take("max")
    at_least = least.whole() if least else 0 if most else 1
    at_most = most.whole() if most else None
    if negate and at_most == 0:  # "not, at most none" says the same as "not"
        at_least, at_most = 1, None
    check = SkillActivated(
        skill=name, min=at_least, max=at_most, negate=negate, extra=fields.rest()
    )
    return [usable(check, value)]
