"""Whole outputs: each in a new file of its own, with an end."""

from __future__ import annotations

from pathlib import Path

from harness.tools.kit import make_context

from skilleval.harness.tools import Budgets, ToolContext
from skilleval.harness.tools.outputs import Kept, ends_of, keep_output


def test_no_file_that_is_there_is_used(context: ToolContext, work: Path) -> None:
    outputs = Path(context.outputs_folder)
    (outputs / "x-0001.txt").write_text("mine")
    (outputs / "x-0002.txt").symlink_to(work / "target")
    kept = keep_output("x", b"all of it", context)
    assert kept.inside == "/outputs/x-0003.txt"
    assert Path(kept.host).read_bytes() == b"all of it"
    assert (outputs / "x-0001.txt").read_text() == "mine" and not (work / "target").exists()


def test_what_is_kept_is_bounded(tmp_path: Path) -> None:
    context = make_context(tmp_path, budgets=Budgets(output_bytes=3))
    assert Path(keep_output("x", b"12345", context).host).read_bytes() == b"123"


def test_ends_fall_between_lines(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("".join(f"{n:04}\n" for n in range(100)))
    head, tail = ends_of(Kept(str(path), ""), 48)
    assert head == "0000\n0001\n0002\n0003\n" and tail == "0096\n0097\n0098\n0099\n"
    path.write_text("é" * 100)
    assert ends_of(Kept(str(path), ""), 10) == ("é" * 5, "é" * 5)
