"""skill-creator's evals.json, in all its dialects."""

from __future__ import annotations

from typing import Any

import pytest
from evals.kit import extras, read, suite, texts, words
from hypothesis import given, settings
from hypothesis import strategies as st

from skilleval.errors import InputError
from skilleval.evals import Behaviour, Suite, convert, dump
from skilleval.evals.checks import OutputMatches


def whole(*assertions: Any, key: str = "expectations") -> dict[str, Any]:
    case = {"id": 1, "prompt": "p", "expected_output": "o", "files": [], key: list(assertions)}
    return {"skill_name": "a", "evals": [case]}


def test_both_names_of_what_is_expected_are_graded_alike() -> None:
    assert suite(whole("x")) == suite(whole("x", key="assertions"))
    both = whole("x")
    both["evals"][0]["assertions"] = ["y"]
    assert [b.text for b in suite(both).records[0].expected_behavior] == ["x", "y"]


@pytest.mark.parametrize(
    ("assertion", "made"),
    [
        ("plain", Behaviour("plain")),
        ({"text": "t", "type": "regex", "pattern": "x+"}, OutputMatches(pattern="x+", text="t")),
        ({"name": "n", "text": "t"}, Behaviour("t", extra={"name": "n"})),
        ({"text": "t", "type": "contains", "phrase": "p"}, OutputMatches(contains="p", text="t")),
        ({"text": "t", "type": "not_contains", "phrase": "p"},
         OutputMatches(contains="p", text="t", negate=True)),
        ({"name": "n", "type": "contains", "value": "v"},
         OutputMatches(contains="v", extra={"name": "n"})),
        ({"id": 3, "text": "t", "type": "semantic"},
         Behaviour("t", "3", extra={"type": "semantic"})),
        ({"id": "s", "text": "t", "type": "string_match"},
         Behaviour("t", "s", extra={"type": "string_match"})),
        ({"text": "t", "type": "regex", "pattern": "x", "severity": 1},
         OutputMatches(pattern="x", text="t", extra={"severity": 1})),
        ({"name": "only"}, Behaviour("only")),
    ],
)  # fmt: skip
def test_assertions(assertion: Any, made: object) -> None:
    found = suite(whole(assertion))
    record = found.records[0]
    assert (*record.expected_behavior, *record.checks) == (made,)
    again = read(dump(convert(found, "skill-creator").data))
    assert again == found


def test_an_assertion_that_code_can_not_decide_is_said_to_be_a_judges() -> None:
    found = suite(whole({"text": "t", "type": "ast_grep", "pattern": "x"}))
    assert [remark.kind for remark in found.remarks] == ["unmeasurable"]
    assert found.records[0].expected_behavior == (
        Behaviour("t", extra={"pattern": "x", "type": "ast_grep"}),
    )
    broken = suite(whole({"text": "t", "type": "regex", "pattern": "("}))
    assert [remark.kind for remark in broken.remarks] == ["unmeasurable"]


def test_prompt_and_expected_output_alone_are_ungradeable() -> None:
    bare = [{"id": n, "prompt": "p", "expected_output": "o"} for n in (1, 2)]
    found = suite(bare)
    assert found.format == "skill-creator"
    assert [remark.kind for remark in found.remarks] == ["ungradeable"] * 2


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"skill_name": "a", "evals": {}}, r"1:\d+: .*evals: must be a list|of no known format"),
        ({"skill_name": "a", "evals": ["x"]}, r"evals\[0\]: must be a mapping of fields"),
        ({"skill_name": "a", "evals": [{"promt": "x"}]},
         r"evals\[0\]\.promt: there is no field `prompt` or `query` here, but `promt`"),
        ({"skill_name": "a", "evals": [{"prompt": 1}]}, r"evals\[0\]\.prompt: must be a text"),
        ({"skill_name": 1, "evals": []}, r"skill_name: must be a text, but is a number"),
        ({"skill_name": "a", "evals": [{"prompt": "x", "expectations": "y"}]},
         r"evals\[0\]\.expectations: must be a list, but is a text"),
        ({"skill_name": "a", "evals": [{"prompt": "x", "assertions": [{"type": "regex"}]}]},
         r"assertions\[0\]: there is no field `text`"),
        ({"skill_name": "a", "evals": [{"prompt": "x", "files": ["/a"]}]}, "is not relative"),
        ({"skill_name": "a", "evals": [{"prompt": "x", "id": 1.5}]}, "must be a whole number"),
    ],
)  # fmt: skip
def test_near_misses(data: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        suite(data)


def test_an_empty_list_is_a_finding() -> None:
    found = suite({"skill_name": "a", "evals": []})
    assert [(r.kind, r.line) for r in found.remarks] == [("empty", 1)]


def test_what_has_no_place_is_named() -> None:
    native = suite([
        {"skills": ["a"], "query": "q", "checks": [{"kind": "no_denial"}], "turns": ["r"]},
        {"skills": ["a", "b"], "query": "q", "must_not": ["x"], "limits": {"turns": 3}},
        {"skills": ["b"], "query": "q", "expected_behavior": [{"text": "t", "weight": 3}]},
    ])  # fmt: skip
    written = convert(native, "skill-creator")
    assert "skill_name" not in written.data
    assert [case["id"] for case in written.data["evals"]] == [1, 2, 3]
    assert written.data["evals"][2]["skill"] == "b"
    assert written.lost == [
        "`turns` of case 1",
        "`must_not` of case 2",
        "`limits` of case 2",
        "the check `no_denial` of case 1",
        "`skills`, where there is room for one, of case 2",
        "`weight` of a behaviour of case 3",
    ]


ASSERTIONS = st.one_of(
    texts(),
    st.fixed_dictionaries(
        {"text": texts().filter(bool)},
        optional={
            "id": words() | st.integers(0, 9),
            "name": words(),
            "type": st.sampled_from(["regex", "contains", "not_contains", "semantic", "odd"]),
            "pattern": st.sampled_from(["a+", "(", "x"]),
            "phrase": texts(),
            "x_more": texts(),
        },
    ),
)
CASES = st.fixed_dictionaries(
    {"prompt": texts()},
    optional={
        "id": st.integers(0, 99) | texts(),
        "name": texts(),
        "skill": words(),
        "expected_output": texts(),
        "files": st.lists(words(), max_size=2),
        "expectations": st.lists(ASSERTIONS, max_size=3),
        "assertions": st.lists(ASSERTIONS, max_size=2),
        "should_trigger": st.none() | st.booleans(),
        "notes": texts(),
        "tags": st.lists(words(), max_size=2),
    },
)


@settings(max_examples=120, deadline=None)
@given(st.none() | words(), st.lists(CASES, max_size=3), st.lists(extras(), min_size=3), extras())
def test_round_trip(
    skill: str | None, cases: list[Any], more: list[dict[str, Any]], extra: dict[str, Any]
) -> None:
    data = {"evals": [case | odd for case, odd in zip(cases, more, strict=False)], **extra}
    first = suite(data if skill is None else {"skill_name": skill, **data})
    assert first.format == "skill-creator"
    written = convert(first, "skill-creator")
    assert written.lost == []
    again = read(dump(written.data))
    assert again == first
    assert isinstance(again, Suite) and convert(again, "skill-creator").data == written.data


def test_written_data_is_what_was_read() -> None:
    data = whole("x", {"text": "t", "type": "regex", "pattern": "a"})
    assert convert(suite(data), "skill-creator").data == data
