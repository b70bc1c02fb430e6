"""What the tests of evaluation files share: reading from text, and hypothesis strategies."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from skilleval.evals.checks import KINDS, Check
from skilleval.evals.reading import read_bytes
from skilleval.evals.records import ARMS, Behaviour, InputFile, Limits, Record, Suite

__all__ = ["CHECKS", "FILES", "read", "records", "suite", "texts", "words"]

FILES = {
    "trigger": '[{"query": "Tidy this CSV", "should_trigger": true}]',
    "native": '[{"skills": ["a"], "query": "q", "files": [], "expected_behavior": ["b"]}]',
    "skill-creator": '{"skill_name": "a", "evals": [{"id": 1, "prompt": "p", "expectations": '
    '["e"]}]}',
}
CHECKS: dict[str, dict[str, Any]] = {
    "file_exists": {"path": "out/*.csv"},
    "file_matches": {"path": "a.txt", "pattern": "x+", "ignore_case": True},
    "file_parses": {"path": "a.json"},
    "json_equals": {"path": "a.json", "value": None, "at": "$.rows[0]"},
    "table_equals": {"path": "a.csv", "rows": [["id", "n"], ["1", "2"]], "tolerance": 0.5},
    "file_unchanged": {"path": "in.csv"},
    "output_matches": {"contains": "done"},
    "command_exits": {"command": "test -f a.csv", "code": 1},
    "tool_used": {"tool": "Bash", "arguments": {"command": "tidy"}, "min": 1, "max": 3},
    "tool_order": {"tools": ["Read", "Bash"]},
    "skill_activated": {"skill": "csv-tidy", "negate": True},
    "reference_read": {"path": "references/rules.md"},
    "no_denial": {},
    "cost_below": {"dollars": 0.5},
    "turns_below": {"turns": 9},
}
"""One of each kind, as a file has it."""


def read(text: str | bytes, path: str = "evals.json") -> Any:
    """Read a file from its text."""
    return read_bytes(path, text.encode() if isinstance(text, str) else text)


def suite(data: Any, path: str = "evals.json") -> Suite:
    """Read cases from plain data."""
    contents = read(json.dumps(data), path)
    assert isinstance(contents, Suite)
    return contents


def texts() -> st.SearchStrategy[str]:
    """Texts of any characters that JSON can hold."""
    return st.text(st.characters(exclude_categories=("Cs",)), max_size=12)


def words() -> st.SearchStrategy[str]:
    """Names: not empty, and nothing special in a path."""
    return st.text("abcdefgh-äé", min_size=1, max_size=8).filter(lambda text: text.strip("-"))


def plain() -> st.SearchStrategy[Any]:
    """Plain data that JSON can hold."""
    leaf = st.none() | st.booleans() | st.integers(-(10**6), 10**6) | texts()
    return st.recursive(leaf, lambda inner: st.lists(inner, max_size=2), max_leaves=3)


def extras(prefix: str = "x_") -> st.SearchStrategy[dict[str, Any]]:
    """Fields that no format knows."""
    return st.dictionaries(words().map(lambda word: prefix + word), plain(), max_size=2)


def checks() -> st.SearchStrategy[Check]:
    """Checks of every kind."""
    return st.one_of([st.builds(_check, st.just(name), words(), texts(), st.booleans(), extras())
                      for name in CHECKS])  # fmt: skip


def _check(name: str, id: str, text: str, negate: bool, extra: dict[str, Any]) -> Check:
    fields = {
        key: tuple(map(tuple, value)) if key == "rows" else tuple(value)
        if isinstance(value, list) else value
        for key, value in CHECKS[name].items()
    }  # fmt: skip
    fields |= {"id": id, "text": text, "negate": negate, "extra": extra}
    return KINDS[name](**fields)


def behaviours() -> st.SearchStrategy[Behaviour]:
    """Behaviours with any of their fields."""
    return st.builds(Behaviour, texts(), st.just("") | words(), st.integers(0, 9), st.booleans(),
                     extras())  # fmt: skip


def files() -> st.SearchStrategy[InputFile]:
    """Input files, named or written out."""
    return st.one_of(
        st.builds(InputFile, words()),
        st.builds(InputFile, words(), st.none(), words(), extras()),
        st.builds(InputFile, st.none(), texts(), words()),
    )


def records() -> st.SearchStrategy[Record]:
    """Records with any of their fields."""
    names = st.lists(words(), max_size=3).map(tuple)
    limits = st.builds(
        Limits, st.none() | st.integers(0, 99), st.none() | st.floats(0, 1e6),
        st.none() | st.integers(0, 9), st.none() | st.booleans(), extras(),
    )  # fmt: skip
    return st.builds(
        Record,
        query=texts(),
        skills=st.none() | names,
        files=st.lists(files(), max_size=2).map(tuple),
        expected_behavior=st.lists(behaviours(), max_size=2).map(tuple),
        id=st.none() | st.integers(-99, 99) | texts(),
        title=texts(),
        turns=st.lists(texts(), max_size=2).map(tuple),
        setup=st.lists(texts(), max_size=2).map(tuple),
        checks=st.lists(checks(), max_size=2).map(tuple),
        must_not=st.lists(behaviours(), max_size=2).map(tuple),
        expected_output=texts(),
        should_trigger=st.none() | st.booleans(),
        expected_skill=st.none() | words(),
        acceptable_skills=names,
        distractors=names,
        arms=st.lists(st.sampled_from(ARMS), max_size=3).map(tuple),
        limits=limits,
        weight=st.integers(0, 9),
        tags=names,
        note=texts(),
        extra=extras(),
    )
