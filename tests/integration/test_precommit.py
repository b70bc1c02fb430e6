"""The pre-commit hooks, run by pre-commit itself."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import GOOD, PROJECT, write_files

from skilleval.skill import discover

MANIFEST = PROJECT / ".pre-commit-hooks.yaml"
BAD = """---
name: Odd_Name
description: Draws bar charts of a survey. Use when the user asks for a chart.
---

# Charts

Run `gnuplot` on the file.
"""
FIXABLE = GOOD.replace("# PDF tools", "# PDF tools\n\nSee [more](references\\more.md).")


def hooks() -> dict[str, dict[str, Any]]:
    return {hook["id"]: hook for hook in yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))}


@pytest.fixture
def pre_commit() -> list[str]:
    """The command, where it is installed."""
    pytest.importorskip("pre_commit", reason="pre-commit is not installed")
    return [sys.executable, "-m", "pre_commit"]


def run(words: list[str], folder: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command with standard output and error in one, as pre-commit's user sees them."""
    return subprocess.run(
        words,
        cwd=folder,
        env=dict(env),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=600,
        check=False,
    )


def git(folder: Path, env: Mapping[str, str], *words: str) -> str:
    done = run(["git", *words], folder, env)
    assert done.returncode == 0, done.stdout
    return done.stdout


def commit_all(folder: Path, env: Mapping[str, str]) -> str:
    """Make a repository of a folder with one commit; its id."""
    git(folder, env, "init", "--quiet")
    git(folder, env, "add", "--all", "--force")
    git(folder, env, "commit", "--quiet", "--message", "All of it")
    return git(folder, env, "rev-parse", "HEAD").strip()


@pytest.fixture
def released(tmp_path: Path, env: dict[str, str]) -> Path:
    """A repository with one commit that holds this checkout as it stands."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=PROJECT,
        env={**env, "GIT_OPTIONAL_LOCKS": "0"},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    if listed.returncode:
        pytest.skip("this is no git checkout")
    copy = tmp_path / "skilleval"
    for name in filter(None, listed.stdout.split("\0")):
        source = PROJECT / name
        if source.is_file() and not source.is_symlink():  # else deleted, or not for a package
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy / name)
    commit_all(copy, env)
    return copy


@pytest.fixture
def project(tmp_path: Path, env: dict[str, str]) -> Path:
    """A user's repository with a good and a bad skill, and files that are no skill's."""
    folder = write_files(
        tmp_path / "project",
        {
            "README.md": "# Mine\n",
            "skills/pdf-tools/SKILL.md": GOOD,
            "skills/odd name/SKILL.md": BAD,
        },
    )
    commit_all(folder, env)
    return folder


def test_manifest_is_valid(pre_commit: list[str], tmp_path: Path, env: dict[str, str]) -> None:
    done = run([*pre_commit, "validate-manifest", str(MANIFEST)], tmp_path, env)
    assert done.returncode == 0, done.stdout


def test_hooks_run_the_command() -> None:
    assert set(hooks()) == {"skilleval-lint", "skilleval-fix"}
    for hook in hooks().values():
        assert hook["entry"].startswith("skilleval lint")
        assert hook["require_serial"] is True


@pytest.mark.parametrize("hook", ["skilleval-lint", "skilleval-fix"])
@pytest.mark.parametrize(
    ("name", "passed"),
    [
        ("SKILL.md", True),
        ("skill.md", True),
        ("plugins/a/skills/b/Skill.MD", True),
        ("README.md", False),
        ("skills/b/references/more.md", False),
        ("docs/my-skill.md", False),
        ("skills/b/SKILL.md.bak", False),
        ("SKILL.md/notes.txt", False),
    ],
)
def test_files_that_are_passed(hook: str, name: str, passed: bool) -> None:
    """What matches has to belong to a skill, or the command could not run."""
    assert bool(re.search(hooks()[hook]["files"], name)) is passed


@pytest.mark.parametrize("name", ["SKILL.md", "skill.md", "Skill.MD"])
def test_what_is_passed_belongs_to_a_skill(name: str, tmp_path: Path) -> None:
    write_files(tmp_path, {name: GOOD})
    assert discover([str(tmp_path / name)]).skills


@pytest.mark.slow
@pytest.mark.usefixtures("index")
def test_try_repo(
    pre_commit: list[str], released: Path, project: Path, env: dict[str, str], tmp_path: Path
) -> None:
    """The way to try a hook without any configuration."""
    files = ["skills/pdf-tools/SKILL.md", "skills/odd name/SKILL.md", "README.md"]
    done = run(
        [*pre_commit, "try-repo", str(released), "skilleval-lint", "--verbose", "--files", *files],
        project,
        {**env, "PRE_COMMIT_HOME": str(tmp_path / "store")},
    )
    assert done.returncode == 1, done.stdout
    assert "- exit code: 1" in done.stdout
    assert "skills/odd name/SKILL.md:2:7: error[" in done.stdout
    assert not re.search(r"pdf-tools/SKILL\.md:\d+:\d+: (error|warning)", done.stdout)
    assert "2 skills: " in done.stdout


@pytest.mark.slow
@pytest.mark.usefixtures("index")
def test_commits(
    pre_commit: list[str], released: Path, project: Path, env: dict[str, str], tmp_path: Path
) -> None:
    """Installed hooks stop a commit with a bad skill and let a good one pass."""
    env["PRE_COMMIT_HOME"] = str(tmp_path / "store")
    revision = git(released, env, "rev-parse", "HEAD").strip()
    names = [{"id": "skilleval-fix"}, {"id": "skilleval-lint", "args": ["--target", "all"]}]
    config = {"repos": [{"repo": str(released), "rev": revision, "hooks": names}]}
    (project / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    assert run([*pre_commit, "install"], project, env).returncode == 0

    git(project, env, "add", ".pre-commit-config.yaml")
    skipped = run(["git", "commit", "--message", "No skill in it"], project, env)
    assert skipped.returncode == 0, skipped.stdout
    assert skipped.stdout.count("(no files to check)Skipped") == 2

    bad = project / "skills" / "odd name" / "SKILL.md"
    bad.write_text(BAD.replace("Run ", "Start "), encoding="utf-8")
    git(project, env, "add", "--all")
    refused = run(["git", "commit", "--message", "A bad skill"], project, env)
    assert refused.returncode == 1, refused.stdout
    assert "skills/odd name/SKILL.md:2:7: error[" in refused.stdout
    assert "pdf-tools" not in refused.stdout, "only what changed is checked"
    git(project, env, "reset", "--quiet", "--hard")

    write_files(
        project / "skills" / "pdf-tools", {"SKILL.md": FIXABLE, "references/more.md": "# More\n"}
    )
    git(project, env, "add", "--all")
    fixed = run(["git", "commit", "--message", "To be fixed"], project, env)
    assert fixed.returncode == 1, fixed.stdout
    assert "files were modified by this hook" in fixed.stdout
    assert "fixed: 1 finding in 1 skill" in fixed.stdout
    git(project, env, "add", "--all")
    passed = run(["git", "commit", "--message", "Fixed"], project, env)
    assert passed.returncode == 0, passed.stdout
    assert passed.stdout.count("Passed") == 2
