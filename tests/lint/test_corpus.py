"""Linting hundreds of public skills: it goes through, and its errors are true."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import PROJECT

from skilleval.lint.engine import LintReport, Options, lint
from skilleval.lint.model import Severity
from skilleval.skill import discover

JUDGED = PROJECT / "tests" / "lint" / "data" / "corpus_errors.json"


@pytest.fixture(scope="module")
def report(corpus: Path) -> LintReport:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(corpus)
        return lint(discover(["."]), Options())


def judged() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(JUDGED.read_text(encoding="utf-8"))
    return found


def test_every_skill_of_the_corpus_is_found(corpus: Path, report: LintReport) -> None:
    folders = {path.parent for path in corpus.rglob("SKILL.md")}
    assert len(report.skills) == len(folders)


def test_places_lie_in_the_files(corpus: Path, report: LintReport) -> None:
    lengths: dict[str, int] = {}
    for finding in report.findings:
        if finding.path not in lengths:
            text = (corpus / finding.path).read_text(encoding="utf-8", errors="replace")
            lengths[finding.path] = text.count("\n") + 1
        assert 1 <= finding.line <= finding.end_line <= lengths[finding.path], finding


def test_sampled_errors_are_true() -> None:
    assert len(judged()) == 50
    assert all(entry["true"] for entry in judged()), (
        "a rule whose errors are false is no error rule"
    )


@pytest.mark.parametrize("entry", judged(), ids=lambda e: f"{e['rule']}:{e['path']}:{e['line']}")
def test_sampled_error_is_still_found(entry: dict[str, Any], report: LintReport) -> None:
    assert any(
        (finding.path, finding.line, finding.rule) == (entry["path"], entry["line"], entry["rule"])
        and finding.severity is Severity.ERROR
        for finding in report.findings
    )
