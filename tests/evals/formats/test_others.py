"""The formats that are read only: waza, skillgrade, agent-exam, shared-benchmark, promptfoo."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import Write
from evals.kit import read, suite

from skilleval.errors import InputError
from skilleval.evals import Behaviour, Limits, read_suite
from skilleval.evals.checks import (
    CommandExits,
    CostBelow,
    FileExists,
    OutputMatches,
    SkillActivated,
    ToolUsed,
)

WAZA = """
name: demo
skill: explainer
version: "1.0"
config: {trials_per_task: 3, timeout_seconds: 300, executor: mock}
graders:
  - {type: regex, name: polite, config: {must_match: ["(?i)please"], must_not_match: ["damn"]}}
  - {type: code, name: long, config: {assertions: ["len(output) > 10"]}}
metrics: [{name: task_completion, weight: 0.4}]
tasks:
  - tasks/*.yaml
  - id: inline
    name: Inline
    inputs: {prompt: "Explain this", files: [{path: a.py, content: "x = 1"}], context: {k: v}}
    expected: {outcomes: [Explains x], output_contains: [x], should_trigger: true}
    graders: [{type: file, config: {must_exist: [out.md]}}, {type: prompt, rubric: rubric.md}]
"""
TASK = 'id: far\ninputs: {prompt: "From a file"}\nexpected: {output_not_contains: [secret]}\n'


def test_waza(write: Write) -> None:
    write({"eval.yaml": WAZA, "tasks/b.yaml": TASK, "rubric.md": "Is it clear?\n"})
    found = read_suite("eval.yaml")
    far, inline = found.records
    assert (found.format, found.skill) == ("waza", "explainer")
    assert found.files == ("eval.yaml", "tasks/b.yaml")
    assert far.origin and (far.origin.path, far.origin.line) == ("tasks/b.yaml", 1)
    assert inline.limits == Limits(seconds=300)
    assert [check.kind for check in far.checks] == ["output_matches"] * 3
    assert inline.checks[:2] == (FileExists(path="out.md"), OutputMatches(contains="x"))
    assert inline.expected_behavior[:2] == (
        Behaviour("Is it clear?\n", extra={"rubric": "rubric.md"}), Behaviour("Explains x"),
    )  # fmt: skip
    assert inline.extra == {"inputs": {"context": {"k": "v"}}}
    assert found.extra["graders"][0]["type"] == "code"
    assert found.extra["config"]["executor"] == "mock"
    assert [remark.kind for remark in found.remarks] == ["unmeasurable"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"eval.yaml": WAZA}, r"eval\.yaml:11:5: tasks\[0\]: no file matches 'tasks/\*\.yaml'"),
        ({"eval.yaml": WAZA.replace("tasks/*", "../*"), "tasks/a.yaml": TASK}, "leads out"),
        ({"eval.yaml": WAZA, "tasks/a.yaml": "id: x\n"}, r"tasks/a\.yaml:1:1: there is no field"),
        ({"eval.yaml": WAZA, "tasks/a.yaml": "id: [\n"}, r"tasks/a\.yaml:2:1: no YAML"),
        ({"eval.yaml": WAZA, "tasks/a.yaml": b"\xff"}, r"tasks/a\.yaml: not UTF-8"),
        ({"eval.yaml": WAZA, "tasks/a.yaml": "-> /etc/passwd"}, "a link, which is not followed"),
    ],
)
def test_waza_near_misses(write: Write, files: dict[str, Any], message: str) -> None:
    write(files)
    with pytest.raises(InputError, match=message):
        read_suite("eval.yaml")


def test_waza_triggers() -> None:
    found = read("skill: a\nshould_trigger_prompts:\n- {prompt: p, reason: r, confidence: high}\n"
                 "should_not_trigger_prompts: [q]\n", "trigger_tests.yaml")  # fmt: skip
    assert found.format == "waza-triggers"
    assert [(r.query, r.should_trigger, r.note) for r in found.records] == [
        ("p", True, "r"), ("q", False, ""),
    ]  # fmt: skip
    assert found.records[0].extra == {"confidence": "high"}
    assert found.records[0].skills == ("a",)


def test_skillgrade(write: Write) -> None:
    write({
        "rubrics/q.md": "Was it quick?",
        "eval.yaml": """
version: "1"
skill: lint
defaults: {agent: claude, trials: 5, timeout: 300, docker: {base: node}}
tasks:
  - name: fix
    instruction: Fix app.js
    workspace: [{src: fixtures/app.js, dest: app.js, chmod: "+x"}]
    graders:
      - {type: deterministic, run: bash graders/check.sh, weight: 0.7, setup: npm i}
      - {type: llm_rubric, rubric: rubrics/q.md, weight: 0.3, model: m}
      - {type: tool_usage, expectedTools: [x]}
    metadata: {k: v}
""",
    })  # fmt: skip
    found = read_suite("eval.yaml")
    (record,) = found.records
    assert found.format == "skillgrade" and found.extra["defaults"]["trials"] == 5
    (check,) = record.checks
    assert isinstance(check, CommandExits) and check.weight == 0.7
    assert check.extra == {"setup": "npm i"}
    assert record.expected_behavior[0].text == "Was it quick?"
    assert record.files[0].extra == {"chmod": "+x"}
    assert record.files[0].target == "app.js"
    assert record.extra["graders"][0]["type"] == "tool_usage"
    assert record.extra["metadata"] == {"k": "v"}
    assert record.limits.seconds == 300


@pytest.mark.parametrize(
    ("output", "passed"),
    [
        ('{"score": 1.0, "details": "x"}', True), ('{"score":1}', True),
        ('{"score": 0.5}', False), ('{"score": 10}', False), ('{"score": 1.5}', False), ("", False),
    ],
)  # fmt: skip
def test_skillgrade_wants_the_full_score(output: str, passed: bool) -> None:
    import re

    from skilleval.evals.formats.skillgrade import FULL_SCORE

    assert bool(re.search(FULL_SCORE, output)) is passed


def test_agent_exam() -> None:
    found = suite([
        {"kind": "task", "prompt": "p", "tags": ["t"],
         "assertions": ["does it", {"type": "contains", "value": "x"}],
         "setup": {"fixture": "fx/one", "env": {"A": "b"}}},
        {"kind": "trigger", "skill": "a", "positive": ["yes"], "negative": ["no"]},
        {"kind": "trigger", "mcp_tool": "mcp__x__y", "positive": ["use it"], "negative": ["not"]},
    ])  # fmt: skip
    assert found.format == "agent-exam"
    exam, yes, no, use, leave = found.records
    assert (exam.files[0].source, exam.files[0].path) == ("fx/one", ".")
    assert exam.checks == (OutputMatches(contains="x"),)
    assert exam.extra == {"kind": "task", "setup": {"env": {"A": "b"}}}
    assert (yes.should_trigger, no.should_trigger) == (True, False)
    assert use.checks == (ToolUsed(tool="mcp__x__y"),)
    assert leave.checks == (ToolUsed(tool="mcp__x__y", negate=True),)
    assert use.should_trigger is None
    assert suite({"kind": "trigger", "skill": "a", "positive": ["x"]}).records[0].skills == ("a",)
    with pytest.raises(InputError, match="leads out"):
        suite({"kind": "task", "prompt": "p", "setup": {"fixture": "../x"}})


def test_shared_benchmark() -> None:
    found = suite({
        "version": 1, "skill_name": "a", "skill_paths": ["x"], "variants": ["v"],
        "cases": [{"id": "1", "split": "dev", "kind": "positive", "prompt": "p", "files": [],
                   "expected_behavior": ["b"],
                   "assertions": [
                       {"name": "n", "type": "text", "oracle": "o", "severity": "hard"},
                   ]}],
        "ablations": [{"name": "no-references"}],
    })  # fmt: skip
    (record,) = found.records
    assert found.format == "shared-benchmark"
    assert record.expected_behavior == (
        Behaviour("b"), Behaviour("o", "n", extra={"type": "text", "severity": "hard"}),
    )  # fmt: skip
    assert record.extra == {"split": "dev", "kind": "positive"}
    assert set(found.extra) == {"version", "skill_paths", "variants", "ablations"}
    assert found.remarks == ()


def test_promptfoo() -> None:
    found = read("""
prompts: ["Please: {{request}}"]
providers: [x]
defaultTest: {assert: [{type: contains, value: done}]}
tests:
  - description: one
    vars: {request: tidy up}
    assert:
      - {type: skill-used, value: csv-tidy}
      - {type: not-skill-used, value: [a, b]}
      - {type: skill-used, value: {pattern: "csv-*", min: 1, max: 2}}
      - {type: not-skill-used, value: {pattern: "x*", max: 0}}
      - {type: not-icontains, value: Sorry, weight: 2}
      - {type: cost, threshold: 0.5}
      - {type: llm-rubric, value: Is it clear?}
      - {type: javascript, value: "output.length > 3"}
""", "promptfooconfig.yaml")  # fmt: skip
    (record,) = found.records
    assert (found.format, record.query) == ("promptfoo", "Please: tidy up")
    assert record.checks == (
        SkillActivated(skill="csv-tidy"),
        SkillActivated(skill="a", negate=True),
        SkillActivated(skill="b", negate=True),
        SkillActivated(skill="csv-*", min=1, max=2),
        SkillActivated(skill="x*", negate=True),
        OutputMatches(contains="Sorry", ignore_case=True, negate=True, weight=2),
        CostBelow(dollars=0.5),
        OutputMatches(contains="done"),
    )
    assert [b.text for b in record.expected_behavior] == [
        "Is it clear?", "javascript: output.length > 3",
    ]  # fmt: skip
    assert record.expected_behavior[1].extra["value"] == "output.length > 3"
    assert [remark.kind for remark in found.remarks] == ["unmeasurable"]
    with pytest.raises(InputError, match="nothing here says what to ask"):
        suite([{"assert": [{"type": "skill-used", "value": "a"}]}])


def test_promptfoo_without_a_template() -> None:
    found = suite([{"vars": {"other": "x", "prompt": "ask"}, "assert": []}])
    assert found.records[0].query == "ask"
