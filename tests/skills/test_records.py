"""The sample skills and their evaluation records hold together."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SKILLS = sorted(path.parent for path in (ROOT / "skills").glob("*/SKILL.md"))
NAMES = [path.name for path in SKILLS]
FIELDS = {"skills", "query", "files", "expected_behavior", "should_trigger"}
LINK = re.compile(r"\]\(((?:scripts|references)/[^)#]+)\)")


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))


def check_fields(record):
    assert set(record) == FIELDS
    assert record["query"].strip()
    assert isinstance(record["should_trigger"], bool)
    assert record["expected_behavior"]
    assert all(isinstance(text, str) and text.strip() for text in record["expected_behavior"])
    assert set(record["skills"]) <= set(NAMES)


def test_the_five_skills_are_there():
    assert NAMES == ["csv-tidy", "json-diff", "log-triage", "release-notes", "sqlite-profile"]


@pytest.mark.parametrize("skill", SKILLS, ids=NAMES)
def test_suite_of_a_skill(skill):
    records = load(skill / "evals" / "evals.json")
    for record in records:
        check_fields(record)
        assert record["skills"] == [skill.name]
        assert all((skill / name).is_file() for name in record["files"])
        unloaded = record["expected_behavior"][0] == f"Does not load the {skill.name} skill"
        assert unloaded is not record["should_trigger"]
        assert len(record["expected_behavior"]) >= 2
    wanted = [record["should_trigger"] for record in records]
    assert wanted.count(True) >= 4
    assert wanted.count(False) >= 3
    assert len({record["query"] for record in records}) == len(records)


@pytest.mark.parametrize("skill", SKILLS, ids=NAMES)
def test_every_fixture_is_used(skill):
    used = {name for record in load(skill / "evals" / "evals.json") for name in record["files"]}
    present = {f"evals/files/{path.name}" for path in (skill / "evals" / "files").iterdir()}
    assert present == used


def test_which_skill():
    records = load(ROOT / "evals" / "which-skill.json")
    for record in records:
        check_fields(record)
        assert record["files"] == []
        assert len(record["skills"]) <= 1
        assert record["should_trigger"] is bool(record["skills"])
    named = [record["skills"][0] for record in records if record["skills"]]
    assert all(named.count(name) >= 2 for name in NAMES)
    assert sum(not record["skills"] for record in records) >= 3


@pytest.mark.parametrize("skill", SKILLS, ids=NAMES)
def test_skill_file(skill):
    text = (skill / "SKILL.md").read_text(encoding="utf-8")
    _, head, body = text.split("---\n", 2)
    keys = dict(re.findall(r"^([a-z-]+):[ ]?(.*)$", head, re.M))
    assert keys["name"] == skill.name
    assert set(keys) <= {"name", "description", "license", "compatibility", "metadata"}
    assert 150 <= len(keys["description"]) <= 500
    assert "Use when" in keys["description"]
    assert not re.search(r"[<>]|: ", keys["description"])
    assert len(body.splitlines()) < 150
    command = re.search(r"```bash\n(.+)\n```", body)
    assert command is not None
    script = re.fullmatch(r"python3 \$\{CLAUDE_SKILL_DIR\}/(\S+) \$ARGUMENTS", command[1])
    assert script is not None
    bundled = {
        path.relative_to(skill).as_posix()
        for folder in ("scripts", "references")
        for path in (skill / folder).glob("*.[mp][dy]")
    }
    assert set(LINK.findall(body)) == bundled
    assert script[1] in bundled


@pytest.mark.parametrize("skill", SKILLS, ids=NAMES)
def test_references_are_one_level_deep(skill):
    for path in (skill / "references").iterdir():
        text = path.read_text(encoding="utf-8")
        assert "](" not in text
        assert len(text.splitlines()) <= 100 or "## Contents" in text
