"""Baselines: what was there before does not count, what is new does."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from cli.kit import NAMED_OTHERWISE, Result, assert_one_clear_error, lint, run, skill_md
from conftest import Write

from skilleval.errors import ExitCode

TODO = "TODO: write this\n"


def baseline(*words: str) -> Result:
    return run("lint", "--baseline", "known.json", "--write-baseline", *words)


def known(*words: str) -> Result:
    return lint("--baseline", "known.json", *words)


def test_what_is_in_the_baseline_does_not_count(write: Write) -> None:
    write({"s/a/SKILL.md": skill_md("b", body=TODO)})
    before = lint()
    assert before.code == 1
    written = baseline()
    assert (written.code, written.out) == (0, "")
    assert written.err == f"wrote {len(before.findings)} findings to known.json\n"
    after = known()
    assert after.code == 0
    assert after.findings == []
    assert after.json["summary"]["baseline"] == len(before.findings)
    assert after.json["skills"][0]["verdicts"] == dict.fromkeys(NAMED_OTHERWISE, "pass")


def test_text_says_how_much_is_known(write: Write) -> None:
    write({"s/a/SKILL.md": skill_md("b")})
    baseline()
    assert "2 findings known from the baseline" in run("lint", "--baseline", "known.json").out


def test_only_new_findings_fail(write: Write) -> None:
    write({"s/a/SKILL.md": skill_md("b")})
    baseline()
    write({"s/c/SKILL.md": skill_md("d", "Reads words. Use when the user asks for words.")})
    result = known()
    assert result.code == 1
    assert {finding["path"] for finding in result.findings} == {"s/c/SKILL.md"}
    assert [skill["verdicts"]["spec"] for skill in result.json["skills"]] == ["pass", "fail"]


def test_a_new_rule_in_an_old_file_is_new(write: Write) -> None:
    write({"s/a/SKILL.md": skill_md("b")})
    baseline()
    write({"s/a/SKILL.md": skill_md("b", extra="tags: x\n")})
    assert known().rules == {"unknown-key"}


def test_lines_that_moved_are_still_known(write: Write) -> None:
    write({"s/a/SKILL.md": skill_md("b", body=TODO)})
    baseline()
    moved = skill_md("b", extra="license: MIT\n", body="Some more.\n\n" + TODO)
    write({"s/a/SKILL.md": moved.replace("---\n", "---\n# a comment\n", 1)})
    assert {f["line"] for f in lint().findings} != {1}
    assert known().findings == []


def test_a_number_in_a_message_may_change(write: Write) -> None:
    write({"s/a/SKILL.md": skill_md("a", body="Text.\n" * 600)})
    baseline()
    write({"s/a/SKILL.md": skill_md("a", body="Text.\n" * 700)})
    assert known("--select", "body-lines").findings == []
    assert lint("--select", "body-lines").rules == {"body-lines"}


def test_a_changed_line_is_new(write: Write) -> None:
    write({"s/a/SKILL.md": skill_md("a", body=TODO)})
    baseline()
    write({"s/a/SKILL.md": skill_md("a", body="TODO: write that\n")})
    assert known().rules == {"todo-left"}


def test_of_two_alike_each_counts(write: Write) -> None:
    write({"s/a/SKILL.md": skill_md("a", body=TODO)})
    baseline()
    write({"s/a/SKILL.md": skill_md("a", body=TODO + "\nText.\n\n" + TODO)})
    result = known()
    assert [f["rule"] for f in result.findings] == ["todo-left"]
    baseline()
    write({"s/a/SKILL.md": skill_md("a", body=TODO)})
    assert known().findings == []


def test_a_baseline_is_written_the_same_each_time_a_line_a_finding(write: Write) -> None:
    root = write({f"s/{name}/SKILL.md": skill_md("x", body=TODO) for name in "cab"})
    baseline()
    once = (root / "known.json").read_text()
    baseline()
    assert (root / "known.json").read_text() == once
    entries = json.loads(once)["findings"]
    assert [entry["path"] for entry in entries] == sorted(entry["path"] for entry in entries)
    assert sum('"fingerprint"' in line for line in once.splitlines()) == len(entries)


def test_a_baseline_of_nothing_knows_nothing(write: Write) -> None:
    write({"s/a/SKILL.md": skill_md("a")})
    assert baseline("--ignore", "all").code == 0
    assert known().rules == {"evals-none"}


def test_the_name_of_a_baseline_is_needed_to_write_it(write: Write) -> None:
    write({"s/a/SKILL.md": skill_md("b")})
    result = run("lint", "--write-baseline")
    assert result.code == ExitCode.USAGE
    assert "--write-baseline needs --baseline FILE" in result.err


def test_a_baseline_that_can_not_be_written_is_an_error(write: Write) -> None:
    write({"s/a/SKILL.md": skill_md("b")})
    result = run("lint", "--baseline", "no/such/known.json", "--write-baseline")
    assert result.code == ExitCode.USAGE
    assert result.err.startswith("error: can't write the baseline no/such/known.json: ")


BROKEN: dict[str, str | bytes] = {
    "empty": "",
    "no JSON": "{",
    "bytes": b"\xff\xfe\x00",
    "a list": "[]",
    "a number": "1",
    "another version": '{"version": 2, "findings": []}',
    "no version": '{"findings": []}',
    "no findings": '{"version": 1}',
    "findings that are no list": '{"version": 1, "findings": {"a": 1}}',
    "findings that are no findings": '{"version": 1, "findings": [1, null]}',
    "findings without names": '{"version": 1, "findings": [{"rule": "name-folder"}]}',
    "nested too deep": "[" * 100_000,
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=list(BROKEN))
def test_a_broken_baseline_is_one_clear_error(write: Write, content: str | bytes) -> None:
    write({"s/a/SKILL.md": skill_md("b"), "known.json": content})
    assert_one_clear_error(known(), "known.json")


@pytest.mark.parametrize("format_", ["json", "sarif"])
def test_a_report_is_no_baseline(write: Write, format_: str) -> None:
    root = write({"s/a/SKILL.md": skill_md("b")})
    (root / "known.json").write_text(run("lint", "--format", format_).out)
    assert_one_clear_error(known(), "known.json")


def test_a_missing_baseline_is_one_clear_error_that_says_how_to_write_it(write: Write) -> None:
    write({"s/a/SKILL.md": skill_md("b")})
    result = known()
    assert_one_clear_error(result, "known.json")
    assert "skilleval lint --baseline known.json --write-baseline" in result.err


def test_a_folder_is_no_baseline(write: Write) -> None:
    write({"s/a/SKILL.md": skill_md("b"), "known.json/x": ""})
    assert_one_clear_error(known(), "known.json")


def test_a_baseline_holds_wherever_it_is_used_from(write: Write, tmp_path: Path) -> None:
    write({"s/a/SKILL.md": skill_md("b")})
    baseline()
    os.chdir("s")
    assert lint("--baseline", "../known.json").findings == []
    assert lint("--baseline", str(tmp_path / "known.json"), str(tmp_path / "s")).findings == []
