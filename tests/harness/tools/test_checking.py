"""Arguments are checked first, and what is wrong with them is said so that it can be put right."""

from __future__ import annotations

import time
from typing import Any

import pytest
from harness.tools.kit import TOOLS
from hypothesis import given, settings
from hypothesis import strategies as st

from skilleval.harness.tools import check_input

READ, EDIT, GREP = (TOOLS[name].definition for name in ("Read", "Edit", "Grep"))


@pytest.mark.parametrize("name", sorted(TOOLS))
def test_the_examples_are_right(name: str) -> None:
    definition = TOOLS[name].definition
    for example in definition.get("input_schema", {}).get("examples", []):
        assert check_input(definition, example) == ""


@pytest.mark.parametrize(
    ("definition", "given_", "wrong"),
    [
        (READ, {}, "file_path is missing"),
        (EDIT, {"file_path": "a"}, "old_string and new_string are missing"),
        (READ, {"file_path": 1}, "file_path must be a string, not 1"),
        (READ, {"file_path": "a", "limit": "5"}, 'limit must be a whole number, not "5"'),
        (READ, {"file_path": "a", "limit": 0}, "limit: minimum is 1, not 0"),
        (READ, {"file_path": "a", "limits": 5}, '"limits" is unknown; did you mean limit?'),
        (READ, {"filepath": "a"}, '"filepath" is unknown; did you mean file_path?'),
        (READ, {"file_path": "a", "zzz": 5}, '"zzz" is unknown; known: file_path, limit, offset'),
        (GREP, {"pattern": "a", "output_mode": "lines"}, 'must be one of "files_with_matches"'),
        (GREP, {"pattern": ""}, "minLength is 1"),
        (READ, [], "the arguments must be an object"),
        (READ, {"file_path": "a", "x" * 500: 1}, "x…"),
    ],
)
def test_what_is_wrong_is_said(definition: Any, given_: Any, wrong: str) -> None:
    said = check_input(definition, given_)
    assert wrong in said and len(said) < 1_000
    assert f"A right call: {definition['name']}(" in said


def test_an_example_is_made_from_the_schema() -> None:
    properties = {
        "city": {"type": "string"},
        "days": {"type": "integer"},
        "unit": {"enum": ["C", "F"]},
        "more": {"type": "string"},
    }
    schema = {"type": "object", "properties": properties, "required": ["city", "days", "unit"]}
    definition = {"name": "mcp__w__forecast", "input_schema": schema}
    said = check_input(definition, {"city": "Rome"})
    assert 'mcp__w__forecast({"city": "<city>", "days": 1, "unit": "C"})' in said
    assert check_input(definition, {"city": "Rome", "days": 2, "unit": "F"}) == ""


@pytest.mark.parametrize(
    "schema",
    [
        {"type": 5},
        {"type": "object", "properties": []},
        {"$ref": "http://127.0.0.1:9/schema.json"},
        {"$ref": "#"},
        {"properties": {"a": {"$ref": "#/definitions/gone"}}},
        {},
    ],
)
def test_a_server_s_broken_schema_checks_nothing(schema: dict[str, Any]) -> None:
    assert check_input({"name": "x", "input_schema": schema}, {"a": 1}) == ""


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    fetched = []
    monkeypatch.setattr("urllib.request.urlopen", lambda *given, **named: fetched.append(given))
    schema = {"$ref": "http://127.0.0.1:9/other.json"}
    assert check_input({"name": "x", "input_schema": schema}, {}) == ""
    assert not fetched


def test_patterns_of_servers_are_not_matched() -> None:
    slow = {"type": "string", "pattern": "^(a+)+$"}
    schema = {"properties": {"a": slow}, "patternProperties": {"^(a+)+$": {}}}
    start = time.monotonic()
    wrong = "a" * 40 + "!"
    assert check_input({"name": "x", "input_schema": schema}, {"a": wrong, wrong: 1}) == ""
    assert time.monotonic() - start < 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@settings(deadline=None)
@given(st.sampled_from(sorted(TOOLS)), JSON)
def test_any_input_gets_an_answer(name: str, value: object) -> None:
    assert isinstance(check_input(TOOLS[name].definition, value), str)
