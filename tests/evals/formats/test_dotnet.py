"""The scenarios of dotnet's skills."""

from __future__ import annotations

import pytest
from evals.kit import read

from skilleval.errors import InputError
from skilleval.evals import KINDS, InputFile, Limits

TEXT = """
scenarios:
  - name: "Profile"
    prompt: "Where is it slow?"
    expect_activation: false
    setup:
      copy_test_files: true
      commands: ["dotnet build"]
      files:
        - path: "A.cs"
          source: "../../../../tests/dotnet-diag/profile/fixtures/A.cs"
        - path: "B.cs"
          content: "class B {}"
    assertions:
      - {type: output_matches, pattern: "(?i)slow"}
      - {type: output_not_contains, value: "rm -rf"}
      - {type: file_exists, path: "**/*.md"}
      - {type: file_contains, path: "A.cs", value: "async"}
      - type: exit_success
    expect_tools: ["bash"]
    rubric: ["Names the method"]
    timeout: 120
"""


def test_scenarios() -> None:
    found = read(TEXT, "/repo/tests/dotnet-diag/profile/eval.yaml")
    (record,) = found.records
    assert (found.format, record.title, record.should_trigger) == ("dotnet", "Profile", False)
    assert record.limits == Limits(seconds=120)
    assert record.setup == ("dotnet build",)
    assert record.files[0] == InputFile(
        "fixtures/A.cs", None, "A.cs",
        {"source": "../../../../tests/dotnet-diag/profile/fixtures/A.cs"},
    )  # fmt: skip
    assert record.files[1].content == "class B {}"
    assert [(check.kind, check.negate) for check in record.checks] == [
        ("output_matches", False), ("output_matches", True), ("file_exists", False),
        ("file_matches", False), ("output_matches", False), ("tool_used", False),
    ]  # fmt: skip
    assert {check.kind for check in record.checks} <= set(KINDS)
    assert record.extra == {"setup": {"copy_test_files": True}}
    assert found.remarks == ()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("../../../../tests/dotnet-diag/profile/fixtures/A.cs", "../../../secret/A.cs",
         r"eval\.yaml:11:19: .*source: '../../../secret/A.cs' leads out of the folder"),
        ('path: "A.cs"\n', 'path: "../A.cs"\n', "leads out of the folder"),
        ("output_matches", "output_matchs", r"eval\.yaml:15:16: .*no assertion `output_matchs`"),
        ('pattern: "(?i)slow"', 'patern: "x"', "no field `pattern` or `value` here, but `patern`"),
        ("timeout: 120", "timeout: soon", "timeout: must be a number, but is a text"),
        ("prompt:", "promt:", r"no field `prompt` here, but `promt`"),
        ('rubric: ["Names the method"]', "rubric: Names", "rubric: must be a list"),
    ],
)  # fmt: skip
def test_near_misses(old: str, new: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(TEXT.replace(old, new, 1), "/repo/tests/dotnet-diag/profile/eval.yaml")


def test_a_pattern_that_is_not_pythons_is_a_remark() -> None:
    found = read(TEXT.replace("(?i)slow", "(?<n>x)"), "/repo/tests/dotnet-diag/profile/eval.yaml")
    assert [remark.kind for remark in found.remarks] == ["unmeasurable"]
