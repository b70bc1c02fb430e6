"""Glob: what patterns match, in which order, and how much of it is shown."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from harness.tools.kit import call, make_context, text, trouble
from hypothesis import given, settings
from hypothesis import strategies as st

from skilleval.harness.sandbox import Mount
from skilleval.harness.tools import Budgets, ToolContext
from skilleval.harness.tools.beneath import Beneath
from skilleval.harness.tools.glob import detail
from skilleval.harness.tools.globbing import BadPattern, PathPattern
from skilleval.harness.tools.walking import Entry, walk


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*.py", ["a.py", ".py"], ["a.pyc", "x/a.py", "py"]),
        ("**/*.py", ["a.py", "x/a.py", "x/y/a.py"], ["a.txt"]),
        ("src/**", ["src/a", "src/a/b"], ["srcs/a", "a/src/b"]),
        ("src/**/test_*.{js,ts}", ["src/test_a.js", "src/x/y/test_.ts"], ["src/test_a.py"]),
        ("a?c/[xy].txt", ["abc/x.txt"], ["ac/x.txt", "abc/z.txt"]),
        ("[!a]*", ["b", "b1"], ["a", "ab"]),
        ("./a//b", ["a/b"], ["a"]),
        ("{a,b/{c,d}}.x", ["a.x", "b/c.x", "b/d.x"], ["b.x", "c.x"]),
        ("{a", ["{a"], ["a"]),
        ("**", ["a", "a/b"], []),
        ("a/**/b/**/c", ["a/b/c", "a/x/b/y/z/c"], ["a/c", "b/c"]),
    ],
)
def test_patterns(pattern: str, yes: list[str], no: list[str]) -> None:
    matcher = PathPattern(pattern)
    assert [path for path in yes if not matcher.matches(path)] == []
    assert [path for path in no if matcher.matches(path)] == []


def test_patterns_as_in_ignore_files() -> None:
    assert PathPattern("*.ts", loose=True).matches("a/b.ts")
    assert not PathPattern("a/*.ts", loose=True).matches("x/a/b.ts")


@pytest.mark.parametrize("pattern", ["*a" * 100 + "b", "**/" * 60 + "b", "*" * 900])
def test_no_pattern_takes_long(pattern: str) -> None:
    start = time.monotonic()
    PathPattern(pattern).matches("/".join(["a" * 250] * 15))
    assert time.monotonic() - start < 1


@pytest.mark.parametrize("pattern", ["{a,b}" * 20, "x" * 2_000, "a/" * 100])
def test_patterns_that_are_too_large(pattern: str, context: ToolContext) -> None:
    with pytest.raises(BadPattern):
        PathPattern(pattern)
    assert "simpler" in trouble(call(context, "Glob", pattern=pattern))


@settings(deadline=None)
@given(st.text("ab*?[]{},!/-\\", max_size=15), st.text("ab/-", min_size=1, max_size=8))
def test_any_pattern_gives_an_answer(pattern: str, path: str) -> None:
    assert PathPattern(pattern).matches(path) in (True, False)


def test_the_latest_come_first(context: ToolContext, work: Path) -> None:
    for name, when in {"old.md": 1, "b.md": 3, "a.md": 3, "x/new.md": 4}.items():
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_text("")
        os.utime(work / name, (when, when))
    found = text(call(context, "Glob", pattern="**/*.md"))
    assert found.split("\n") == ["x/new.md", "a.md", "b.md", "old.md"]
    context.cwd = "/workspace/x"
    for given_ in ({"pattern": "/workspace/**/old.md"}, {"pattern": "*old*", "path": ".."}):
        assert text(call(context, "Glob", **given_)) == "/workspace/old.md"


def test_detailed_adds_facts(context: ToolContext, work: Path) -> None:
    (work / "a").write_text("123")
    os.utime(work / "a", (0, 0))
    found = text(call(context, "Glob", pattern="*", response_format="detailed"))
    assert found == "a\t3 bytes\t1970-01-01 00:00:00 UTC"
    assert detail(Entry("a", 1, 10**23, True)) == "1 bytes\t?\tlink"


def test_a_long_list_is_cut_and_kept(context: ToolContext, work: Path, tmp_path: Path) -> None:
    for number in range(130):
        (work / f"{number:03}").write_text("")
        os.utime(work / f"{number:03}", (0, 0))
    result = call(context, "Glob", pattern="*")
    lines = text(result).split("\n")
    assert len(lines) == 101 and lines[99] == "099"
    assert "100 of 130 files are shown" in lines[100] and result.full_output in lines[100]
    assert result.full_output.startswith("/outputs/")
    rest = text(call(context, "Read", file_path=result.full_output, offset=130))
    assert rest == "   130\t129"


def test_nothing_found_says_what_to_try(context: ToolContext, work: Path) -> None:
    (work / "x").mkdir()
    assert "**/*.py" in text(call(context, "Glob", pattern="*.py"))
    assert "does not exist" in trouble(call(context, "Glob", pattern="*", path="y"))
    assert "leads out" in trouble(call(context, "Glob", pattern="/etc/*"))


def test_too_many_files_are_said(tmp_path: Path) -> None:
    context = make_context(tmp_path, budgets=Budgets(entries=5))
    for number in range(9):
        (tmp_path / f"work/{number}").write_text("")
    assert "first 5 files" in text(call(context, "Glob", pattern="*"))


def test_walking_follows_no_link_and_skips_version_control(tmp_path: Path) -> None:
    for name in ("work/.git/x", "work/a/b", "work/.hidden", "mount/m", "secret/s"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "work/out").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "work/pipe")
    mounts = (Mount(str(tmp_path / "work"), "/w", True), Mount(str(tmp_path / "mount"), "/w/a/in"))
    found = walk(Beneath(mounts), "/w", 100)
    assert [entry.path for entry in found.files] == [".hidden", "a/b", "a/in/m", "out"]
    assert found.complete and [entry.link for entry in found.files] == [False, False, False, True]
