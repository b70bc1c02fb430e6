"""Public evaluation files: all load, and no field of any of them is lost."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from skilleval.evals import Record, Suite, convert, dump, load_suite, read_suite
from skilleval.evals.reading import read_bytes

CASES = {"evals.json": 16, "eval.yaml": 31, "trigger_eval.json": 1}
FORMATS = {"skill-creator": 15, "trigger": 2, "dotnet": 31}
RENAMED = {
    "prompt": "query", "query": "query", "expected_output": "expected_output", "id": "id",
    "notes": "note", "name": "title", "skill": "skills", "files": "files",
    "expectations": "expected_behavior", "rubric": "expected_behavior", "assertions": "checks",
    "should_trigger": "should_trigger", "expect_activation": "should_trigger",
    "expect_tools": "checks", "timeout": "limits",
}  # fmt: skip
"""Where each field of a case goes; ``setup`` is parted, and all others are in ``extra``."""


def found(corpus: Path) -> list[Path]:
    return sorted(path for name in CASES for path in corpus.rglob(name))


def original(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    return json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)


def cases_of(data: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    if isinstance(data, list):
        return data, {}
    key = next(key for key in ("evals", "scenarios") if key in data)
    return data[key], {name: value for name, value in data.items() if name != key}


def leaves(data: Any) -> Iterator[str]:
    if isinstance(data, dict):
        for value in data.values():
            yield from leaves(value)
    elif isinstance(data, (list, tuple)):
        for value in data:
            yield from leaves(value)
    elif data is not None:
        yield json.dumps(data)


def kept(record: Record) -> Counter[str]:
    return Counter(leaves(dataclasses.asdict(record)))


def test_every_file_loads(corpus: Path) -> None:
    files = found(corpus)
    assert Counter(path.name for path in files) == CASES
    suites = [read_suite(str(path)) for path in files]
    assert Counter(suite.format for suite in suites) == FORMATS
    assert sum(len(suite.records) for suite in suites) == 237
    kinds = Counter(remark.kind for suite in suites for remark in suite.remarks)
    assert kinds == {"ungradeable": 13, "unknown-field": 2}


def test_no_field_is_lost(corpus: Path) -> None:
    for path in found(corpus):
        suite = read_suite(str(path))
        cases, whole = cases_of(original(path))
        assert len(cases) == len(suite.records), path
        for case, record in zip(cases, suite.records, strict=True):
            check_case(case, record)
        assert set(whole) - {"skill_name"} <= set(suite.extra)
        assert suite.skill == whole.get("skill_name")
        named = {remark.message for remark in suite.remarks if remark.kind == "unknown-field"}
        odd = {key for case in cases for key in case} - set(RENAMED) - {"setup"}
        assert all(any(f".{key}: an unknown field" in text for text in named) for key in odd), path


def check_case(case: dict[str, Any], record: Record) -> None:
    for key, value in case.items():
        if key in RENAMED:
            assert value in ([], None) or getattr(record, RENAMED[key]) is not None
        elif key == "setup":
            commands = value.get("commands", [])
            assert len(record.files) == len(value.get("files", []))
            assert record.setup == tuple(commands)
        else:
            assert record.extra[key] == value
    copy = {**case, "assertions": [dict(each) for each in case.get("assertions", [])]}
    for assertion in copy["assertions"]:
        if assertion["type"] != "exit_success":
            del assertion["type"]  # its kind says it
    tools = len(case.get("expect_tools", []))
    assert len(record.checks) == len(case.get("assertions", [])) + tools
    missing = Counter(leaves(copy)) - kept(record)
    assert not missing, missing


def test_written_again_they_are_what_they_were(corpus: Path) -> None:
    for path in found(corpus):
        suite = read_suite(str(path))
        native = convert(suite, "native")
        again = read_bytes("evals.json", dump(native.data))
        assert isinstance(again, Suite)
        assert again.records == suite.records
        assert (again.skill, again.extra) == (suite.skill, suite.extra)
        if suite.format == "skill-creator":
            data = original(path)
            written = convert(suite, "skill-creator")
            assert not written.lost
            cases, whole = cases_of(data)
            for case, result in zip(cases, written.data["evals"], strict=True):
                assert result == {"files": [], "expectations": [], **case}
            assert {k: v for k, v in written.data.items() if k != "evals"} == whole


def test_what_they_name_is_there(corpus: Path) -> None:
    suites = [load_suite(str(path)) for path in found(corpus) if path.suffix == ".yaml"]
    sources = [file for suite in suites for r in suite.records for file in r.files if file.source]
    assert len(sources) == 51
