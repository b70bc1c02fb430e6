"""Settings files: where they are looked for, what they set, and how they fail."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from cli.kit import NAMED_OTHERWISE, POOR, Result, assert_one_clear_error, lint, run, skill_md
from conftest import Write

from skilleval.errors import ExitCode

SKILLS = {
    "s/a/SKILL.md": skill_md("b", POOR),
    "s/c/SKILL.md": skill_md("c", "Writes down whatever the user dictates. Use when dictating."),
}
IN_A = {"name-folder", "description-person", "description-when", "evals-none"}


def rules_of(path: str, result: Result) -> set[str]:
    return {finding["rule"] for finding in result.findings if finding["path"] == path}


def verdicts_of(path: str, result: Result) -> dict[str, str]:
    skill = next(skill for skill in result.json["skills"] if skill["path"] == path)
    verdicts: dict[str, str] = skill["verdicts"]
    return verdicts


# Where they are looked for


@pytest.mark.parametrize(
    ("file", "table"),
    [("skilleval.toml", "lint"), ("pyproject.toml", "tool.skilleval.lint")],
)
def test_both_files_hold_settings(write: Write, file: str, table: str) -> None:
    write(SKILLS | {file: f"[{table}]\nselect = ['name']\n"})
    assert lint().rules == {"name-folder"}


def test_the_own_file_goes_before_the_shared_one(write: Write) -> None:
    write(
        SKILLS
        | {
            "skilleval.toml": "[lint]\nselect = ['name']\n",
            "pyproject.toml": "[tool.skilleval.lint]\nselect = ['evaluations']\n",
        }
    )
    assert lint().rules == {"name-folder"}


def test_a_file_without_the_table_says_nothing(write: Write) -> None:
    write(
        SKILLS
        | {
            "skilleval.toml": "",
            "pyproject.toml": "[tool.skilleval.lint]\nselect = ['evaluations']\n",
        }
    )
    assert lint().rules == {"evals-none"}


def test_the_nearest_file_holds_alone(write: Write) -> None:
    write(
        {f"in/{path}": text for path, text in SKILLS.items()}
        | {
            "skilleval.toml": "[lint]\nignore = ['description']\nselect = ['description']\n",
            "in/pyproject.toml": "[tool.skilleval.lint]\nignore = ['evaluations']\n",
        }
    )
    os.chdir("in")
    assert rules_of("s/a/SKILL.md", lint()) == IN_A - {"evals-none"}


def test_a_file_further_up_holds_where_there_is_no_nearer_one(write: Write) -> None:
    write(
        {f"in/deep/{path}": text for path, text in SKILLS.items()}
        | {
            "skilleval.toml": "[lint]\nselect = ['name']\n",
            "in/pyproject.toml": "[project]\nname = 'skilleval-user'\n",
        }
    )
    os.chdir("in/deep")
    assert lint().rules == {"name-folder"}


def test_nothing_above_the_repository_holds(write: Write) -> None:
    write(
        {f"repo/{path}": text for path, text in SKILLS.items()}
        | {"skilleval.toml": "[lint]\nselect = ['name']\n", "repo/.git/HEAD": ""}
    )
    os.chdir("repo")
    assert rules_of("s/a/SKILL.md", lint()) == IN_A


def test_a_settings_file_of_a_skill_holds_for_nobody(write: Write) -> None:
    write(SKILLS | {"s/a/skilleval.toml": "[lint]\nignore = ['all']\n"})
    assert rules_of("s/a/SKILL.md", lint()) >= IN_A


def test_a_broken_file_of_others_does_no_harm(write: Write) -> None:
    write(SKILLS | {"pyproject.toml": "[project\n"})
    assert lint().code == 1


# What they set


def test_select(write: Write) -> None:
    write(SKILLS | {"skilleval.toml": "[lint]\nselect = ['name', 'description-person']\n"})
    assert lint().rules == {"name-folder", "description-person"}
    assert lint("--select", "evaluations").rules == {"evals-none"}


def test_ignore(write: Write) -> None:
    write(SKILLS | {"skilleval.toml": "[lint]\nignore = ['name', 'description-person']\n"})
    assert rules_of("s/a/SKILL.md", lint()) == IN_A - {"name-folder", "description-person"}
    assert lint("--ignore", "description").rules == {"evals-none"}


def test_what_is_selected_on_the_command_line_is_not_ignored(write: Write) -> None:
    write(SKILLS | {"skilleval.toml": "[lint]\nignore = ['name']\n"})
    assert lint("--select", "name-folder").rules == {"name-folder"}


def test_exclude(write: Write) -> None:
    write(SKILLS | {"skilleval.toml": "[lint]\nexclude = ['s/a']\n"})
    assert lint().skills == ["s/c"]
    assert lint("--exclude", "s/c").code == ExitCode.USAGE


def test_per_path(write: Write) -> None:
    settings = "[lint.per-path]\n's/a/*' = ['name', 'description-person']\n's/x/*' = ['all']\n"
    write(SKILLS | {"skilleval.toml": settings})
    result = lint()
    assert rules_of("s/a/SKILL.md", result) == IN_A - {"name-folder", "description-person"}
    assert rules_of("s/c/SKILL.md", result) == {"evals-none"}
    assert verdicts_of("s/a", result) == dict.fromkeys(NAMED_OTHERWISE, "pass")


def test_severity(write: Write) -> None:
    settings = "[lint.severity]\nname-folder = 'warning'\ndescription-person = 'error'\n"
    write(SKILLS | {"skilleval.toml": settings})
    severity = {finding["rule"]: finding["severity"] for finding in lint().findings}
    assert severity["name-folder"] == "warning"
    assert severity["description-person"] == "error"
    assert verdicts_of("s/a", lint()) == dict.fromkeys(NAMED_OTHERWISE, "fail")
    assert verdicts_of("s/c", lint()) == dict.fromkeys(NAMED_OTHERWISE, "pass")


def test_severity_of_a_group(write: Write) -> None:
    write(SKILLS | {"skilleval.toml": "[lint.severity]\ndescription = 'note'\n"})
    severity = {finding["rule"]: finding["severity"] for finding in lint().findings}
    assert severity["description-person"] == severity["description-when"] == "note"
    assert severity["name-folder"] == "error"


def test_targets(write: Write) -> None:
    write(SKILLS | {"skilleval.toml": "[lint]\ntargets = ['claude-code', 'api']\n"})
    assert verdicts_of("s/a", lint()) == {"api": "pass", "claude-code": "pass"}
    assert verdicts_of("s/a", lint("--target", "spec")) == {"spec": "fail"}
    assert verdicts_of("s/a", lint("--target", "all")) == NAMED_OTHERWISE


def test_fail_on(write: Write) -> None:
    write(SKILLS | {"skilleval.toml": "[lint]\nfail-on = 'note'\n"})
    assert run("lint", "s/c").code == 1
    assert run("lint", "s/c", "--fail-on", "error").code == 0
    write({"skilleval.toml": "[lint]\nfail-on = 'never'\n"})
    assert run("lint").code == 0
    assert run("lint", "--fail-on", "error").code == 1


def test_baseline(write: Write) -> None:
    root = write(SKILLS | {"skilleval.toml": "[lint]\nbaseline = 'data/known.json'\n"})
    (root / "data").mkdir()
    assert run("lint", "--write-baseline").code == 0
    assert (root / "data" / "known.json").is_file()
    assert lint().findings == []
    assert run("lint", "--ignore", "all", "--baseline", "none.json", "--write-baseline").code == 0
    assert lint("--baseline", "none.json").code == 1


# From another folder


def test_patterns_hold_from_the_folder_of_the_file(write: Write) -> None:
    settings = "[lint]\nexclude = ['s/c']\n\n[lint.per-path]\n's/a/*' = ['name-folder']\n"
    write(SKILLS | {"skilleval.toml": settings})
    os.chdir("s")
    result = lint()
    assert result.skills == ["a"]
    assert "name-folder" not in result.rules


def test_a_baseline_is_found_from_the_folder_of_the_file(write: Write) -> None:
    write(SKILLS | {"skilleval.toml": "[lint]\nbaseline = 'known.json'\n"})
    run("lint", "--write-baseline")
    os.chdir("s")
    assert lint().findings == []


# How they fail

WRONG = {
    "a misspelt setting": ("slect = ['name']", "slect"),
    "a setting that is not for files": ("path = 'x'", "path"),
    "a misspelt rule to select": ("select = ['name-foldr']", "did you mean name-folder?"),
    "a misspelt rule to ignore": ("ignore = ['name-foldr']", "did you mean name-folder?"),
    "a misspelt rule of a severity": (
        "severity = {name-foldr = 'note'}",
        "did you mean name-folder?",
    ),
    "a misspelt rule of a path": (
        "per-path = {'s/*' = ['name-foldr']}",
        "did you mean name-folder?",
    ),
    "a text for a list": ("select = 'name'", "select"),
    "a number in a list": ("ignore = ['name', 7]", "ignore.1"),
    "a list for a map": ("per-path = ['name']", "per-path"),
    "a text for a list in a map": ("per-path = {'s/*' = 'name'}", "per-path.s/*"),
    "an unknown severity": ("severity = {name-folder = 'fatal'}", "severity.name-folder"),
    "an unknown target": ("targets = ['gemini']", "targets.0"),
    "an unknown level to fail on": ("fail-on = 'always'", "fail-on"),
    "a number for a path": ("baseline = 7", "baseline"),
}


@pytest.mark.parametrize(("line", "words"), WRONG.values(), ids=list(WRONG))
def test_what_makes_no_sense_is_one_clear_error(write: Write, line: str, words: str) -> None:
    write(SKILLS | {"skilleval.toml": f"[lint]\n{line}\n"})
    assert_one_clear_error(run("lint"), "skilleval.toml: ", words)


def test_a_misspelt_setting_is_told_what_settings_there_are(write: Write) -> None:
    write(SKILLS | {"pyproject.toml": "[tool.skilleval.lint]\nfail_one = 'note'\n"})
    result = run("lint")
    assert_one_clear_error(result, "pyproject.toml: ", "fail_one")
    for name in ("select", "ignore", "exclude", "per-path", "severity", "targets", "fail-on"):
        assert name in result.err.splitlines()[1]


BROKEN: dict[str, str | bytes] = {
    "no TOML": "[lint\n",
    "bytes": b"[lint]\n# \xff\n",
    "no table": "lint = 3\n",
    "a list of tables": "[[lint]]\nselect = ['name']\n",
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=list(BROKEN))
def test_a_broken_file_is_one_clear_error(write: Write, content: str | bytes) -> None:
    write(SKILLS | {"skilleval.toml": content})
    assert_one_clear_error(run("lint"), "skilleval.toml", "")


def test_an_error_names_the_file_in_full(write: Write, tmp_path: Path) -> None:
    write(SKILLS | {"skilleval.toml": "[lint]\nslect = []\n"})
    os.chdir("s")
    assert str(tmp_path / "skilleval.toml") in run("lint").err


def test_an_unknown_table_is_one_clear_error(write: Write) -> None:
    write(SKILLS | {"skilleval.toml": "[lnt]\nselect = ['name']\n"})
    assert_one_clear_error(run("lint"), "skilleval.toml", "[lnt]")
