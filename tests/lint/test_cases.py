"""The odd skill folders of the shared cases: verdicts, what must be said, and how fast."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import SHARED

from skilleval.lint.engine import LintReport, Options, lint
from skilleval.lint.model import Finding
from skilleval.skill import discover

Case = dict[str, Any]

FILE = SHARED / "cases" / "skills.json"
CASES: list[Case] = json.loads(FILE.read_text("utf-8")) if FILE.is_file() else []
SECONDS = 2.0

READ_AS = {
    "empty-fm": [["name missing"], ["description missing"]],
    "zero-width": [["U+200B", "U+2060"]],
    "unquoted-hash": [["line 3", 'text after " #" is lost']],
    "wrong-dir": [["name is right-dir, folder is wrong-dir"]],
    "tag-smuggle": [["tag characters", "ignore all previous instructions"]],
}
"""What ``must_flag`` means where splitting it at commas would not say it: for each list, one
finding that holds all of its words. Case cc-fields has a test of its own."""


def by_id(case: Case) -> str:
    return str(case["id"])


def verdicts_that_differ(case: Case, report: LintReport, path: str) -> dict[str, str]:
    skill = next(skill for skill in report.skills if skill.path.endswith(path))
    return {
        target: verdict
        for target, verdict in skill.verdicts.items()
        if case["verdicts"].get(target, verdict) != verdict
    }


def says(finding: Finding, words: list[str]) -> bool:
    """Whether one finding is about all the words; ``line N`` is where it must stand."""
    for word in words:
        line = re.fullmatch(r"line (\d+)", word)
        if line and finding.line != int(line[1]):
            return False
        if not line and word.lower() not in finding.message.lower():
            return False
    return True


@pytest.fixture(scope="session")
def folder(cases: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with all the cases, written anew."""
    root = tmp_path_factory.mktemp("cases")
    subprocess.run([sys.executable, cases / "materialize.py", root], check=True)
    return root / "skills"


@pytest.fixture(scope="session")
def together(folder: Path) -> LintReport:
    """All cases in one run."""
    return lint(discover([str(folder.parent)]), Options())


def test_there_are_cases(cases: Path) -> None:
    assert len(CASES) == 74
    assert len({by_id(case) for case in CASES}) == 74


@pytest.mark.parametrize("case", CASES, ids=by_id)
def test_case_by_itself(case: Case, folder: Path) -> None:
    path = case["files"][0]["path"].partition("/")[0]
    start = time.perf_counter()
    report = lint(discover([str(folder / path)]), Options())
    seconds = time.perf_counter() - start
    assert verdicts_that_differ(case, report, path) == {}
    assert seconds < SECONDS
    must = case.get("must_flag")
    if must and case["id"] != "cc-fields":
        for words in READ_AS.get(case["id"], [must.split(", ")]):
            assert any(says(finding, words) for finding in report.findings), words


def test_keys_outside_the_specification_are_all_flagged(folder: Path) -> None:
    """The case says six and means at least six: it has eight."""
    report = lint(discover([str(folder / "cc-fields")]), Options())
    lines = (folder / "cc-fields/SKILL.md").read_text("utf-8").splitlines()
    flagged = [
        lines[f.line - 1][f.column - 1 : f.end_column - 1]
        for f in report.findings
        if f.rule == "unknown-key"
    ]
    assert (
        flagged
        == (
            "when_to_use argument-hint disable-model-invocation context agent paths shell effort"
        ).split()
    )


@pytest.mark.parametrize("case", CASES, ids=by_id)
def test_case_among_the_others(case: Case, together: LintReport) -> None:
    path = case["files"][0]["path"].partition("/")[0]
    if path == "link-dir":
        path = "target2/link-dir"  # found once, where the link leads
    assert verdicts_that_differ(case, together, f"/{path}") == {}


def test_every_case_is_found_once(together: LintReport) -> None:
    names = [Path(skill.path).name for skill in together.skills]
    own = {case["files"][0]["path"].partition("/")[0] for case in CASES}
    assert sorted(names) == sorted([*own, "sub", "target"])  # a nested one, and a link's target
