"""Positions are those of an editor, whatever the line endings and the characters."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from skilleval.skill import Document, Position, Span

ODD_TEXT = st.text(
    st.one_of(
        st.sampled_from(
            "\n\r\t a#:\ufeff😀🏴技é\u0301\u200d\u2028\u2029\x85\x0b\x0c\0\ufffd\uffff"
        ),
        st.characters(exclude_categories=("Cs",)),
    ),
    max_size=40,
)


def document(text: str) -> Document:
    return Document("SKILL.md", text.encode("utf-8"))


def by_counting(text: str, offset: int) -> Position:
    """The position of an offset, found by walking there character by character."""
    line = column = 1
    for at in range(offset):
        crlf = text[at : at + 2] == "\r\n"
        if text[at] == "\n" or (text[at] == "\r" and not crlf):
            line, column = line + 1, 1
        elif not (at == 0 and text[0] == "\ufeff"):
            column += 1
    return Position(line, column)


@settings(max_examples=300, deadline=None)
@given(ODD_TEXT)
@example("\ufeffa\r\nb\rc\n😀d")
@example("\r\r\n\n\r")
def test_every_position_is_where_counting_leads(text: str) -> None:
    doc = document(text)
    assert [doc.position(at) for at in range(len(text) + 1)] == [
        by_counting(text, at) for at in range(len(text) + 1)
    ]


@settings(max_examples=300, deadline=None)
@given(ODD_TEXT)
@example("a\r\nb")
@example("\r\n\r\n")
def test_the_line_of_an_offset_holds_it_and_no_line_break(text: str) -> None:
    doc = document(text)
    pieces = re.split("(\r\n|\r|\n)", text)
    start = 0
    for line, ending in zip(pieces[::2], [*pieces[1::2], ""], strict=True):
        for at in range(start, start + len(line) + max(1, len(ending))):
            assert doc.line_at(at) == Span(start, start + len(line)), f"offset {at}"
            assert doc.line_text(at) == line
        start += len(line) + len(ending)


@settings(max_examples=200, deadline=None)
@given(ODD_TEXT)
def test_lines_are_counted_as_an_editor_counts_them(text: str) -> None:
    lines = re.split("\r\n|\r|\n", text)
    ends_with_break = text[-1:] in ("\r", "\n")
    assert document(text).line_count == len(lines) - ends_with_break


@pytest.mark.parametrize(
    ("text", "mark", "expected"),
    [
        ("one\ntwo X", "X", (2, 5)),
        ("one\r\ntwo X", "X", (2, 5)),
        ("one\rtwo X", "X", (2, 5)),
        ("one\n\r\ntwo X", "X", (3, 5)),
        ("\ufeffX", "X", (1, 1)),
        ("\ufeffone\nX", "X", (2, 1)),
        ("a\ufeffX", "X", (1, 3)),
        ("😀😀X", "X", (1, 3)),
        ("技能X", "X", (1, 3)),
        ("e\u0301X", "X", (1, 3)),
        ("👩\u200d💻X", "X", (1, 4)),
        ("a\u2028b\x85c\x0bX", "X", (1, 7)),
        ("\tX", "X", (1, 2)),
    ],
)
def test_columns_count_code_points(text: str, mark: str, expected: tuple[int, int]) -> None:
    assert document(text).position(text.index(mark)) == expected


def test_the_end_of_a_file_has_a_position() -> None:
    assert document("a\n").position(2) == (2, 1)
    assert document("a\r\n").position(3) == (2, 1)
    assert document("").position(0) == (1, 1)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60))
@example(b"\xff\xfe-\0")
@example(b"ab\xc3")
@example(b"\xed\xa0\x80")
def test_bytes_that_are_no_utf8_are_told_and_shown(data: bytes) -> None:
    doc = Document("SKILL.md", data)
    try:
        whole = data.decode("utf-8")
    except UnicodeDecodeError as error:
        assert doc.bad_byte == error.start
        assert "\ufffd" in doc.text
        assert doc.text.startswith(data[: error.start].decode("utf-8"))
    else:
        assert doc.bad_byte is None
        assert doc.text == whole
    assert doc.data == data


def test_the_byte_order_mark_stays_in_the_text() -> None:
    data = b"\xef\xbb\xbf---\n"
    assert document("\ufeff---\n").text.encode("utf-8") == data


@settings(max_examples=200, deadline=None)
@given(ODD_TEXT)
def test_characters_beyond_ascii_are_kept_in_order(text: str) -> None:
    assert document(text).beyond_ascii == "".join(c for c in text if not c.isascii())


def test_bad_bytes_count_among_the_characters_beyond_ascii() -> None:
    assert "\ufffd" in Document("SKILL.md", b"plain \xff text").beyond_ascii
