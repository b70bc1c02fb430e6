"""The ``eval.yaml`` of dotnet's skills: ``scenarios: [{name, prompt, assertions, rubric}]``."""

from __future__ import annotations

import os
import posixpath
from dataclasses import replace
from typing import Any

from skilleval.evals.checks import (
    Check,
    CommandExits,
    FileExists,
    FileMatches,
    OutputMatches,
    SkillActivated,
    ToolUsed,
)
from skilleval.evals.records import InputFile, Limits, Record, Suite
from skilleval.evals.registry import reader
from skilleval.evals.shared import finish, outside, read_behaviours, usable
from skilleval.evals.values import Fields, Reading, Value

__all__ = ["read"]


@reader(
    "dotnet",
    9,
    "`eval.yaml` of dotnet's skills: scenarios with assertions and a rubric",
    words="scenarios expect_activation rubric prompt",
    score=lambda shape: 5 if shape.is_collection("scenarios") else 0,
)
def read(root: Value, reading: Reading) -> Suite:
    """Read an eval.yaml of scenarios."""
    fields = Fields(root)
    name = fields.take("skill")
    skill = name.text() if name else None
    cases = [(_case(item, skill), item) for item in fields.items("scenarios")]
    description = fields.text("description")
    return finish(
        reading, "dotnet", cases, skill=skill, description=description, extra=fields.rest()
    )


def _case(value: Value, skill: str | None) -> Record:
    fields = Fields(value)
    seconds = fields.number("timeout")
    commands: tuple[str, ...] = ()
    files: tuple[InputFile, ...] = ()
    extra: dict[str, Any] = {}
    setup = fields.fields("setup")
    if setup is not None:
        commands = setup.texts("commands")
        files = tuple(_file(item) for item in setup.items("files"))
        left = setup.rest("copy_test_files", "additional_required_skills")
        extra = {"setup": left} if left else {}
    checks = [_assertion(item) for item in fields.items("assertions")]
    for name, negate in (("expect_tools", False), ("reject_tools", True)):
        for item in fields.items(name):
            checks.append(ToolUsed(tool=item.text(), negate=negate))
    for item in fields.items("reject_skills"):
        checks.append(SkillActivated(skill=item.text(), negate=True))
    return Record(
        query=fields.need("prompt").text(),
        skills=None if skill is None else (skill,),
        files=files,
        expected_behavior=read_behaviours(fields.take("rubric")),
        title=fields.text("name"),
        setup=commands,
        checks=tuple(checks),
        should_trigger=fields.flag("expect_activation"),
        limits=Limits(seconds=seconds),
        tags=fields.texts("tags"),
        extra={**extra, **fields.rest()},
    )


def _file(value: Value) -> InputFile:
    fields = Fields(value)
    target = fields.need("path").text()
    if outside(target):
        raise value.fail(f"`path` {target!r} {outside(target)}", "Name a path in the workspace.")
    source, content = fields.take("source"), fields.take("content")
    if source is None and content is None:
        fields.need("source", "content")
    extra = fields.rest()
    found = source.text() if source else None
    if source is not None and found is not None and outside(found):
        extra["source"] = found
        found = _home(source, found)
    return InputFile(found, content.text() if content else None, target, extra)


def _home(value: Value, source: str) -> str:
    """A path that is written from the skill's folder, as one from the file's own folder.

    Scenarios lie apart from their skill and name their files from there, up to the root of the
    repository and down again to the folder that they themselves lie in.
    """
    parts = posixpath.normpath(source.replace("\\", "/")).split("/")
    while parts and parts[0] == "..":
        parts.pop(0)
    folder = os.path.dirname(os.path.abspath(value.reading.path)).replace(os.sep, "/").split("/")
    for size in range(min(len(folder), len(parts) - 1), 0, -1):
        if parts[:size] == folder[-size:] and not source.startswith(("/", "~")):
            return "/".join(parts[size:])
    raise value.fail(f"{source!r} {outside(source)}", "Put the file below the folder of this file.")


_KINDS: dict[str, tuple[str, bool]] = {
    "output_contains": ("output", False), "output_not_contains": ("output", True),
    "output_matches": ("output", False), "output_not_matches": ("output", True),
    "file_contains": ("file", False), "file_not_contains": ("file", True),
    "file_matches": ("file", False), "file_not_matches": ("file", True),
    "file_exists": ("exists", False), "file_not_exists": ("exists", True),
}  # fmt: skip


def _assertion(value: Value) -> Check:
    fields = Fields(value)
    sort = fields.need("type")
    word = sort.text().replace("-", "_")
    what, negate = _KINDS.get(word, (word, False))
    check: Check
    extra: dict[str, Any] = {}
    if what == "output":
        check = replace(_wanted(fields, word), negate=negate)
    elif what == "file":
        path, wanted = fields.need("path").text(), _wanted(fields, word)
        check = FileMatches(
            path=path, pattern=wanted.pattern, contains=wanted.contains, negate=negate
        )
    elif what == "exists":
        check = FileExists(path=fields.need("path").text(), negate=negate)
    elif what == "exit_success":  # it answered at all
        check, extra = OutputMatches(pattern=r"\S"), {"type": "exit_success"}
    elif what in ("run_command_and_assert", "run_command"):
        code = fields.take("exit_code", "expect_exit")
        check = CommandExits(command=fields.need("command").text(),
                             code=code.whole(least=-255) if code else 0)  # fmt: skip
    else:
        raise sort.fail(
            f"there is no assertion `{word}`", f"Known are {', '.join(_KINDS)} and exit_success."
        )
    return replace(usable(check, value), extra={**extra, **fields.rest()})


def _wanted(fields: Fields, word: str) -> OutputMatches:
    if word.endswith("contains"):
        return OutputMatches(contains=fields.need("value").text())
    return OutputMatches(pattern=fields.need("pattern", "value").text())
