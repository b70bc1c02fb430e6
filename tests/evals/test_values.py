"""Values with places, and fields that nobody forgets."""

from __future__ import annotations

import pytest

from skilleval.errors import InputError
from skilleval.evals.reading import tree
from skilleval.evals.values import Fields, Reading, Value, closest
from skilleval.skill import Document


def value(text: str, name: str = "f.yaml") -> Value:
    reading = Reading(name, Document(name, text.encode()))
    return Value(tree(reading), "", reading)


def test_plain_data_of_yaml() -> None:
    text = "a: 1\nb: 1.50\nc: yes\nd: ~\ne: 2024-01-02\nf: .nan\ng: 0o17\nh: '5'\ni: 010\nj: 1:30\n"
    assert value(text).plain() == {
        "a": 1, "b": 1.5, "c": True, "d": None, "e": "2024-01-02", "f": ".nan", "g": "0o17",
        "h": "5", "i": "010", "j": "1:30",
    }  # fmt: skip


def test_aliases_and_merge_keys() -> None:
    text = "base: &b {x: 1, y: 2}\nmade: {<<: *b, y: 3}\nlist: [*b, *b]\n"
    assert value(text).plain()["made"] == {"x": 1, "y": 3}
    assert value(text).plain()["list"] == [{"x": 1, "y": 2}] * 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &a [*a]\n", "nesting deeper"),
        ("a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
            f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 9)}]\n"
            for n in range(8)), "values once its aliases"),
        ("? [a, b]\n: 1\n", "a field name must be a text"),
        ("a: [1\n", "no YAML"),
        ("a: 1\n---\nb: 2\n", "a second YAML document"),
    ],
)  # fmt: skip
def test_hostile_yaml(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        value(text).plain()


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda v: v["t"].flag(), r"t: must be true or false, but is a text"),
        (lambda v: v["t"].number(), r"t: must be a number, but is a text"),
        (lambda v: v["t"].items(), r"t: must be a list, but is a text"),
        (lambda v: v["l"].text(), r"l: must be a text, but is a list"),
        (lambda v: v["l"].texts(), r"l\[1\]: must be a text, but is a mapping"),
        (lambda v: v["f"].whole(), r"f: must be a whole number from 0 on, but is 1.5"),
        (lambda v: v["m"].whole(), r"m: must be a whole number from 0 on, but is -1"),
        (lambda v: v["n"].pairs(), r"n: must be a mapping of fields, but is null"),
        (lambda v: v["y"].text(), r"y: must be a text, but is true or false"),
    ],
)  # fmt: skip
def test_wrong_kinds_are_named(read: object, message: str) -> None:
    pairs = value("t: x\nl: [a, {}]\nf: 1.5\nm: -1\nn: null\ny: true\n").pairs()
    with pytest.raises(InputError, match=rf"f\.yaml:\d+:\d+: {message}"):
        read(pairs)  # type: ignore[operator]


def test_unquoted_numbers_are_texts_in_yaml_only() -> None:
    assert value("a: 404\n").pairs()["a"].text() == "404"
    assert value("a: 2024-01-02\n").pairs()["a"].text() == "2024-01-02"
    with pytest.raises(InputError, match="must be a text, but is a number"):
        value('{"a": 404}', "f.json").pairs()["a"].text()


def test_duplicate_fields_are_named() -> None:
    found = value('{"a": 1, "a": 2}', "f.json")
    assert found.plain() == {"a": 2}
    assert [(r.kind, r.column) for r in found.reading.remarks] == [("duplicate-key", 10)]


def test_rest_names_what_nobody_asked_for() -> None:
    found = value("known: 1\nempty: null\nplaceless: 2\nqeury: 3\n")
    fields = Fields(found)
    assert fields.number("known") == 1
    assert fields.text("empty") == fields.text("query") == ""
    assert fields.rest("placeless") == {"empty": None, "placeless": 2, "qeury": 3}
    (remark,) = found.reading.remarks
    assert str(remark) == (
        "f.yaml:4:8: qeury: an unknown field, kept as it is; did you mean `query`? [unknown-field]"
    )


def test_an_unknown_field_of_many_cases_is_one_remark() -> None:
    found = value('[{"x": 1}, {"x": 2}, {"x": 3}]', "f.json")
    for item in found.items():
        Fields(item).rest()
    (remark,) = found.reading.remarks
    assert remark.message == "[0].x: an unknown field, kept as it is (and 2 more)"


def test_need_finds_the_misspelt_field() -> None:
    with pytest.raises(InputError, match=r"f\.yaml:1:8: promt: there is no field `prompt` here"):
        Fields(value("promt: x\n")).need("prompt")
    with pytest.raises(InputError, match=r"prompt: must not be null"):
        Fields(value("prompt: null\n")).need("prompt")
    with pytest.raises(InputError, match=r"there is no field `prompt` or `query` here"):
        Fields(value("a: x\n")).need("prompt", "query")


def test_of_two_names_for_one_field_the_first_counts_and_is_told() -> None:
    found = value("query: a\nprompt: b\n")
    assert Fields(found).need("query", "prompt").text() == "a"
    assert [remark.kind for remark in found.reading.remarks] == ["contradiction"]


def test_closest() -> None:
    assert closest("expectation", ["expectations", "evals"]) == "expectations"
    assert closest("zzz", ["expectations", "evals"]) is None
