"""The release-notes script, as a user meets it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest

SCRIPT = "release-notes/release_notes.py"
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """Make a repository with two tags and some work after the second one."""
    folder = tmp_path_factory.mktemp("repository")
    environment = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        **{f"GIT_{role}_NAME": "dev" for role in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{role}_EMAIL": "dev@example.org" for role in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{role}_DATE": "2024-05-01T10:00:00Z" for role in ("AUTHOR", "COMMITTER")},
    }

    def git(*arguments):
        command = ["git", "-C", str(folder), *arguments]
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(message):
        git("commit", "-q", "--allow-empty", "-m", message)
        return git("rev-parse", "HEAD")

    git("init", "-q", "-b", "main")
    commit("feat: first version")
    git("tag", "v1.0.0")
    commit("fix: handle <empty> names")
    git("tag", "v1.0.1")
    commit("feat(ui): größere Schrift")
    wrong = commit("feat: short-lived idea")
    commit(f'Revert "feat: short-lived idea"\n\nThis reverts commit {wrong}.')
    commit("chore!: require a newer runtime\n\nBREAKING CHANGE: runtime 3 is\nneeded.\n\nRefs: #9")
    return folder


def test_saved_log(run, fixture_file):
    done = run(SCRIPT, fixture_file("release-notes/history.log"), "--title", "3.1.0")
    assert done.returncode == 0
    assert done.stdout.startswith("## 3.1.0\n\n### Breaking changes\n\n- **api:** Return cursors")
    assert "pass the `next` cursor of the previous answer" in done.stdout
    assert "- **export:** Keep leading zeros in postcodes (#228) (" in done.stdout
    assert "Fix crash when the settings file is empty" in done.stdout
    assert "attachments" not in done.stdout
    assert "arm64" not in done.stdout
    assert "14 commits, 9 entries" in done.stderr
    assert "2 housekeeping, 1 merges, 2 reverted, 0 repeated; suggested step: major" in done.stderr


def test_saved_log_with_everything_and_as_json(run, fixture_file):
    source = fixture_file("release-notes/history.log")
    done = run(SCRIPT, source, "--all", "--url", "https://example.org/p/")
    assert "### Housekeeping" in done.stdout
    assert "](https://example.org/p/commit/" in done.stdout
    data = json.loads(run(SCRIPT, source, "--json").stdout)
    assert data["suggested_step"] == "major"
    assert data["newest"] == "2024-04-28"
    assert data["sections"]["Breaking changes"][0]["issues"] == ["231"]
    assert len(data["sections"]["Fixed"]) == 2


def test_oneline_log_into_a_file(run, fixture_file):
    source = fixture_file("release-notes/oneline.log")
    target = source.with_name("NOTES.md")
    done = run(SCRIPT, source, "--title", "0.9.0", "--date", "2024-05-01", "--output", target)
    assert (done.returncode, done.stdout) == (0, "")
    text = target.read_text(encoding="utf-8")
    assert text.startswith(
        "## 0.9.0 - 2024-05-01\n\n### Added\n\n- Add a dark colour scheme (a1b2c3d)"
    )
    assert "Remember the last folder" in text
    assert "bump" not in text
    again = run(SCRIPT, source, "--output", target)
    assert again.returncode == 2
    assert "exists; pass --force" in again.stderr
    assert target.read_text(encoding="utf-8") == text


@needs_git
def test_default_is_from_the_latest_tag(run, repository):
    done = run(SCRIPT, "--repo", repository)
    assert done.returncode == 0, done.stderr
    assert "v1.0.1..HEAD: 4 commits, 2 entries" in done.stderr
    assert "### Breaking changes\n\n- Require a newer runtime (" in done.stdout
    assert "\n  runtime 3 is needed.\n" in done.stdout
    assert "- **ui:** Größere Schrift (" in done.stdout
    assert "idea" not in done.stdout


@needs_git
@pytest.mark.parametrize("names", [("v1.0.0..v1.0.1",), ("v1.0.0", "v1.0.1")])
def test_range_between_tags(run, repository, names):
    done = run(SCRIPT, *names, "--repo", repository)
    assert "- Handle &lt;empty> names (" in done.stdout
    assert "suggested step: patch" in done.stderr


@needs_git
def test_bad_revisions(run, repository, tmp_path):
    def reason(*arguments):
        done = run(SCRIPT, *arguments)
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
        return done.stderr

    assert "'v9' is neither a revision" in reason("v9", "--repo", repository)
    assert "no commits in this range" in reason("v1.0.1..v1.0.0", "--repo", repository)
    assert "bad revision" in reason("v1.0.0..--output=x", "--repo", repository)
    assert "not a git repository" in reason("--repo", tmp_path)
    assert "is not a folder" in reason("--repo", "nowhere")
    subprocess.run(["git", "init", "-q", str(tmp_path / "new")], check=True)
    assert "has no commits yet" in reason("--repo", "new")


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"", "no output of git log"), (b"hello\n", "no output"), (b"\xff\0", "not UTF-8")],
    ids=lambda value: value if isinstance(value, str) else "input",
)
def test_bad_log_is_one_line(run, tmp_path, content, reason):
    (tmp_path / "bad.log").write_bytes(content)
    done = run(SCRIPT, "bad.log")
    assert done.returncode == 2
    assert reason in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_help(run):
    assert "--repo" in run(SCRIPT, "--help").stdout
