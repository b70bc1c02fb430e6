"""skill-creator's ``evals.json``: ``{skill_name, evals: [{id, prompt, expected_output, ...}]}``.

What is expected is called ``expectations`` by skill-creator and ``assertions`` by
agentskills.io. Each is a text, or a mapping: with a pattern or a phrase it is a check,
otherwise a behaviour. In the wild the list also comes without the mapping around it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from skilleval.evals.checks import Check, OutputMatches
from skilleval.evals.records import Behaviour, InputFile, Record, Suite
from skilleval.evals.registry import Shape, Written, reader, writer
from skilleval.evals.shared import finish, losses, named, read_files, read_identifier, usable
from skilleval.evals.typed import add_extra
from skilleval.evals.values import Fields, Reading, Value

__all__ = ["read", "read_assertion", "write"]

Lost = dict[str, list[int]]
"""What has no place, and the numbers of the cases that have it."""

_CASE = frozenset(("expected_output", "expectations", "assertions"))
_TYPES = {
    ("pattern", False): "regex",
    ("pattern", True): "not_regex",
    ("contains", False): "contains",
    ("contains", True): "not_contains",
}
_PHRASES = ("pattern", "phrase", "value")
_MATCHING = {
    "": False, "regex": False, "pattern": False, "matches": False, "regex_match": False,
    "contains": False, "string_match": False, "phrase": False, "includes": False,
    "not_regex": True, "not_matches": True, "not_contains": True, "excludes": True,
    "absent": True, "must_not_contain": True,
}  # fmt: skip
_CAN = "skills files expected_behavior id title checks expected_output should_trigger tags note"


def _score(shape: Shape) -> int:
    if shape.is_collection("evals"):
        return 6
    keys = shape.inside()
    if {"question", "query", "kind", "assert"} & keys:
        return 0
    return 4 if "prompt" in keys and keys & _CASE else 0


@reader(
    "skill-creator",
    2,
    "`evals.json` of skill-creator and agentskills.io",
    words="skill_name evals prompt expected_output expectations assertions",
    score=_score,
)
def read(root: Value, reading: Reading) -> Suite:
    """Read an evals.json."""
    if root.kind == "list":
        return finish(reading, "skill-creator", [(_case(v, None), v) for v in root.items()])
    fields = Fields(root)
    name = fields.take("skill_name", "skill")
    skill = name.text() if name else None
    items = fields.need("evals").items()
    cases = [(_case(item, skill), item) for item in items]
    description = fields.text("description")
    return finish(
        reading, "skill-creator", cases, skill=skill, description=description, extra=fields.rest()
    )


def _case(value: Value, skill: str | None) -> Record:
    fields = Fields(value)
    own = fields.take("skill")
    behaviours: list[Behaviour] = []
    checks: list[Check] = []
    for item in fields.items("expectations", "assertions"):
        found = read_assertion(item)
        (checks if isinstance(found, Check) else behaviours).append(found)  # type: ignore[arg-type]
    named_skill = own.text() if own else skill
    return Record(
        query=fields.need("prompt", "query").text(),
        skills=None if named_skill is None else (named_skill,),
        files=read_files(fields.take("files")),
        expected_behavior=tuple(behaviours),
        id=read_identifier(fields, "id"),
        title=fields.text("name", "eval_name"),
        checks=tuple(checks),
        expected_output=fields.text("expected_output"),
        should_trigger=fields.flag("should_trigger"),
        tags=fields.texts("tags"),
        note=fields.text("note", "notes", "description"),
        extra=fields.rest(),
    )


def read_assertion(value: Value) -> Check | Behaviour:
    """An assertion: a text, or one of the mappings that are found in the wild."""
    if value.kind == "text":
        return Behaviour(value.text())
    if value.kind != "mapping":
        raise value.wrong("a text, or a mapping with `text`")
    fields = Fields(value)
    sort = fields.take("type")
    word = sort.text() if sort else ""
    text, title = fields.text("text", "assertion", "description"), fields.text("name")
    number = read_identifier(fields, "id")
    identifier = "" if number is None else str(number)
    made: Check | Behaviour
    if word.replace("-", "_").lower() in _MATCHING and fields.has(*_PHRASES):
        made, implied = _check(fields, _MATCHING[word.replace("-", "_").lower()])
        made = replace(made, text=text, id=identifier)
    else:
        if not text and not title:
            fields.need("text")
        made, implied = Behaviour(text or title, identifier), ""
        title = title if text else ""
        if fields.has(*_PHRASES):
            value.reading.remark(
                "unmeasurable",
                f"{value.path}: no type of assertion `{word}` is known: a judge reads its text",
                value.start,
            )
    extra = fields.rest(*_PHRASES)
    if word and word != implied:
        extra["type"] = word
    if title:
        extra["name"] = title
    return replace(made, extra=extra)


def _check(fields: Fields, negate: bool) -> tuple[Check, str]:
    """The check of an assertion with a pattern or a phrase, and the type that this implies."""
    pattern = fields.take("pattern")
    phrase = None if pattern else fields.take("phrase", "value")
    check = OutputMatches(
        pattern=pattern.text() if pattern else "",
        contains=phrase.text() if phrase else "",
        negate=negate,
    )
    implied = _TYPES["pattern" if pattern else "contains", negate]
    return usable(check, fields.value), implied


@writer("skill-creator", Suite)
def write(suite: Suite) -> Written:
    """Write an evals.json."""
    number = suite.format != "skill-creator"  # elsewhere a case need not have an id
    skill = _common_skill(suite.records) if number and suite.skill is None else suite.skill
    whole: dict[str, Any] = {} if skill is None else {"skill_name": skill}
    if suite.description:
        whole["description"] = suite.description
    lost: Lost = {}
    whole["evals"] = [
        _write_case(record, skill, index, number, lost)
        for index, record in enumerate(suite.records, 1)
    ]
    named_too = [f"{what} of {named(cases)}" for what, cases in lost.items()]
    return Written(add_extra(whole, suite.extra), [*losses(suite.records, _CAN), *named_too])


def _common_skill(records: Sequence[Record]) -> str | None:
    names = {record.skills for record in records}
    only = names.pop() if len(names) == 1 else None
    return only[0] if only and len(only) == 1 else None


def _write_case(
    record: Record, skill: str | None, index: int, number: bool, lost: Lost
) -> dict[str, Any]:
    def lose(what: str) -> None:
        cases = lost.setdefault(what, [])
        if index not in cases:
            cases.append(index)

    identifier = index if number and record.id is None else record.id
    plain: dict[str, Any] = {} if identifier is None else {"id": identifier}
    if record.title:
        plain["name"] = record.title
    if record.skills is not None and record.skills != (skill,):
        if len(record.skills) == 1:
            plain["skill"] = record.skills[0]
        else:
            lose("`skills`, where there is room for one,")
    plain["prompt"] = record.query
    plain["expected_output"] = record.expected_output
    plain["files"] = [_write_file(file) for file in record.files]
    plain["expectations"] = [_write_behaviour(b, lose) for b in record.expected_behavior]
    for check in record.checks:
        if isinstance(check, OutputMatches):
            plain["expectations"].append(_write_check(check, lose))
        else:
            lose(f"the check `{check.kind}`")
    for name, value in (
        ("should_trigger", record.should_trigger),
        ("tags", list(record.tags)),
        ("note", record.note),
    ):
        if value not in (None, [], ""):
            plain[name] = value
    return add_extra(plain, record.extra)


def _write_file(file: InputFile) -> str | dict[str, Any]:
    fields = {"source": file.source, "path": file.path or None, "content": file.content}
    plain = add_extra({k: v for k, v in fields.items() if v is not None}, file.extra)
    return file.source if file.source and len(plain) == 1 else plain


def _write_behaviour(behaviour: Behaviour, lose: Callable[[str], None]) -> str | dict[str, Any]:
    for name in ("negate", "weight"):
        if getattr(behaviour, name) != getattr(Behaviour, name):
            lose(f"`{name}` of a behaviour")
    plain: dict[str, Any] = {"id": behaviour.id} if behaviour.id else {}
    plain["text"] = behaviour.text
    plain = add_extra(plain, behaviour.extra)
    return behaviour.text if len(plain) == 1 else plain


def _write_check(check: OutputMatches, lose: Callable[[str], None]) -> dict[str, Any]:
    for name in ("ignore_case", "weight"):
        if getattr(check, name) != getattr(OutputMatches, name):
            lose(f"`{name}` of a check")
    which = "pattern" if check.pattern else "contains"
    plain: dict[str, Any] = {"id": check.id} if check.id else {}
    if check.text:
        plain["text"] = check.text
    plain["type"] = check.extra.get("type", _TYPES[which, check.negate])
    plain["pattern" if check.pattern else "phrase"] = check.pattern or check.contains
    return add_extra(plain, check.extra)
