"""Grep: with ripgrep and without, the same answers within the same bounds."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest
from harness.tools.kit import call, make_context, text, trouble

from skilleval.harness.tools import Budgets, ToolContext


@pytest.fixture(params=["ripgrep", "python"])
def searching(request: pytest.FixtureRequest, tmp_path: Path) -> ToolContext:
    """A session that searches in one of the two ways."""
    if request.param == "ripgrep" and not shutil.which("rg"):
        pytest.skip("ripgrep is not here")
    context = make_context(tmp_path, budgets=Budgets(grep_seconds=5))
    context.programs.update({"rg": request.param == "ripgrep", "python3": True})
    return context


@pytest.fixture
def found_in(searching: ToolContext) -> Path:
    """Its workspace, with something to find."""
    work = Path(searching.workspace)
    files = {
        "a.py": "import os\n\n\ndef main():\n    pass\n\n\nmain()\nend\n",
        "b/c.md": "Main thing\nmain\r\n",
        "b/d.py": "x = 1\n",
        ".hidden": "main\n",
        ".gitignore": "b\n",
        ".git/config": "main\n",
        "bin": "main\0\n",
    }
    for name, content in files.items():
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_bytes(content.encode())
    (work / "link").symlink_to("a.py")
    return work


def test_files_are_the_default(searching: ToolContext, found_in: Path) -> None:
    result = call(searching, "Grep", pattern="main")
    assert text(result) == ".hidden\na.py\nb/c.md"
    assert result.facts == {
        "engine": "ripgrep" if searching.programs["rg"] else "python",
        "shown": 3,
        "total": 3,
    }


def test_content_and_context(searching: ToolContext, found_in: Path) -> None:
    shown = text(call(searching, "Grep", pattern="main", path="a.py", output_mode="content"))
    assert shown == "a.py:4:def main():\na.py:8:main()"
    shown = text(
        call(searching, "Grep", pattern="main", path="a.py", output_mode="content", _A=1, _B=1)
    )
    assert shown.split("\n") == [
        "a.py-3-",
        "a.py:4:def main():",
        "a.py-5-    pass",
        "--",
        "a.py-7-",
        "a.py:8:main()",
        "a.py-9-end",
    ]
    shown = text(
        call(searching, "Grep", pattern="^main", path="b", output_mode="content", _n=False)
    )
    assert shown == "b/c.md:main"


def test_counts(searching: ToolContext, found_in: Path) -> None:
    shown = text(call(searching, "Grep", pattern="main", output_mode="count", _i=True))
    assert shown.startswith(".hidden:1\na.py:2\nb/c.md:2\n\n(Together 5 lines in 3 files.)")


def test_filters(searching: ToolContext, found_in: Path) -> None:
    assert text(call(searching, "Grep", pattern="main", glob="*.md")) == "b/c.md"
    assert text(call(searching, "Grep", pattern="main", glob="!*.md")) == ".hidden\na.py"
    assert text(call(searching, "Grep", pattern="x|main", type="py")) == "a.py\nb/d.py"
    assert "only glob *.rs" in text(call(searching, "Grep", pattern="main", glob="*.rs"))
    assert "type" in trouble(call(searching, "Grep", pattern="main", type="nonsense"))


def test_several_lines(searching: ToolContext, found_in: Path) -> None:
    given = {"pattern": "def main.*?pass", "output_mode": "content"}
    assert "No line matches" in text(call(searching, "Grep", **given))
    shown = text(call(searching, "Grep", **given, multiline=True))
    assert shown == "a.py:4:def main():\na.py:5:    pass"


def test_results_are_bounded(searching: ToolContext) -> None:
    work = Path(searching.workspace)
    (work / "a").write_text("".join(f"x{n}\n" for n in range(300)))
    result = call(searching, "Grep", pattern="x", output_mode="content")
    shown = text(result)
    assert shown.count("\na:") == 249 and "(50 more lines: 250 of 300 are shown." in shown
    assert "raise head_limit" in shown and result.full_output in shown
    kept = text(call(searching, "Read", file_path=result.full_output, offset=300))
    assert kept == "   300\ta:300:x299"
    few = text(call(searching, "Grep", pattern="x", output_mode="content", head_limit=2))
    assert few.startswith("a:1:x0\na:2:x1\n\n(298 more lines")
    whole = text(call(searching, "Grep", pattern="x", output_mode="content", head_limit=300))
    assert whole.endswith("a:300:x299")


def test_long_lines_are_cut(searching: ToolContext) -> None:
    (Path(searching.workspace) / "a").write_text("x" * 5_000 + "\n")
    given = {"pattern": "x", "output_mode": "content"}
    concise = text(call(searching, "Grep", **given))
    detailed = text(call(searching, "Grep", **given, response_format="detailed"))
    for shown, size in ((concise, 200), (detailed, 2_000)):
        assert shown.startswith("a:1:" + "x" * size + " [") and "xx" not in shown[size + 5 :]


def test_detailed_files(searching: ToolContext, found_in: Path) -> None:
    os.utime(found_in / "a.py", (0, 0))
    shown = text(call(searching, "Grep", pattern="main", glob="*.py", response_format="detailed"))
    assert shown == "a.py\t2 lines\t46 bytes\t1970-01-01 00:00:00 UTC"


def test_a_broken_expression_is_explained(searching: ToolContext, found_in: Path) -> None:
    said = trouble(call(searching, "Grep", pattern="a(b"))
    assert "not right" in said and "parse error" in said


@pytest.mark.parametrize("pattern", ["a\0b", "\ud800"])
def test_a_pattern_that_can_not_be_passed_on(searching: ToolContext, pattern: str) -> None:
    assert "Leave it out" in trouble(call(searching, "Grep", pattern=pattern))


def test_a_search_takes_its_time_at_most(tmp_path: Path) -> None:
    context = make_context(tmp_path, budgets=Budgets(grep_seconds=0.3))
    context.programs.update({"rg": False, "python3": True})
    (tmp_path / "work/a").write_text("a" * 50 + "!\n")
    start = time.monotonic()
    said = trouble(call(context, "Grep", pattern="(a+)+$"))
    assert time.monotonic() - start < 10
    assert "longer than 0.3 s" in said and "Narrow" in said


def test_what_can_not_be_searched(searching: ToolContext, found_in: Path) -> None:
    (found_in / "out").symlink_to("/etc")
    for path in ("/etc", "out", "out/passwd"):
        assert "leads out" in trouble(call(searching, "Grep", pattern="root", path=path))
    assert "does not exist" in trouble(call(searching, "Grep", pattern="x", path="nothing"))
    os.mkfifo(found_in / "pipe")
    assert "pipe" in trouble(call(searching, "Grep", pattern="x", path="pipe"))


def test_a_pattern_is_no_option(searching: ToolContext, found_in: Path) -> None:
    (found_in / "-l").write_text("--files\n")
    assert text(call(searching, "Grep", pattern="--files", path="-l")) == "-l"


def test_without_any_engine(context: ToolContext) -> None:
    context.programs.update({"rg": False, "python3": False})
    assert "Use Bash" in trouble(call(context, "Grep", pattern="x"))


def test_the_engine_is_looked_up_inside(context: ToolContext, work: Path) -> None:
    (work / "a").write_text("x")
    assert text(call(context, "Grep", pattern="x")) == "a"
    assert context.programs["rg"] == bool(shutil.which("rg"))
