"""What becomes of checks: passed, failed, could not be measured."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from evals.kit import CHECKS, checks
from hypothesis import given, settings
from hypothesis import strategies as st

from skilleval.evals import KINDS, Evidence, Finished, ToolCall, evaluate, evaluate_all, measuring
from skilleval.evals.evidence import Reader


def file(data: str | bytes) -> Reader:
    content = data.encode() if isinstance(data, str) else data
    return lambda limit: content[:limit]


def broken(limit: int) -> bytes:
    raise PermissionError("not yours")


async def run(command: str) -> Finished:
    if command == "slow":
        raise TimeoutError("over 60 s")
    return Finished(3 if "false" in command else 0, "said: ok\n")


FILES = {
    "a.json": file('{"rows": [{"n": 1}, {"n": 2.0}], "ok": true}'),
    "out/a.csv": file("id,n\n1,2.5\n2,x\n"),
    "out/b.tsv": file("id\tn\n1\t2\n"),
    "notes.md": file("# 3.1.0\nCafé and Tee\n"),
    "in.csv": file("a\n1\n"),
    "bad.json": file('{"a": 1,}'),
    "latin.txt": file(b"caf\xe9"),
    "big.txt": file("x" * (measuring.MAX_BYTES + 1)),
    "broken.txt": broken,
    "c.yaml": file("a: [1, 2]\n"),
    "c.toml": file("a = 1\n"),
    "l.jsonl": file('{"a": 1}\n\n{"a": 2}\n'),
    "ragged.csv": file("a,b\n1\n"),
}
EVIDENCE = Evidence(
    output="The answer is 42.\nDone",
    tools=[
        ToolCall("Read", {"file_path": "references/rules.md"}),
        ToolCall("Bash", {"command": "python scripts/tidy.py a.csv"}),
        ToolCall("mcp__db__query", {"limit": 5}, is_error=True),
        ToolCall("Bash", {"command": "ls"}),
    ],
    skills=["pack:csv-tidy", "json-diff"],
    references=["/s/csv-tidy/references/rules.md"],
    denials=0,
    dollars=0.25,
    turns=4,
    files=FILES,
    inputs={"in.csv": file("a\n1\n"), "notes.md": file("other")},
    run=run,
)


def outcome(kind: str, evidence: Evidence = EVIDENCE, **fields: Any) -> bool | None:
    check = KINDS[kind](**fields)
    result = asyncio.run(evaluate(check, evidence))
    assert result.reason
    negated = asyncio.run(evaluate(replace(check, negate=not check.negate), evidence))
    if result.passed is None:
        assert negated.passed is None
    elif "there is no" not in result.reason or kind in ("file_exists", "json_equals"):
        assert negated.passed is (not result.passed)
    return result.passed


ROWS = (("id", "n"), ("1", "2.5"), ("2", "x"))


@pytest.mark.parametrize(
    ("kind", "fields", "passed"),
    [
        ("file_exists", {"path": "out/a.csv"}, True),
        ("file_exists", {"path": "./notes.md"}, True),
        ("file_exists", {"path": "**/*.csv"}, True),
        ("file_exists", {"path": "*.tsv"}, False),
        ("file_exists", {"path": "../a"}, None),
        ("file_matches", {"path": "notes.md", "contains": "Café"}, True),
        ("file_matches", {"path": "notes.md", "contains": "CAFÉ"}, False),
        ("file_matches", {"path": "notes.md", "contains": "CAFÉ", "ignore_case": True}, True),
        ("file_matches", {"path": "*.md", "pattern": r"^# 3\.\d"}, True),
        ("file_matches", {"path": "notes.md", "pattern": "nope|never"}, False),
        ("file_matches", {"path": "gone.md", "contains": "x"}, False),
        ("file_matches", {"path": "gone.md", "contains": "x", "negate": True}, False),
        ("file_matches", {"path": "big.txt", "contains": "x"}, None),
        ("file_matches", {"path": "broken.txt", "contains": "x"}, None),
        ("file_matches", {"path": "notes.md", "pattern": "("}, None),
        ("file_parses", {"path": "a.json"}, True),
        ("file_parses", {"path": "bad.json"}, False),
        ("file_parses", {"path": "latin.txt", "format": "csv"}, False),
        ("file_parses", {"path": "c.yaml"}, True),
        ("file_parses", {"path": "c.toml"}, True),
        ("file_parses", {"path": "notes.md", "format": "toml"}, False),
        ("file_parses", {"path": "l.jsonl"}, True),
        ("file_parses", {"path": "out/b.tsv"}, True),
        ("file_parses", {"path": "ragged.csv"}, False),
        ("file_parses", {"path": "gone.json"}, False),
        ("file_parses", {"path": "*.json"}, None),
        ("json_equals", {"path": "a.json", "at": "$.rows[0].n", "value": 1}, True),
        ("json_equals", {"path": "a.json", "at": "$.rows[1].n", "value": 2}, True),
        ("json_equals", {"path": "a.json", "at": "$.rows[*].n", "value": [1, 2]}, True),
        ("json_equals", {"path": "a.json", "at": "$.ok", "value": 1}, False),
        ("json_equals", {"path": "a.json", "at": "$.ok", "value": True}, True),
        ("json_equals", {"path": "a.json", "at": "$.gone", "value": None}, False),
        ("json_equals", {"path": "bad.json", "value": {}}, False),
        ("table_equals", {"path": "out/a.csv", "rows": ROWS}, True),
        ("table_equals", {"path": "out/a.csv", "rows": ROWS[:2]}, False),
        ("table_equals", {"path": "out/a.csv", "rows": (ROWS[0], ROWS[2], ROWS[1])}, False),
        ("table_equals",
         {"path": "out/a.csv", "rows": (ROWS[0], ROWS[2], ROWS[1]), "unordered": True}, True),
        ("table_equals",
         {"path": "out/a.csv", "rows": (ROWS[0], ("1", "2.6"), ROWS[2]), "tolerance": 0.2}, True),
        ("table_equals", {"path": "out/b.tsv", "rows": (("id", "n"), ("1", "2"))}, True),
        ("file_unchanged", {"path": "in.csv"}, True),
        ("file_unchanged", {"path": "notes.md"}, False),
        ("file_unchanged", {"path": "a.json"}, None),
        ("output_matches", {"contains": "42"}, True),
        ("output_matches", {"pattern": "^Done$"}, True),
        ("output_matches", {"pattern": r"\bdone\b"}, False),
        ("output_matches", {"pattern": r"d.ne", "ignore_case": True}, True),
        ("command_exits", {"command": "true"}, True),
        ("command_exits", {"command": "false"}, False),
        ("command_exits", {"command": "false", "code": 3}, True),
        ("command_exits", {"command": "true", "contains": "said"}, True),
        ("command_exits", {"command": "true", "pattern": "no+"}, False),
        ("command_exits", {"command": "slow"}, None),
        ("tool_used", {"tool": "bash"}, True),
        ("tool_used", {"tool": "Bash", "min": 3}, False),
        ("tool_used", {"tool": "Bash", "max": 1}, False),
        ("tool_used", {"tool": "Bash", "min": 0, "max": 0}, False),
        ("tool_used", {"tool": "Bash", "arguments": {"command": r"tidy\.py"}, "max": 1}, True),
        ("tool_used", {"tool": "Bash", "arguments": {"other": "x"}}, False),
        ("tool_used", {"tool": "mcp__*", "arguments": {"limit": "^5$"}}, True),
        ("tool_used", {"tool": "Write"}, False),
        ("tool_order", {"tools": ("Read", "Bash", "Bash")}, True),
        ("tool_order", {"tools": ("Bash", "Read")}, False),
        ("tool_order", {"tools": ("Write",)}, False),
        ("skill_activated", {"skill": "csv-tidy"}, True),
        ("skill_activated", {"skill": "pack:csv-tidy"}, True),
        ("skill_activated", {"skill": "other:csv-tidy"}, False),
        ("skill_activated", {"skill": "log-triage"}, False),
        ("skill_activated", {"skill": "*", "min": 2, "max": 2}, True),
        ("reference_read", {"path": "references/rules.md"}, True),
        ("reference_read", {"path": "ules.md"}, False),
        ("no_denial", {}, True),
        ("cost_below", {"dollars": 0.3}, True),
        ("cost_below", {"dollars": 0.25}, False),
        ("turns_below", {"turns": 5}, True),
        ("turns_below", {"turns": 4}, False),
    ],
)  # fmt: skip
def test_outcomes(kind: str, fields: dict[str, Any], passed: bool | None) -> None:
    assert outcome(kind, **fields) is passed


def test_what_is_not_known_is_not_measured() -> None:
    for name in CHECKS:
        fields = {k: tuple(map(tuple, v)) if k == "rows" else v for k, v in CHECKS[name].items()}
        assert outcome(name, Evidence(), **fields) is None, name


def test_the_evidence_is_named() -> None:
    found = asyncio.run(
        evaluate_all(
            (
                KINDS["tool_used"](tool="Bash", arguments={"command": "^ls$"}),
                KINDS["file_exists"](path="*.md"),
                KINDS["output_matches"](contains="42"),
            ),
            EVIDENCE,
        )
    )
    assert [result.evidence for result in found] == ["tool:3", "file:notes.md", "output"]


def test_a_pattern_that_never_ends_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    from skilleval.evals import regexes

    monkeypatch.setattr(regexes, "SECONDS", 0.3)
    evidence = Evidence(output="a" * 5_000 + "!")
    assert outcome("output_matches", evidence, pattern="(a+)+$") is None


def test_hostile_files_are_bounded() -> None:
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(8)
    )
    evidence = Evidence(files={"b.yaml": file(bomb), "t.json": file("[" * 100_000)})
    assert outcome("file_parses", evidence, path="b.yaml") is False
    assert outcome("file_parses", evidence, path="t.json") is False


@settings(max_examples=60, deadline=None)
@given(checks(), st.binary(max_size=40))
def test_never_raises(check: Any, data: bytes) -> None:
    evidence = replace(EVIDENCE, files=dict.fromkeys(["a.json", "a.csv", "a.txt"], file(data)))
    result = asyncio.run(evaluate(check, evidence))
    assert result.passed in (True, False, None)
