"""Read: numbers, parts, budgets, images and PDFs."""

from __future__ import annotations

import base64
import os
import struct
import zlib
from pathlib import Path

import pytest
from harness.tools.kit import call, make_context, text, trouble

from skilleval.harness.tools import Budgets, ToolContext
from skilleval.harness.tools.ledger import digest_of


def png(width: int, height: int) -> bytes:
    """A grey picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        sum_ = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", sum_)

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress(b"\0" * (width + 1) * height)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    )


PICTURES = {
    "image/png": png(3, 2),
    "image/gif": b"GIF89a" + struct.pack("<HH", 3, 2) + bytes(10),
    "image/jpeg": b"\xff\xd8\xff\xe0\0\x04ab\xff\xc0\0\x0b\x08\0\x02\0\x03\x01\x11\0\0",
    "image/webp": b"RIFF\0\0\0\0WEBPVP8X" + bytes(8) + b"\x02\0\0\x01\0\0",
}


def test_lines_are_numbered(context: ToolContext, work: Path) -> None:
    (work / "a.txt").write_text("one\n\ntwo")
    assert text(call(context, "Read", file_path="a.txt")) == "     1\tone\n     2\t\n     3\ttwo"
    known = context.files["/workspace/a.txt"]
    assert (known.digest, known.whole, known.size) == (digest_of(b"one\n\ntwo"), True, 8)


def test_absolute_paths_and_the_working_directory(context: ToolContext, work: Path) -> None:
    (work / "sub").mkdir()
    (work / "sub/a.txt").write_text("x\n")
    context.cwd = "/workspace/sub"
    for path in ("a.txt", "./a.txt", "/workspace/sub/a.txt", "../sub/a.txt"):
        assert text(call(context, "Read", file_path=path)) == "     1\tx"
    assert list(context.files) == ["/workspace/sub/a.txt"]


def test_an_empty_file_says_so(context: ToolContext, work: Path) -> None:
    (work / "a").write_bytes(b"")
    assert "empty" in text(call(context, "Read", file_path="a"))


@pytest.mark.parametrize("ending", ["\n", ""])
def test_a_long_file_comes_in_parts(context: ToolContext, work: Path, ending: str) -> None:
    lines = [f"line {number}" for number in range(1, 4_501)]
    (work / "a").write_text("\n".join(lines) + ending)
    seen: list[str] = []
    offset = 1
    while offset:
        result = call(context, "Read", file_path="a", offset=offset)
        body, _, notice = text(result).partition("\n\n(")
        seen += [line.split("\t")[1] for line in body.split("\n")]
        assert result.facts["total"] == 4_500
        offset = int(notice.split("offset=")[1].split(".")[0]) if notice else 0
    assert seen == lines
    first = text(call(context, "Read", file_path="a"))
    assert "(Lines 1 to 2,000 of 4,500: Read shows 2,000 unless limit says otherwise." in first
    assert not context.files["/workspace/a"].whole


def test_offset_and_limit(context: ToolContext, work: Path) -> None:
    (work / "a").write_text("".join(f"{n}\n" for n in range(1, 11)))
    shown = text(call(context, "Read", file_path="a", offset=4, limit=2))
    assert shown == "     4\t4\n     5\t5\n\n(Lines 4 to 5 of 10. Read on with offset=6.)"
    last = text(call(context, "Read", file_path="a", offset=10))
    assert last == "    10\t10"
    beyond = trouble(call(context, "Read", file_path="a", offset=11))
    assert "offset=11" in beyond and "10 lines" in beyond


def test_tokens_are_bounded(context: ToolContext, work: Path) -> None:
    (work / "a").write_text(("x" * 400 + "\n") * 1_000)
    shown = text(call(context, "Read", file_path="a"))
    assert len(shown) < 25_000 * 4 + 300
    assert "of 1,000: more would be over 25,000 tokens. Read on with offset=2" in shown


def test_one_line_is_shown_however_small_the_budget(tmp_path: Path) -> None:
    context = make_context(tmp_path, budgets=Budgets(read_tokens=1))
    (tmp_path / "work/a").write_text("a long line\nanother\n")
    assert text(call(context, "Read", file_path="a")).startswith("     1\ta long line\n")


def test_long_lines_are_cut(context: ToolContext, work: Path) -> None:
    (work / "a").write_text("é" * 70_000 + "\nshort\n" + "y" * 2_000 + "\n" + "日" * 2_000 + "\n")
    shown = text(call(context, "Read", file_path="a"))
    lines = shown.split("\n")
    assert lines[0] == "     1\t" + "é" * 2_000 + "[… cut; the line is 140,001 bytes]"
    assert lines[1:4] == ["     2\tshort", "     3\t" + "y" * 2_000, "     4\t" + "日" * 2_000]
    assert "cut -c 2001-" in shown and "(1 line is cut" in shown
    assert not context.files["/workspace/a"].whole


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    context = make_context(tmp_path, budgets=Budgets(read_bytes=10))
    (tmp_path / "work/a").write_text("x" * 11)
    said = trouble(call(context, "Read", file_path="a"))
    assert "11 bytes" in said and "10 at most" in said and "Grep" in said


def test_windows_lines_marks_and_other_bytes(context: ToolContext, work: Path) -> None:
    (work / "a").write_bytes(b"\xef\xbb\xbfone\r\ntwo \xff\r\n")
    assert text(call(context, "Read", file_path="a")) == "     1\tone\n     2\ttwo \ufffd"


@pytest.mark.parametrize("data", [b"a\0b", b"\xff\xfea\0b\0"])
def test_binary_files_are_refused(context: ToolContext, work: Path, data: bytes) -> None:
    (work / "a").write_bytes(data)
    said = trouble(call(context, "Read", file_path="a"))
    assert "Bash" in said
    assert ("UTF-16" in said) == data.startswith(b"\xff")


@pytest.mark.parametrize("kind", PICTURES)
def test_images_are_blocks_whatever_their_name(context: ToolContext, work: Path, kind: str) -> None:
    (work / "a.txt").write_bytes(PICTURES[kind])
    result = call(context, "Read", file_path="a.txt")
    assert isinstance(result.content, list) and not result.is_error
    block = result.content[0]
    assert block["type"] == "image" and block["source"]["media_type"] == kind
    assert base64.b64decode(block["source"]["data"]) == PICTURES[kind]


def test_a_pdf_is_a_document(context: ToolContext, work: Path) -> None:
    (work / "a").write_bytes(b"%PDF-1.4\n%%EOF")
    result = call(context, "Read", file_path="a")
    assert isinstance(result.content, list)
    assert result.content[0]["type"] == "document"
    assert result.content[0]["source"]["media_type"] == "application/pdf"


def test_images_are_bounded(tmp_path: Path) -> None:
    context = make_context(tmp_path, budgets=Budgets(image_bytes=60, image_pixels=10))
    work = tmp_path / "work"
    (work / "large.png").write_bytes(png(9, 9) + bytes(60))
    (work / "wide.png").write_bytes(png(11, 1)[:60])
    (work / "broken.png").write_bytes(PICTURES["image/png"][:18])
    assert "60 of an image at most" in trouble(call(context, "Read", file_path="large.png"))
    assert "11 by 1 pixels" in trouble(call(context, "Read", file_path="wide.png"))
    assert "broken" in trouble(call(context, "Read", file_path="broken.png"))


def test_what_is_no_file_is_said(context: ToolContext, work: Path) -> None:
    (work / "folder").mkdir()
    os.mkfifo(work / "pipe")
    assert "is a folder, not a file" in trouble(call(context, "Read", file_path="folder"))
    assert "device, pipe or socket" in trouble(call(context, "Read", file_path="pipe"))


def test_a_missing_file_names_what_is_near(context: ToolContext, work: Path) -> None:
    (work / "src").mkdir()
    (work / "src/Reader.py").write_text("")
    said = trouble(call(context, "Read", file_path="src/raeder.py"))
    assert said == "src/raeder.py does not exist. Did you mean /workspace/src/Reader.py?"
    said = trouble(call(context, "Read", file_path="scr/a/b.py"))
    assert "folder /workspace/scr does not exist" in said and "/workspace/src" in said
    assert "~ is not expanded" in trouble(call(context, "Read", file_path="~/x"))


def test_what_is_outside_is_refused(context: ToolContext, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    trouble(call(context, "Read", file_path=str(tmp_path / "secret")))
    for path in ("/etc/passwd", "/", "../secret"):
        said = trouble(call(context, "Read", file_path=path))
        assert "leads out of the folders" in said and "/workspace" in said
        assert "/skills (read-only)" in said


def test_hidden_files_can_not_be_read(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "private").mkdir(parents=True)
    (work / ".env").write_text("KEY=1")
    (work / "private/key").write_text("KEY=2")
    context = make_context(tmp_path, hidden=(str(work / ".env"), str(work / "private")))
    os.link(work / ".env", work / "other")
    (work / "link").symlink_to("private")
    for path in (".env", "private/key", "other", "link/key"):
        assert "permission denied" in trouble(call(context, "Read", file_path=path))
    assert "permission denied" in trouble(call(context, "Write", file_path=".env", content=""))
    assert text(call(context, "Glob", pattern="**")) == "link"


def test_the_latest_five_are_known(context: ToolContext, work: Path) -> None:
    for number in range(7):
        (work / f"{number}").write_text("x")
        call(context, "Read", file_path=f"{number}")
    call(context, "Read", file_path="3")
    assert context.files.recent() == [f"/workspace/{n}" for n in (3, 6, 5, 4, 2)]
