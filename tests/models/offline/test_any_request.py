"""No request, however odd, makes a policy raise or an answer that is no message."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from anthropic.types import Message
from hypothesis import given, settings
from hypothesis import strategies as st
from models.offline.kit import BODY, DOCUMENTED_LISTING, LISTING, SKILL, request
from pydantic import TypeAdapter

from skilleval.errors import ModelError
from skilleval.models.offline.literal import EAGER, LITERAL, SHY
from skilleval.models.offline.model import OfflineModel
from skilleval.models.offline.script import Script
from skilleval.models.offline.script_file import Scripted, Step
from skilleval.models.offline.turns import ApiError, Policy, Turn, text_block

_MESSAGE: TypeAdapter[Any] = TypeAdapter(Message)
STEPS = (Step(Turn(error=ApiError(500, "api_error", "x")), 1), Step(Turn((text_block("a"),)), None))
POLICIES: list[Policy] = [
    LITERAL, EAGER, SHY, Script("offline/script:x", (Scripted("csv", STEPS), Scripted("", STEPS))),
]  # fmt: skip

odd = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
phrases = st.sampled_from(
    [
        "csv", "Tidy the duplicate rows of a.csv", LISTING, DOCUMENTED_LISTING, BODY,
        "<system-reminder>", f"<system-reminder>{LISTING}</system-reminder>", "- x: y",
        "Base directory for this skill: /s/csv-tidy\n\n" + BODY, "<command-name>/x</command-name>",
        "```bash\n$ ls\n```", "\ud800", "/s/csv-tidy/SKILL.md", "cat /s/csv-tidy/SKILL.md",
    ]
)  # fmt: skip
texts = phrases | st.text(max_size=20)
ids = st.sampled_from(["a", "b"])


def mapping(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A mapping with most of some fields, each right or odd."""
    return st.fixed_dictionaries({}, optional={key: value | odd for key, value in fields.items()})


given_input = mapping(command=texts, file_path=texts, skill=texts, args=texts)
names = st.sampled_from(["Bash", "Skill", "Read", "bash", "X"])
blocks = (
    mapping(type=st.just("text"), text=texts)
    | mapping(type=st.just("tool_use"), id=ids, name=names, input=given_input)
    | mapping(type=st.just("tool_result"), tool_use_id=ids, content=texts, is_error=st.booleans())
)
contents = texts | st.lists(blocks | odd, max_size=4)
roles = st.sampled_from(["user", "assistant", "system"])
messages = st.lists(mapping(role=roles, content=contents) | odd, max_size=5)
tools = st.lists(
    mapping(name=names, input_schema=mapping(properties=odd, required=st.lists(texts))) | odd,
    max_size=3,
)
requests = mapping(
    model=st.just("m"), max_tokens=st.integers(1, 9), messages=messages, system=contents,
    tools=tools, tool_choice=odd, metadata=odd, thinking=odd, cache_control=odd,
)  # fmt: skip


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
@settings(deadline=None, max_examples=150)
@given(body=requests)
def test_policies_never_raise(policy: Policy, body: dict[str, Any]) -> None:
    assert isinstance(policy.answer(body), Turn)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
@settings(deadline=None, max_examples=150)
@given(body=requests, said=st.lists(texts.filter(str.strip), min_size=1, max_size=4))
def test_answers_are_messages_or_errors(
    policy: Policy, body: dict[str, Any], said: list[str]
) -> None:
    fine = request(*said, system=LISTING, tools=[SKILL], max_tokens=5)
    for each in (body, fine):
        try:
            message, _ = asyncio.run(OfflineModel(policy).send(each, lambda event: None))
        except ModelError as error:
            assert error.failure
        else:
            _MESSAGE.validate_python(message)
