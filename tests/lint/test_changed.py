"""``--changed-since``: only skills that differ from a revision, asked of real repositories."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cli.kit import assert_one_clear_error, lint, run, skill_md
from conftest import Write

from skilleval.lint.changed import changed_since

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

SKILLS = {
    f"s/{name}/{file}": text
    for name in ("a", "b", "c")
    for file, text in (
        ("SKILL.md", skill_md("x", f"Reads {name} files. Use when the user names one.")),
        ("scripts/run.py", "print()\n"),
    )
}

Git = Callable[..., str]


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """Run git with an identity of its own and nobody's settings."""
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "ada@example.com")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))

    def call(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True)
        return done.stdout.decode()

    return call


@pytest.fixture
def repo(git: Git, write: Write) -> Path:
    """A repository with three skills, all committed; it is the working directory."""
    root = write(SKILLS)
    git("init", "--quiet", "--initial-branch=main")
    git("add", ".")
    git("commit", "--quiet", "--message=Add three skills")
    return root


def test_nothing_changed_is_nothing_to_report(repo: Path) -> None:
    result = lint("--changed-since", "HEAD")
    assert result.code == 0
    assert (result.skills, result.findings) == ([], [])
    assert result.err == "0 of 3 skills changed\n"


def test_a_modified_skill_file(repo: Path) -> None:
    (repo / "s/a/SKILL.md").write_text(skill_md("y"))
    result = lint("--changed-since", "HEAD")
    assert result.code == 1
    assert result.skills == ["s/a"]
    assert {finding["path"] for finding in result.findings} == {"s/a/SKILL.md"}
    assert result.err == "1 of 3 skills changed\n"


def test_another_file_of_a_skill(repo: Path) -> None:
    (repo / "s/b/scripts/run.py").write_text("print(1)\n")
    assert lint("--changed-since", "HEAD").skills == ["s/b"]


def test_a_staged_file(repo: Path, git: Git) -> None:
    (repo / "s/b/SKILL.md").write_text(skill_md("y"))
    git("add", ".")
    assert lint("--changed-since", "HEAD").skills == ["s/b"]


def test_a_committed_file(repo: Path, git: Git) -> None:
    (repo / "s/b/SKILL.md").write_text(skill_md("y"))
    git("commit", "--quiet", "--all", "--message=Change b")
    assert lint("--changed-since", "HEAD").skills == []
    for revision in ("HEAD~1", "main~", git("rev-parse", "HEAD~1").strip()[:10]):
        assert lint("--changed-since", revision).skills == ["s/b"]


def test_a_tag_and_a_branch_are_revisions(repo: Path, git: Git) -> None:
    git("tag", "--annotate", "v1", "--message=One")
    git("branch", "old")
    (repo / "s/b/SKILL.md").write_text(skill_md("y"))
    assert lint("--changed-since", "v1").skills == ["s/b"]
    assert lint("--changed-since", "old").skills == ["s/b"]


def test_an_untracked_file(repo: Path) -> None:
    (repo / "s/c/new.md").write_text("New\n")
    assert lint("--changed-since", "HEAD").skills == ["s/c"]


def test_a_new_skill(repo: Path) -> None:
    (repo / "s/d").mkdir()
    (repo / "s/d/SKILL.md").write_text(skill_md("d"))
    assert lint("--changed-since", "HEAD").skills == ["s/d"]


def test_an_ignored_file_is_no_change(repo: Path, git: Git) -> None:
    (repo / ".gitignore").write_text("*.log\n")
    (repo / "s/c/run.log").write_text("x\n")
    assert lint("--changed-since", "HEAD").skills == []


def test_a_deleted_file(repo: Path) -> None:
    (repo / "s/a/scripts/run.py").unlink()
    assert lint("--changed-since", "HEAD").skills == ["s/a"]


def test_a_deleted_skill(repo: Path) -> None:
    shutil.rmtree(repo / "s/a")
    result = lint("--changed-since", "HEAD")
    assert (result.code, result.skills) == (0, [])


def test_a_file_that_moved_changes_both_skills(repo: Path, git: Git) -> None:
    git("mv", "s/a/scripts/run.py", "s/b/scripts/walk.py")
    assert lint("--changed-since", "HEAD").skills == ["s/a", "s/b"]


def test_a_renamed_skill(repo: Path, git: Git) -> None:
    git("mv", "s/a", "s/z")
    assert lint("--changed-since", "HEAD").skills == ["s/z"]


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names that are refused there")
@pytest.mark.parametrize("name", ["ä b", "q\"'", "new\nline", "-x", "\udcff"])
def test_names_of_any_kind(repo: Path, name: str) -> None:
    (repo / "s" / name).mkdir()
    (repo / "s" / name / "SKILL.md").write_text(skill_md("d"))
    assert lint("--changed-since", "HEAD").skills == [f"s/{name}"]


def test_from_a_folder_below(repo: Path) -> None:
    (repo / "s/a/SKILL.md").write_text(skill_md("y"))
    os.chdir(repo / "s")
    assert lint("--changed-since", "HEAD").skills == ["a"]
    assert lint("a", "--changed-since", "HEAD").skills == ["a"]


def test_a_folder_whose_name_goes_on_is_another_one(repo: Path, git: Git) -> None:
    (repo / "s/ab").mkdir()
    (repo / "s/ab/SKILL.md").write_text(skill_md("ab"))
    assert lint("--changed-since", "HEAD").skills == ["s/ab"]


def test_skills_that_did_not_change_still_count_for_the_others(repo: Path) -> None:
    (repo / "s/a/SKILL.md").write_text((repo / "s/b/SKILL.md").read_text())
    result = lint("--changed-since", "HEAD", "--select", "copied-skill")
    assert [(f["rule"], f["path"]) for f in result.findings] == [("copied-skill", "s/a/SKILL.md")]


def test_only_changed_skills_are_fixed(repo: Path) -> None:
    for name in ("a", "b"):
        (repo / "s" / name / "SKILL.md").write_text(skill_md("2024"))
    subprocess.run(["git", "commit", "--quiet", "--all", "--message=Years"], check=True)
    (repo / "s/a/scripts/run.py").write_text("print(2)\n")
    assert "s/b" not in run("lint", "--changed-since", "HEAD", "--diff").out
    run("lint", "--changed-since", "HEAD", "--fix")
    assert "2024\n" in (repo / "s/b/SKILL.md").read_text()
    assert '"2024"\n' in (repo / "s/a/SKILL.md").read_text()


# What goes wrong


@pytest.mark.parametrize(
    "revision", ["nope", "HEAD~9", "0" * 40, "", "a b", "main:s", "..", "@{9}"]
)
def test_an_unknown_revision_is_an_error(repo: Path, revision: str) -> None:
    assert_one_clear_error(lint(f"--changed-since={revision}"), "")


def test_an_unknown_revision_is_named(repo: Path) -> None:
    assert_one_clear_error(lint("--changed-since", "nope"), "there is no revision nope")


@pytest.mark.parametrize("revision", ["--help", "-h", "--output=stolen", "--all", "-", "--"])
def test_a_revision_that_looks_like_an_option_is_none(repo: Path, revision: str) -> None:
    assert_one_clear_error(lint(f"--changed-since={revision}"), f"no revision {revision}")
    assert not (repo / "stolen").exists()


def test_what_is_no_commit_is_an_error(repo: Path) -> None:
    assert_one_clear_error(lint("--changed-since", "HEAD^{tree}"), "HEAD^{tree}")


def test_a_repository_without_a_commit_is_an_error(git: Git, write: Write) -> None:
    write(SKILLS)
    git("init", "--quiet")
    assert_one_clear_error(lint("--changed-since", "HEAD"), "there is no revision HEAD")


def test_what_is_no_repository_is_an_error(git: Git, write: Write) -> None:
    write(SKILLS)
    assert_one_clear_error(lint("--changed-since", "HEAD"), "not a git repository")


def test_git_that_is_missing_is_an_error(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(repo))
    assert_one_clear_error(lint("--changed-since", "HEAD"), "needs git")


# What a repository may not make git do


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
@pytest.mark.parametrize(
    "setting",
    [
        "core.fsmonitor",
        "diff.external",
        "diff.evil.command",
        "diff.evil.textconv",
        "filter.evil.clean",
        "filter.evil.process",
        "core.pager",
        "core.sshCommand",
    ],
)
def test_the_settings_of_a_repository_run_nothing(repo: Path, git: Git, setting: str) -> None:
    attributes = "*.md filter=evil diff=evil\n"
    (repo / ".gitattributes").write_text(attributes)
    git("config", setting, f"touch '{repo / 'ran'}'; cat")
    (repo / "s/a/SKILL.md").write_text(skill_md("changed"))
    assert lint("--changed-since", "HEAD").skills == ["s/a"]
    assert not (repo / "ran").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_the_hooks_of_a_repository_do_not_run(repo: Path) -> None:
    for name in ("post-index-change", "fsmonitor-watchman", "post-checkout", "pre-commit"):
        hook = repo / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch '{repo / 'ran'}'\n")
        hook.chmod(0o755)
    (repo / "s/a/SKILL.md").write_text(skill_md("changed"))
    os.utime(repo / "s/b/SKILL.md", (1, 1))  # makes git bring its index up to date
    assert "s/a" in lint("--changed-since", "HEAD").skills
    assert not (repo / "ran").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_a_filter_with_an_odd_name_does_not_run(repo: Path, git: Git) -> None:
    (repo / ".gitattributes").write_text("*.md filter=x=y\n")
    git("config", "filter.x=y.clean", f"touch '{repo / 'ran'}'; cat")
    (repo / "s/a/SKILL.md").write_text(skill_md("changed"))
    assert lint("--changed-since", "HEAD").skills == ["s/a"]
    assert not (repo / "ran").exists()


def test_a_filter_that_is_required_is_no_obstacle(repo: Path, git: Git) -> None:
    """As Git LFS sets it up on every machine that has it."""
    (repo / ".gitattributes").write_text("*.bin filter=lfs\n")
    git("config", "filter.lfs.clean", "cat")
    git("config", "filter.lfs.required", "true")
    (repo / "s/a/x.bin").write_text("one\n")
    git("add", ".")
    git("commit", "--quiet", "--message=Add a large file")
    (repo / "s/a/x.bin").write_text("two\n")
    assert lint("--changed-since", "HEAD").skills == ["s/a"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_the_settings_of_a_repository_inside_run_nothing(repo: Path, git: Git) -> None:
    inner = repo / "s/b/inner"
    inner.mkdir()
    (inner / ".gitattributes").write_text("* filter=evil\n")
    (inner / "f").write_text("one\n")
    git("-C", str(inner), "init", "--quiet")
    git("-C", str(inner), "add", ".")
    git("-C", str(inner), "commit", "--quiet", "--message=One")
    git("-c", "advice.addEmbeddedRepo=false", "add", ".")
    git("commit", "--quiet", "--message=Add a repository")
    git("-C", str(inner), "config", "filter.evil.clean", f"touch '{repo / 'ran'}'; cat")
    (inner / "f").write_text("two\n")
    assert lint("--changed-since", "HEAD").err.endswith(" of 3 skills changed\n")
    assert not (repo / "ran").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_what_is_missing_in_a_repository_is_not_fetched(repo: Path, git: Git) -> None:
    tree = git("rev-parse", "HEAD:s/a").strip()
    (repo / "s/a/SKILL.md").write_text(skill_md("changed"))
    git("commit", "--quiet", "--all", "--message=Change a")
    for name, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": "ssh://example.invalid/x",
        "core.sshCommand": f"touch '{repo / 'ran'}'; false",
    }.items():
        git("config", name, value)
    (repo / ".git/objects" / tree[:2] / tree[2:]).unlink()
    assert_one_clear_error(lint("--changed-since", "HEAD~1"), "git")
    assert not (repo / "ran").exists()


def test_paths_are_absolute(repo: Path) -> None:
    (repo / "s/a/SKILL.md").write_text("x")
    assert changed_since("HEAD") == {str(repo.resolve() / "s/a/SKILL.md")}
