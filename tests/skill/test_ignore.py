"""Ignore patterns hold where git says that they hold."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import Write

from skilleval.skill.ignore import JUNK, IgnoreFile, Ignores


def says(lines: list[str], path: str, *, folder: bool = False) -> bool | None:
    return IgnoreFile("/repo", lines).says(f"/repo/{path}", folder)


@pytest.mark.parametrize(
    ("lines", "path", "verdict"),
    [
        ([], "a", None),
        (["# comment", "", "   "], "a", None),
        (["a"], "a", True),
        (["a"], "x/a", True),
        (["/a"], "x/a", None),
        (["x/a"], "y/x/a", None),
        (["*.log"], "deep/er/x.log", True),
        (["*.log", "!keep.log"], "keep.log", False),
        (["!keep.log", "*.log"], "keep.log", True),
        (["**/b"], "a/b", True),
        (["a/**/b"], "a/x/y/b", True),
        (["?.md"], "é.md", True),
        (["[0-9].md"], "7.md", True),
        (["\\!x"], "!x", True),
        (["\\#x"], "#x", True),
        (["a "], "a", True),
        (["a\\ "], "a ", True),
        (["A"], "a", None),
        (["a.b"], "axb", None),
    ],
)
def test_a_file_says_what_it_thinks_of_a_path(
    lines: list[str], path: str, verdict: bool | None
) -> None:
    assert says(lines, path) is verdict


def test_a_pattern_with_a_final_slash_is_about_folders() -> None:
    assert says(["a/"], "a", folder=True) is True
    assert says(["a/"], "a") is None


def test_the_innermost_file_decides_and_is_asked_first() -> None:
    outer = IgnoreFile("/repo", ["*.log"])
    inner = IgnoreFile("/repo/a", ["!x.log"])
    ignores = Ignores([outer, inner])
    assert not ignores.match("/repo/a/x.log", False)
    assert ignores.match("/repo/a/y.log", False)
    assert not Ignores().match("/repo/a/x.log", False)


def test_entering_a_folder_adds_its_file_and_changes_nothing_outside(write: Write) -> None:
    root = write({"a/.gitignore": "*.log\n", "b/x": ""})
    before = Ignores()
    inside = before.entering(str(root / "a"), {".gitignore"})
    assert inside.match(str(root / "a/x.log"), False)
    assert not before.match(str(root / "a/x.log"), False)
    assert before.entering(str(root / "b"), {"x"}) is before


@pytest.mark.parametrize("lines", ["", "\n\n", "# only\n# comments\n"])
def test_a_file_without_patterns_costs_nothing(write: Write, lines: str) -> None:
    root = write({".gitignore": lines})
    before = Ignores()
    assert before.entering(str(root), {".gitignore"}) is before


def test_a_gitignore_that_can_not_be_read_is_none(write: Write) -> None:
    root = write({".gitignore/x": "", "b/.gitignore": "-> nowhere"})
    before = Ignores()
    assert before.entering(str(root), {".gitignore"}) is before
    assert before.entering(str(root / "b"), {".gitignore"}) is before


@pytest.mark.parametrize(
    "line", ["!", "\\", "/", "//", "[", "[z-a]", "!/", "a\\", "**", "***/x/***"]
)
def test_a_pattern_without_sense_leaves_the_others_in_force(line: str) -> None:
    assert says([line, "*.log"], "x.log") is True


def test_junk_is_what_no_skill_ships() -> None:
    assert {".git", "node_modules", ".venv"} <= JUNK
    assert not {"build", "dist", "src", ".claude", ".github", "assets"} & JUNK


CASES = [
    ["*.log", "!keep.log", "/only", "build/", "a/*/c", "**/z", "x/**"],
    ["*", "!*/", "!*.md"],
    ["/*", "!/a"],
    ["a", "!a/b", "!b"],
    ["[a-b]*", "!?.md", "\\#hash"],
]
PATHS = (
    "a/b/c a/keep.log a/only a/x.md b/x.log build/x keep.log only x/y/z y/z z/q b.md #hash "
    "a/b/build/x build.md .hidden x.md"
).split()


@pytest.mark.skipif(shutil.which("git") is None, reason="git is the one to compare with")
@pytest.mark.parametrize("lines", CASES, ids=" ".join)
def test_what_is_ignored_is_what_git_ignores(tmp_path: Path, lines: list[str]) -> None:
    git = ["git", "-c", "core.excludesFile=", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)
    (tmp_path / ".gitignore").write_text("\n".join(lines), "utf-8")
    for path in PATHS:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    listed = subprocess.run(
        [*git, "ls-files", "-z", "--others", "--exclude-standard"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    ignores = Ignores().entering(str(tmp_path), {".gitignore"})

    def kept(path: str) -> bool:
        parts = path.split("/")
        above = ["/".join(parts[:n]) for n in range(1, len(parts))]
        ignored = any(ignores.match(str(tmp_path / folder), True) for folder in above)
        return not ignored and not ignores.match(str(tmp_path / path), False)

    expected = set(listed.stdout.strip("\0").split("\0")) - {".gitignore"}
    assert {path for path in PATHS if kept(path)} == expected & set(PATHS)
