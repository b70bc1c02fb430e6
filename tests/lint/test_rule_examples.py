"""Every rule shows a bad and a good example; both are put to the test."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from conftest import write_files

from skilleval.lint.engine import Options, lint
from skilleval.lint.model import ALL, Example, Rule
from skilleval.lint.registry import all_rules
from skilleval.skill import discover

MADE_BY_TESTS_ONLY = {"too-many-files", "archive-escapes"}
"""Rules whose bad example is no text: tests of their own make it."""


def findings(root: Path, example: Example) -> set[str]:
    files: Mapping[str, str] = (
        {"pdf-tools/SKILL.md": example} if isinstance(example, str) else example
    )
    write_files(root, files)
    return {finding.rule for finding in lint(discover([str(root)]), Options()).findings}


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.id)
def test_bad_example_is_found_and_good_one_is_not(rule: Rule, tmp_path: Path) -> None:
    if rule.id not in MADE_BY_TESTS_ONLY:
        assert rule.id in findings(tmp_path / "bad", rule.bad)
    assert rule.id not in findings(tmp_path / "good", rule.good)


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.id)
def test_rule_says_what_it_is_for(rule: Rule) -> None:
    check = rule.check or rule.check_catalog
    assert rule.id == rule.id.lower() and " " not in rule.id
    assert rule.why.endswith(".") and len(rule.why) < 260
    assert rule.sources and set(rule.levels) <= set(ALL)
    assert check is None or (check.__doc__ or "").strip().endswith(".")
