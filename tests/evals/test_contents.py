"""Files of a workspace, parsed and compared."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skilleval.evals.contents import Malformed, difference, parse, same, table


@pytest.mark.parametrize(
    ("data", "format", "content"),
    [
        ('{"a": [1, 2.5, null]}', "json", {"a": [1, 2.5, None]}),
        ('{"a": 1}\n\n[2]\n', "jsonl", [{"a": 1}, [2]]),
        ("a: &x [1]\nb: *x\n", "yaml", {"a": [1], "b": [1]}),
        ('a = "b"\n', "toml", {"a": "b"}),
        ('a,b\n"1, 2",3\n\n', "csv", [["a", "b"], ["1, 2", "3"]]),
        ("\ufeffa\tb\n", "tsv", [["a", "b"]]),
    ],
)
def test_parse(data: str, format: str, content: object) -> None:
    assert parse(data.encode(), format) == content


@pytest.mark.parametrize(
    ("data", "format", "message"),
    [
        (b"{'a': 1}", "json", "line 1"),
        (b"", "json", "it is empty"),
        (b'{"a": 1}\n{', "jsonl", "line 1"),
        (b"a: [", "yaml", "line"),
        (b"a = ", "toml", "Invalid value"),
        (b'"a', "csv", "unexpected end"),
        (b"a,b\n1\n", "csv", "its rows have 1 to 2 cells"),
        (b"a\0b", "csv", "NUL"),
        (b"\xff", "json", "not UTF-8 from byte 0 on"),
        (b"a: &a [*a]", "yaml", "nesting deeper"),
    ],
)
def test_what_is_malformed_is_told(data: bytes, format: str, message: str) -> None:
    with pytest.raises(Malformed, match=message):
        parse(data, format)


@given(st.binary(max_size=60), st.sampled_from(["json", "jsonl", "yaml", "toml", "csv", "tsv"]))
def test_any_bytes(data: bytes, format: str) -> None:
    try:
        parse(data, format)
    except Malformed as error:
        assert str(error)


def test_differences_are_named() -> None:
    rows = [["id", "n"], ["1", "x"], ["2", "y"]]
    assert difference(rows, rows) == ""
    assert difference([], []) == ""
    assert difference(rows, rows[:2]) == "3 rows instead of 2"
    assert difference(rows, [*rows[:2], ["2", "z"]]) == "row 3, cell 2: 'y' instead of 'z'"
    assert difference(rows, [*rows[:2], ["2"]]) == "row 3 has 2 cells instead of 1"
    swapped = [rows[0], rows[2], rows[1]]
    assert difference(rows, swapped, unordered=True) == ""
    assert "no row ['3', 'y']" in difference(rows, [*rows[:2], ["3", "y"]], unordered=True)
    assert difference([["1.0"]], [["1.05"]], tolerance=0.1) == ""
    assert difference([["1.0"]], [["x"]], tolerance=0.1)


def test_same() -> None:
    assert same({"a": [1, 2.0]}, {"a": [1.0, 2]})
    assert not same(1, True)
    assert not same({"a": 1}, {"a": 1, "b": 2})
    assert not same([1], [1, 1])
    assert same(json.loads("null"), None)


def test_table_has_no_blank_rows() -> None:
    assert table(b"a\n\nb\n", ",") == [["a"], ["b"]]
