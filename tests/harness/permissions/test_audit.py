"""Decisions for a person who signs them off."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from cli.kit import run as invoke
from harness.permissions.kit import World, bash, run

from skilleval.errors import InputError
from skilleval.harness.permissions import Audit, Call, Decision, Mode, Rules, audit_lines


@pytest.fixture
def decisions(place: World) -> list[Decision]:
    rules = Rules.parse(["Bash(rm:*)"], [], ["Bash(ls:*)"])
    policy = place.policy(Mode.DEFAULT, rules=rules)
    return [
        bash("ls -la", policy),
        bash("rm x", policy),
        bash("wc x", policy),
        run(Call("Read", {"file_path": "src/app.py"}, "toolu_7"), place.policy()),
    ]


def event(decision: Decision) -> dict[str, Any]:
    return {"type": "permission", "tool_use": decision.id, **decision.to_event()}


def write_trace(path: Path, events: list[Mapping[str, Any]]) -> str:
    path.write_text("".join(json.dumps(each) + "\n" for each in events))
    return str(path)


def test_there_and_back(decisions: list[Decision]) -> None:
    for decision in decisions:
        again = Decision.from_event(json.loads(json.dumps(event(decision))))
        assert again == decision


@pytest.mark.parametrize(
    "change",
    [
        {"allowed": "yes"},
        {"step": "magic"},
        {"call": None},
        {"call": {"tool": 1, "input": {}}},
        {"capabilities": [{"kind": "read"}]},
        {"capabilities": 3},
        {"covered": None},
        {"reason": []},
    ],
)
def test_broken_events(decisions: list[Decision], change: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="a permission event is broken"):
        Decision.from_event({**event(decisions[0]), **change})
    with pytest.raises(InputError):
        Decision.from_event({"type": "permission"})


def test_lines(decisions: list[Decision], place: World) -> None:
    audit = Audit()
    lines = list(audit_lines([{"type": "start"}, *map(event, decisions)], audit))
    text = "\n".join(lines)
    assert lines[0] == "     1  allowed  Bash  ls -la"
    assert lines[1] == "          by allow rule: Bash(ls:*)"
    assert "     2  DENIED  Bash  rm x" in lines
    assert "!    3  DENIED  Bash  wc x" in lines
    assert "!    4  allowed  Read  src/app.py  [toolu_7]" in lines
    assert f"needs: read {place.workspace}/src/app.py" in text
    assert "4 decisions: 2 allowed, 2 denied" in lines
    assert "  step deny rule: 0 allowed, 1 denied" in lines
    assert "  tool Bash: 1 allowed, 2 denied" in lines
    assert lines[-1] == "2 calls were covered by no rule (marked !), 1 of them allowed"
    assert (audit.total, audit.uncovered) == (4, 2)
    assert list(audit_lines([event(decisions[0])]))[-1] == "every call was covered by a rule"


def test_the_command(decisions: list[Decision], tmp_path: Path) -> None:
    start = {"type": "start", "n": 0, "version": 1}
    path = write_trace(tmp_path / "t.jsonl", [start, *map(event, decisions), {"type": "later"}])
    done = invoke("audit", path)
    assert done.code == 0
    assert "4 decisions" in done.out
    assert invoke("audit", path, "--require-covered").code == 1
    as_json = invoke("audit", path, "--format", "json", "--require-covered")
    found = json.loads(as_json.out)
    assert as_json.code == 1
    assert len(found["decisions"]) == 4
    assert found["summary"]["uncovered"] == 2
    assert found["summary"]["steps"]["deny rule"] == {"allowed": 0, "denied": 1}
    covered = write_trace(tmp_path / "c.jsonl", [start, event(decisions[0])])
    assert invoke("audit", covered, "--require-covered").code == 0


def test_the_command_makes_texts_harmless(decisions: list[Decision], tmp_path: Path) -> None:
    bad = decisions[0]._replace(reason="\x1b[2J\nallowed by the king\u202e", decided_by="x\ny")
    done = invoke("audit", write_trace(tmp_path / "t.jsonl", [event(bad)]))
    assert "\x1b" not in done.out
    assert "\\u{1b}[2J\\u{a}allowed" in done.out


def test_the_command_says_what_is_wrong(decisions: list[Decision], tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    nothing = invoke("audit", write_trace(path, [{"type": "start", "n": 0}]))
    assert nothing.code == 2
    assert "no decisions" in nothing.err
    broken = invoke("audit", write_trace(path, [event(decisions[0]), {"type": "permission"}]))
    assert broken.code == 2
    assert "event 2: a permission event is broken" in broken.err
    path.write_text("not a trace\n{}\n")
    assert invoke("audit", str(path)).code == 2
    assert invoke("audit", str(tmp_path / "missing")).code == 2
    assert "Traceback" not in nothing.err + broken.err
