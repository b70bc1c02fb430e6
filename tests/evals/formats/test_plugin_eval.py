"""Cases of ``claude plugin eval``: folders, and the result of a run."""

from __future__ import annotations

import pytest
from conftest import SHARED, Write

from skilleval.errors import InputError
from skilleval.evals import Behaviour, Limits, read_suite
from skilleval.evals.checks import FileExists, OutputMatches, ToolOrder, ToolUsed

CASE = """
description: a case
execution: {max_turns: 20, model: m}
graders:
  - {type: regex, name: rx, pattern: "hello", flags: i, match: not_contains}
  - {type: regex, name: tr, pattern: x, target: trace}
  - {type: tool_used, name: used, tool: Skill, max: 2, weight: 3}
  - {type: tool_order, tools: [Read, Edit]}
  - {type: file_exists, path: out.md}
  - {type: baseline, name: base}
"""


def test_a_case_of_both_files(write: Write) -> None:
    write({
        "evals/one/case.yaml": CASE, "evals/one/prompt.md": "Do it.\n",
        "evals/one/graders/clear.md": "It is clear.\n", "evals/two/prompt.md": "And this.",
        "evals/README.md": "x", "evals/none/x.txt": "",
    })  # fmt: skip
    found = read_suite("evals/one/case.yaml")
    (record,) = found.records
    assert (record.id, record.query) == ("one", "Do it.\n")
    assert record.limits == Limits(turns=20)
    assert record.checks == (
        OutputMatches(pattern="hello", ignore_case=True, negate=True, id="rx"),
        ToolUsed(tool="Skill", max=2, id="used", weight=3),
        ToolOrder(tools=("Read", "Edit")),
        FileExists(path="out.md"),
    )
    assert record.expected_behavior == (Behaviour("It is clear.", "clear"),)
    assert [grader["type"] for grader in record.extra["graders"]] == ["regex", "baseline"]
    assert [remark.kind for remark in found.remarks] == ["unmeasurable"] * 2
    whole = read_suite("evals")
    assert [r.id for r in whole.records] == ["one", "two"]
    assert whole.records[0] == record == read_suite("evals/one").records[0]
    assert whole.files == (
        "evals/one/case.yaml", "evals/one/prompt.md", "evals/one/graders/clear.md",
        "evals/two/prompt.md",
    )  # fmt: skip
    assert read_suite("evals/two/prompt.md").records[0].query == "And this."


@pytest.mark.parametrize(
    ("files", "path", "message"),
    [
        ({"a/case.yaml": "execution: {max_turns: 2}\n"}, "a/case.yaml", "no prompt"),
        ({"a/case.yaml": CASE, "a/prompt.md": " \n"}, "a", "no prompt"),
        ({"a/case.yaml": CASE, "a/prompt.md": "-> /etc/hosts"}, "a", "a link, which is not"),
        ({"a/x.txt": ""}, "a", "a folder without a case"),
        ({"a/prompt.md": b"\xff\xfe"}, "a", "not UTF-8"),
    ],
)
def test_near_misses(write: Write, files: dict[str, str], path: str, message: str) -> None:
    write(files)
    with pytest.raises(InputError, match=message):
        read_suite(path)


def test_the_result_of_a_run() -> None:
    path = SHARED / "claude-code" / "samples" / "plugin-eval-result.json"
    if not path.is_file():
        pytest.skip("the samples are not here")
    found = read_suite(str(path))
    (record,) = found.records
    assert record.query == "Do the fine thing."
    assert record.limits == Limits(4, 300)
    assert [check.kind for check in record.checks] == ["output_matches", "tool_used"]
    assert record.extra["arms"]["with"][0]["judgeCostUsd"] == 0.015
    assert found.extra["suite"]["ablation"] == "with-without"
    assert found.remarks == ()
