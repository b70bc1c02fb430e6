"""Finding the format, and saying what is wrong with a file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from conftest import Write
from evals.kit import FILES, read
from hypothesis import example, given, settings
from hypothesis import strategies as st

from skilleval.errors import InputError
from skilleval.evals import read_evaluations
from skilleval.evals.reading import MAX_FILE
from skilleval.evals.registry import formats

MARKS = sorted({word for format in formats().values() for word in format.words})


def test_every_format_is_there() -> None:
    assert {format.number for format in formats().values()} == set(range(1, 14))


@pytest.mark.parametrize("name", sorted(FILES))
def test_the_format_is_found_from_the_content(name: str) -> None:
    for path in ("evals.json", "x.yaml", "odd.txt", "trigger_eval.json"):
        assert read(FILES[name], path).format == name


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        ("", r"evals\.json:1:1: the file is empty", "Write a case"),
        (" \n\t", r"the file is empty", "Write a case"),
        ("null", "", "docs"),
        ("3", "a single value", "docs"),
        ('"x"', "a single value", "docs"),
        ("{}", "a mapping without fields", "docs"),
        ("[1, 2]", "a list without fields", "docs"),
        ('{"a": 1, "b": 2}', "of no known format: a mapping with the fields `a`, `b`", "docs"),
        ('{\n "skill_name": "a",\n "evlas": []}',
         r"evals\.json:3:2: there is no field `evals` here, but `evlas`",
         "to make it a file of the format skill-creator"),
        ('{"scenarois": [{"prompt": "x"}]}', r":1:2: there is no field `scenarios`", "dotnet"),
        ('[{"query": "x", "shouldtrigger": true}]', r":1:17: there is no field `should_trigger`",
         "trigger"),
        ('{"expectation": [{"passed": true}], "summary": {}}',
         "there is no field `expectations` here, but `expectation`", "grading"),
        ('{"run": [], "run_summary": {}}', "there is no field `runs` here", "benchmark"),
        ('{"evals": [],}', r":1:13: no JSON: a comma before }", "well-formed JSON"),
        ('{"evals": [', "but the file ends here", "well-formed JSON"),
        ("\x00", "", ""),
        (b"[\xff]", r":1:2: not UTF-8 from here on", "UTF-8"),
        (b"\xff\xfe[\x00]\x00", "not UTF-8", "UTF-8"),
    ],
)  # fmt: skip
def test_near_misses(text: str | bytes, message: str, remedy: str) -> None:
    with pytest.raises(InputError, match=message or None) as raised:
        read(text)
    assert raised.value.message.startswith("evals.json:1:" if "evlas" not in str(text) else "evals")
    assert remedy in raised.value.remedy


def test_yaml_and_json_say_the_same() -> None:
    yaml = "skill_name: a\nevals:\n- id: 1\n  prompt: p\n  expectations: [e]\n"
    assert read(yaml, "evals.yaml") == read(FILES["skill-creator"])


def test_a_mark_at_the_start_and_dos_line_ends() -> None:
    assert read("\ufeff" + FILES["native"]) == read(FILES["native"])
    with pytest.raises(InputError, match=r"^evals\.json:2:2: "):
        read('\ufeff{"skill_name": "a",\r\n "evlas": []}')


def test_an_empty_list_is_a_finding() -> None:
    found = read("[]")
    assert (found.format, found.records) == ("native", ())
    assert [remark.kind for remark in found.remarks] == ["empty"]


@pytest.mark.parametrize(
    ("files", "path", "message"),
    [
        ({}, "gone.json", "can't be read: No such file"),
        ({"d/x": ""}, "d", "a folder without a case"),
        ({"a\nb.json": "{"}, "a\nb.json", "no JSON"),
        ({}, "a\0b", "can't be read"),
    ],
)
def test_files_that_can_not_be_read(
    write: Write, files: dict[str, str], path: str, message: str
) -> None:
    write(files)
    with pytest.raises(InputError, match=message) as raised:
        read_evaluations(path)
    assert raised.value.remedy


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    path = tmp_path / "evals.json"
    path.write_bytes(b" " * (MAX_FILE + 1))
    with pytest.raises(InputError, match="over"):
        read_evaluations(str(path))


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 50_000,
        '[{"prompt": "x", "expectations": [' + '"y",' * 150_000 + '"z"]}]',
        "[" + ",".join(f'{{"query": "q", "should_trigger": true, "k{n}": 1}}' for n in range(9_000))
        + "]",
        '{"evals": [{' + ",".join(f'"k{n}": 1' for n in range(60_000)) + "}]}",
        "{" + ",".join(f'"key_{n}_evalz": 1' for n in range(60_000)) + "}",
        "a: &a [" + "x," * 9 + "]\n" + "".join(
            f"k{n}: &k{n} [{('*a,' if n == 0 else f'*k{n - 1},') * 9}]\n" for n in range(9)
        ),
    ],
    ids=["tower", "keys", "long", "unknown", "wide", "far", "bomb"],
)  # fmt: skip
def test_hostile_files_are_done_with_soon(text: str) -> None:
    started = time.process_time()
    try:
        read(text, "evals.json" if text[0] in "[{" else "eval.yaml")
    except InputError as error:
        assert len(error.message) < 1_000
    assert time.process_time() - started < 5


def only_input_errors(data: bytes, path: str) -> None:
    try:
        read(data, path)
    except InputError as error:
        assert error.message and error.remedy
        assert error.remedy
        assert error.message.startswith(path)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=80), st.sampled_from(["evals.json", "eval.yaml", "x"]))
@example(b"&a [*a]", "eval.yaml")
@example(b"- &a {query: *a, should_trigger: true}", "eval.yaml")
@example(b"scenarios: &a [*a]", "eval.yaml")
@example(b"tasks: [{instruction: &x {a: *x}}]", "eval.yaml")
@example(b"evals: [{<<: [1], prompt: 3}]", "eval.yaml")
@example(b"evals: !!python/object/apply:os.system [true]", "eval.yaml")
def test_no_bytes_raise_anything_else(data: bytes, path: str) -> None:
    only_input_errors(data, path)


def shaped() -> st.SearchStrategy[Any]:
    """Data that looks like a format, with anything in the place of anything."""
    leaf = st.none() | st.booleans() | st.integers(-2, 3) | st.sampled_from(
        ["", "x", "../x", "(", "regex", "trigger", "skill-used", "tasks/*.yaml", "a.md", "file"]
    )  # fmt: skip
    key = st.sampled_from([*MARKS, "type", "text", "pattern", "value", "config", "path", "id",
                           "name", "assertions", "files", "setup", "limits", "checks", "timeout",
                           "records", "result", "rubric", "run", "skill", "extra"])  # fmt: skip
    return st.recursive(
        leaf, lambda d: st.lists(d, max_size=3) | st.dictionaries(key, d, max_size=5), max_leaves=14
    )


@settings(max_examples=400, deadline=None)
@given(shaped())
def test_no_data_raises_anything_else(data: Any) -> None:
    import json

    only_input_errors(json.dumps(data).encode(), "nowhere/evals.json")


@pytest.mark.parametrize("name", sorted(formats()))
@settings(max_examples=40, deadline=None)
@given(data=shaped())
def test_no_reader_raises_anything_else(name: str, data: Any) -> None:
    import json

    from skilleval.evals.reading import tree
    from skilleval.evals.values import Reading, Value
    from skilleval.skill import Document

    reading = Reading("nowhere/f.json", Document("f.json", json.dumps(data).encode()))
    try:
        formats()[name].read(Value(tree(reading), "", reading), reading)
    except InputError as error:
        assert error.message and error.remedy
