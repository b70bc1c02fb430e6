"""Edit: one match, exact bytes around it, and guidance where there is none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from harness.tools.kit import call, make_context, text, trouble
from hypothesis import given, settings
from hypothesis import strategies as st

from skilleval.harness.tools import Budgets, ToolContext, ToolError
from skilleval.harness.tools.replacing import replace


def put(context: ToolContext, data: bytes | str, name: str = "a") -> Path:
    """A file that the model has read."""
    path = Path(context.workspace, name)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    call(context, "Read", file_path=name)
    return path


def test_a_text_is_replaced(context: ToolContext) -> None:
    path = put(context, "one\ntwo\nthree\n")
    result = call(context, "Edit", file_path="a", old_string="two", new_string="2\n2")
    assert path.read_text() == "one\n2\n2\nthree\n"
    shown = "     1\tone\n     2\t2\n     3\t2\n     4\tthree\n     5\t"
    assert text(result) == f"Edited /workspace/a: 1 replacement.\n{shown}"
    text(call(context, "Edit", file_path="a", old_string="2\n2", new_string=""))
    assert path.read_text() == "one\n\nthree\n"


def test_a_file_must_have_been_read_and_be_the_same(context: ToolContext, work: Path) -> None:
    (work / "a").write_text("one")
    edit = {"file_path": "a", "old_string": "one", "new_string": "two"}
    assert "has not been read" in trouble(call(context, "Edit", **edit))
    call(context, "Read", file_path="a")
    (work / "a").write_text("one!")
    assert "changed since" in trouble(call(context, "Edit", **edit))
    call(context, "Read", file_path="a")
    text(call(context, "Edit", **edit))
    assert (work / "a").read_text() == "two!"


def test_a_part_that_was_read_is_enough(context: ToolContext, work: Path) -> None:
    (work / "a").write_text("1\n2\n3\n")
    call(context, "Read", file_path="a", limit=1)
    text(call(context, "Edit", file_path="a", old_string="3", new_string="4"))


def test_several_places_are_named(context: ToolContext) -> None:
    path = put(context, "x = 1\ny\nx = 1\n" + "x = 1\n" * 20)
    edit = {"file_path": "a", "old_string": "x = 1", "new_string": "x = 2"}
    said = trouble(call(context, "Edit", **edit))
    assert "22 times" in said and "lines 1, 3, 4" in said and "12 more" in said
    assert "replace_all" in said
    result = call(context, "Edit", **edit, replace_all=True)
    assert result.facts["replacements"] == 22 and "x = 1" not in path.read_text()


def test_places_that_overlap_are_several(context: ToolContext) -> None:
    put(context, "aaa")
    said = trouble(call(context, "Edit", file_path="a", old_string="aa", new_string="b"))
    assert "2 times" in said


def test_windows_lines_and_a_mark_stay(context: ToolContext) -> None:
    path = put(context, b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\n")
    text(call(context, "Edit", file_path="a", old_string="one\ntwo", new_string="1\n2\n2"))
    assert path.read_bytes() == b"\xef\xbb\xbf1\r\n2\r\n2\r\nthree\r\n"
    text(call(context, "Edit", file_path="a", old_string="\n2\n2\n", new_string="\n"))
    assert path.read_bytes() == b"\xef\xbb\xbf1\r\nthree\r\n"
    text(call(context, "Edit", file_path="a", old_string="\n", new_string="\n\n", replace_all=True))
    assert path.read_bytes() == b"\xef\xbb\xbf1\r\n\r\nthree\r\n\r\n"


def test_mixed_lines_get_what_the_file_has_most_of(context: ToolContext) -> None:
    path = put(context, b"a\r\nb\nc\nd\n")
    text(call(context, "Edit", file_path="a", old_string="a\nb", new_string="x\ny"))
    assert path.read_bytes() == b"x\ny\nc\nd\n"


def test_bytes_of_no_encoding_stay(context: ToolContext) -> None:
    path = put(context, b"caf\xe9 one\n")
    text(call(context, "Edit", file_path="a", old_string="one", new_string="zwölf"))
    assert path.read_bytes() == b"caf\xe9 zw\xc3\xb6lf\n"
    said = trouble(call(context, "Edit", file_path="a", old_string="\udce9", new_string=""))
    assert "lone surrogate" in said


def test_what_is_not_there_shows_what_is_near(context: ToolContext) -> None:
    put(context, "def main(argv):\n\treturn  run(argv)\n\nprint('hello world')\n")
    edit = {"file_path": "a", "new_string": "x"}
    said = trouble(
        call(context, "Edit", old_string="def main(argv):\n    return run(argv)", **edit)
    )
    assert "Only its white space differs" in said and "     2\t\treturn  run(argv)" in said
    said = trouble(call(context, "Edit", old_string="print('hallo world')", **edit))
    assert "nearest lines" in said and "     4\tprint('hello world')" in said
    said = trouble(call(context, "Edit", old_string="     4\tprint('hello world')", **edit))
    assert "Leave out the line numbers" in said
    assert "Nothing in it is like that" in trouble(
        call(context, "Edit", old_string="zzz qqq", **edit)
    )


def test_looking_for_what_is_near_takes_no_time(context: ToolContext) -> None:
    put(context, "".join(f"value_{n} = compute(value_{n - 1}, other)\n" for n in range(19_000)))
    old = "value_7777 = compote(value_7776, another)\n" * 50
    said = trouble(call(context, "Edit", file_path="a", old_string=old, new_string=""))
    assert "value_7777 = compute(value_7776, other)" in said


def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    context = make_context(tmp_path, budgets=Budgets(edit_bytes=10))
    put(context, "one")
    edit = {"file_path": "a", "old_string": "one"}
    assert "the same" in trouble(call(context, "Edit", **edit, new_string="one"))
    put(context, "one" * 9)
    said = trouble(call(context, "Edit", **edit, new_string="two"))
    assert "27 bytes" in said and "sed" in said
    put(context, "one")
    Path(context.workspace, "a").write_bytes(b"one\0")
    context.files.forget()
    assert "has not been read" in trouble(call(context, "Edit", **edit, new_string="two"))
    assert "does not exist" in trouble(
        call(context, "Edit", file_path="b", old_string="a", new_string="b")
    )


def test_read_only_files_stay(context: ToolContext, tmp_path: Path) -> None:
    (tmp_path / "skills/a").write_text("one")
    call(context, "Read", file_path="/skills/a")
    edit = {"file_path": "/skills/a", "old_string": "one", "new_string": "two"}
    assert "read-only" in trouble(call(context, "Edit", **edit))


def test_a_change_while_editing_is_noticed(
    context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(context, "one")
    from skilleval.harness.tools import edit as edit_module

    real = edit_module.read_file

    def reading(*arguments: object) -> object:
        content = real(*arguments)  # type: ignore[arg-type]
        path.write_text("other")
        return content

    monkeypatch.setattr(edit_module, "read_file", reading)
    said = trouble(call(context, "Edit", file_path="a", old_string="one", new_string="two"))
    assert "changed since" in said and path.read_text() == "other"
    assert os.listdir(path.parent) == ["a"]


PIECES = st.lists(st.sampled_from(["a", "b", "\n", "\r\n", "é", " ", "aa"]), max_size=12).map(
    "".join
)


@settings(deadline=None)
@given(PIECES, PIECES.filter(bool), PIECES, PIECES)
def test_a_replacement_changes_only_its_place(before: str, old: str, new: str, after: str) -> None:
    text_, path = before + old + after, "a"
    try:
        done = replace(text_, old, new, everywhere=False, path=path)
    except ToolError:  # several
        plain = text_.replace("\r\n", "\n")
        wanted = old.replace("\r\n", "\n")
        assert plain.find(wanted) != plain.rfind(wanted)
        return
    assert done.times == 1
    put_in = done.text[done.start : done.end]
    assert put_in.replace("\r\n", "\n") == new.replace("\r\n", "\n")
    rest = text_[: done.start], text_[len(text_) - (len(done.text) - done.end) :]
    assert done.text == rest[0] + put_in + rest[1]


@settings(deadline=None)
@given(PIECES, PIECES)
def test_a_replacement_and_its_reverse_give_the_same(before: str, after: str) -> None:
    text_ = before + "<old>" + after
    there = replace(text_, "<old>", "<new>", everywhere=False, path="a")
    back = replace(there.text, "<new>", "<old>", everywhere=False, path="a")
    assert back.text == text_
