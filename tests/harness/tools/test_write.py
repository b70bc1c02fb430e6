"""Write: whole files in one step, and no file that was not read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from harness.tools.kit import call, make_context, text, trouble

from skilleval.harness.tools import Budgets, ToolContext
from skilleval.harness.tools import files as files_module


def test_a_file_is_made_with_its_folders(context: ToolContext, work: Path) -> None:
    result = call(context, "Write", file_path="a/b/c.txt", content="one\ntwo")
    assert text(result) == "Created /workspace/a/b/c.txt (2 lines, 7 bytes)."
    assert (work / "a/b/c.txt").read_text() == "one\ntwo"
    assert result.facts["written"] == ["/workspace/a/b/c.txt"] and result.facts["created"]
    assert stat.S_IMODE((work / "a/b/c.txt").stat().st_mode) & 0o600 == 0o600


def test_a_file_must_have_been_read(context: ToolContext, work: Path) -> None:
    path = work / "a"
    path.write_text("old")
    path.chmod(0o754)
    assert "Read it first" in trouble(call(context, "Write", file_path="a", content="new"))
    call(context, "Read", file_path="a")
    assert "Replaced" in text(call(context, "Write", file_path="a", content="new"))
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o754
    assert "Replaced" in text(call(context, "Write", file_path="a", content="again"))


def test_a_file_that_others_changed_must_be_read_again(context: ToolContext, work: Path) -> None:
    path = work / "a"
    path.write_text("old")
    call(context, "Read", file_path="a")
    status = path.stat()
    path.write_text("odd")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # its time does not tell
    said = trouble(call(context, "Write", file_path="a", content="new"))
    assert "changed since" in said
    assert path.read_text() == "odd"


def test_a_touched_file_is_still_the_same(context: ToolContext, work: Path) -> None:
    (work / "a").write_text("old")
    call(context, "Read", file_path="a")
    os.utime(work / "a", (0, 0))
    text(call(context, "Write", file_path="a", content="new"))


def test_nothing_is_left_when_writing_fails(
    context: ToolContext, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (work / "a").write_text("old")
    call(context, "Read", file_path="a")

    def fail(*args: object, **keywords: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files_module.os, "rename", fail)
    assert "No space left" in trouble(call(context, "Write", file_path="a", content="new"))
    assert os.listdir(work) == ["a"] and (work / "a").read_text() == "old"


def test_the_file_is_replaced_not_rewritten(context: ToolContext, work: Path) -> None:
    (work / "a").write_text("old")
    call(context, "Read", file_path="a")
    with open(work / "a") as reader:
        call(context, "Write", file_path="a", content="new")
        assert reader.read() == "old"


def test_a_link_is_followed_and_stays(context: ToolContext, work: Path) -> None:
    (work / "real").write_text("old")
    (work / "link").symlink_to("real")
    call(context, "Read", file_path="link")
    text(call(context, "Write", file_path="link", content="new"))
    assert (work / "link").is_symlink() and (work / "real").read_text() == "new"


def test_places_that_can_not_be_written(context: ToolContext, work: Path) -> None:
    (work / "folder").mkdir()
    os.mkfifo(work / "pipe")
    (work / "out").symlink_to("/etc")
    said = trouble(call(context, "Write", file_path="/skills/new/a", content=""))
    assert "read-only" in said and "/workspace" in said
    assert "is a folder" in trouble(call(context, "Write", file_path="folder", content=""))
    assert "pipe" in trouble(call(context, "Write", file_path="pipe", content=""))
    assert "leads out" in trouble(call(context, "Write", file_path="out/x", content=""))
    assert "leads out" in trouble(call(context, "Write", file_path="/etc/x", content=""))
    call(context, "Write", file_path="file", content="")
    assert "not a folder" in trouble(call(context, "Write", file_path="file/x", content=""))


def test_what_no_file_can_hold_is_refused(tmp_path: Path) -> None:
    context = make_context(tmp_path, budgets=Budgets(edit_bytes=5))
    assert "lone surrogate" in trouble(call(context, "Write", file_path="a", content="\ud800"))
    said = trouble(call(context, "Write", file_path="a", content="123456"))
    assert "6 bytes" in said and "5 at most" in said
    assert not list((tmp_path / "work").iterdir())
