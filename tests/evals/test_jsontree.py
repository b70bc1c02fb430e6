"""JSON with places: the same values as the standard library, and where each stands."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skilleval.evals.jsontree import MAX_DEPTH, parse_json
from skilleval.evals.values import Reading, Value
from skilleval.skill import Document
from skilleval.skill.yamltree import Mapping, YamlProblem

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False,
                                                               allow_infinity=False) | st.text(
    st.characters(exclude_categories=("Cs",)))  # fmt: skip
DATA = st.recursive(
    LEAVES, lambda d: st.lists(d) | st.dictionaries(st.text(st.characters(
        exclude_categories=("Cs",))), d), max_leaves=20,
)  # fmt: skip


def plain(text: str) -> object:
    node = parse_json(text)
    assert node is not None
    return Value(node, "", Reading("f.json", Document("f.json", text.encode()))).plain()


@given(DATA, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_values_are_those_of_the_standard_library(
    data: object, indent: object, ascii: bool
) -> None:
    text = json.dumps(data, indent=indent, ensure_ascii=ascii)  # type: ignore[arg-type]
    assert plain(text) == data


@given(st.text(st.sampled_from('{}[]",:0123456789.eE+-truefalsn \\u\n"a')))
def test_takes_what_the_standard_library_takes(text: str) -> None:
    try:
        expected = json.loads(text)
    except (ValueError, RecursionError):
        with pytest.raises((YamlProblem, AssertionError)):  # a blank text is no value
            plain(text)
        return
    if len(text) < 300 and not text.strip().startswith("Inf"):
        assert plain(text) == expected or "e" in text.lower()


@pytest.mark.parametrize(
    ("text", "message", "offset"),
    [
        ('{"a": 1,}', "a comma before }", 7),
        ("[1,, 2]", "expected a value", 3),
        ("[1 2]", "expected a comma or ]", 3),
        ('{"a" 1}', "expected a colon after the field name", 5),
        ("{a: 1}", "expected a field name in double quotes", 1),
        ("{'a': 1}", "expected a field name in double quotes", 1),
        ("[1", "expected a comma or ], but the file ends here", 2),
        ("[NaN]", "expected a value", 1),
        ("[1] x", "there is something after the end of the value", 4),
        ('["a\nb"]', "invalid control character", 3),
        ('["\\x"]', "invalid \\escape", 2),
        ('["abc', "unterminated string", 1),
        ('["\\ud800"]', "half of a surrogate pair", 1),
        ("[01]", "expected a comma or ]", 2),
        (f"[{'1' * 500}]", "a number of more than 400 digits", 1),
        ("[" * 100, "nesting deeper than", MAX_DEPTH),
    ],
)
def test_says_what_is_wrong_and_where(text: str, message: str, offset: int) -> None:
    with pytest.raises(YamlProblem) as raised:
        parse_json(text)
    assert message in raised.value.message
    assert raised.value.offset == offset


def test_values_know_where_they_stand() -> None:
    text = '{"a": [10, "bc"]}'
    root = parse_json(text)
    assert isinstance(root, Mapping)
    (key, value), = root.pairs  # fmt: skip
    assert text[key.start : key.end] == '"a"'
    assert text[value.start : value.end] == '[10, "bc"]'
    assert (root.start, root.end) == (0, len(text))


def test_bounds() -> None:
    with pytest.raises(YamlProblem, match="more than 3 values"):
        parse_json("[1, 2, 3, 4]", max_nodes=3)
    assert parse_json(" \n") is None
    assert parse_json("\ufeff[]") is not None
