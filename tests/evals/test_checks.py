"""Kinds of checks as files hold them."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from evals.kit import CHECKS, suite

from skilleval.errors import InputError
from skilleval.evals.checks import KINDS, Check, check_as_plain
from skilleval.evals.measuring import _MEASURES


def record(check: Any) -> list[Any]:
    return [{"skills": ["a"], "query": "q", "checks": [check]}]


def read(check: Any) -> Check:
    (found,) = suite(record(check)).records[0].checks
    return found


def test_every_kind_has_an_example_and_a_measure() -> None:
    assert set(CHECKS) == set(KINDS)
    assert set(_MEASURES) == set(KINDS.values())
    assert all(cls.about and cls.__doc__ for cls in KINDS.values())


@pytest.mark.parametrize("name", sorted(CHECKS))
def test_read_and_written_again(name: str) -> None:
    data = {"kind": name, **CHECKS[name]}
    check = read(data)
    assert type(check) is KINDS[name]
    assert check.problem() is None
    assert read(check_as_plain(check)) == check
    assert all(check_as_plain(check)[key] == value for key, value in data.items()
               if value != getattr(KINDS[name], key, ...))  # fmt: skip


def test_shared_fields() -> None:
    check = read({"kind": "no_denial", "id": "x", "text": "t", "weight": 2.5, "negate": True,
                  "extra": {"a": 1}})  # fmt: skip
    assert dataclasses.asdict(check) == {"id": "x", "text": "t", "weight": 2.5, "negate": True,
                                         "extra": {"a": 1}}  # fmt: skip


@pytest.mark.parametrize(
    ("check", "message", "remedy"),
    [
        ({}, "there is no field `kind`", "Add"),
        ({"knid": "no_denial"}, "there is no field `kind` here, but `knid`", "Rename"),
        ({"kind": "file_exist", "path": "a"}, "there is no check `file_exist`", "`file_exists`"),
        ({"kind": "zzz"}, "there is no check `zzz`", "The checks are"),
        ({"kind": "file_exists"}, "there is no field `path`", "Add"),
        ({"kind": "file_exists", "path": 3}, "must be a text, but is a number", ""),
        ({"kind": "file_exists", "path": "../x"}, "leads out of the workspace", "docs"),
        ({"kind": "file_exists", "path": "/etc/passwd"}, "must be relative", "docs"),
        ({"kind": "file_exists", "path": "C:\\x"}, "must be relative", "docs"),
        ({"kind": "file_exists", "path": "a", "negat": True}, "no field `negat`", "`negate`"),
        ({"kind": "file_exists", "path": "a", "negate": None}, "must not be null", ""),
        ({"kind": "file_matches", "path": "a"}, "needs a `pattern` or `contains`", "docs"),
        ({"kind": "output_matches", "pattern": "a", "contains": "b"}, "has both", "docs"),
        ({"kind": "output_matches", "pattern": "("}, "no regular expression", "docs"),
        ({"kind": "tool_used", "tool": "Bash", "arguments": {"command": "["}},
         "`arguments.command` is no regular expression", "docs"),
        ({"kind": "tool_used", "tool": "Bash", "min": 3, "max": 1}, "`min` 3 is over", "docs"),
        ({"kind": "tool_used", "tool": "Bash", "min": -1}, "a whole number from 0 on", ""),
        ({"kind": "tool_order", "tools": []}, "`tools` is empty", "docs"),
        ({"kind": "skill_activated", "skill": ""}, "`skill` is empty", "docs"),
        ({"kind": "json_equals", "path": "a.json"}, "there is no field `value`", "Add"),
        ({"kind": "json_equals", "path": "a", "value": 1, "at": "x"}, "no JSON path", "docs"),
        ({"kind": "file_parses", "path": "a.xyz"}, "`format` must be one of", "docs"),
        ({"kind": "table_equals", "path": "a", "rows": [["a"], [None]]}, "a text or a num", ""),
        ({"kind": "table_equals", "path": "a", "rows": [], "delimiter": "ab"}, "a single", "docs"),
        ({"kind": "command_exits", "command": " "}, "`command` is blank", "docs"),
        ({"kind": "turns_below", "turns": 1.5}, "a whole number", ""),
        ("text", "must be a mapping of fields, but is a text", ""),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(check: Any, message: str, remedy: str) -> None:
    with pytest.raises(InputError) as raised:
        read(check)
    assert message in raised.value.message
    assert raised.value.message.startswith("evals.json:1:")
    assert "checks[0]" in raised.value.message
    assert remedy in raised.value.remedy
