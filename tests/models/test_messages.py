"""Replies: read once, and checked, since an endpoint may be anything."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from models.fake_api import REQUEST, message, text, tool_use
from models.valid_requests import problems

from skilleval.errors import ExitCode, Failure, ModelError
from skilleval.models.messages import Outcome, Usage, read_json, read_reply, read_usage

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

OUTCOMES = {
    "end_turn": Outcome.COMPLETED,
    "stop_sequence": Outcome.COMPLETED,
    "tool_use": Outcome.TOOL_USE,
    "max_tokens": Outcome.MAX_TOKENS,
    "model_context_window_exceeded": Outcome.CONTEXT_FULL,
    "pause_turn": Outcome.PAUSED,
    "refusal": Outcome.REFUSED,
    "something_new": Outcome.UNKNOWN,
    "": Outcome.UNKNOWN,
}


@pytest.mark.parametrize(("reason", "outcome"), OUTCOMES.items())
def test_a_stop_reason_is_an_outcome(reason: str, outcome: Outcome) -> None:
    reply = read_reply(message(stop_reason=reason))
    assert reply.outcome is outcome
    assert reply.stop_reason == reason


@pytest.mark.parametrize("reason", [None, 7, ["end_turn"], {}])
def test_a_stop_reason_that_is_no_text_is_unknown(reason: object) -> None:
    assert read_reply(message(stop_reason=reason)).outcome is Outcome.UNKNOWN


def test_every_stop_reason_of_the_sdk_has_an_outcome() -> None:
    from typing import get_args

    from anthropic.types import StopReason

    known = {reason for reason in get_args(StopReason) if isinstance(reason, str)}
    named = {reason for reason, outcome in OUTCOMES.items() if outcome is not Outcome.UNKNOWN}
    assert known - {"compaction"} <= named


def test_what_a_reply_holds() -> None:
    call = tool_use(path="a")
    whole = message("One, ", {"type": "thinking", "thinking": "…", "signature": "s"}, "two", call)
    reply = read_reply(whole, "req_1")
    assert reply.text == "One, two"
    assert reply.tool_calls == [call]
    assert list(reply.content) == whole["content"]
    assert reply.raw is whole
    assert (reply.id, reply.model, reply.request_id) == ("msg_1", "claude-haiku-5-5", "req_1")
    assert reply.usage == Usage(10, 5, 3, 2, 1)
    assert reply.usage.prompt == 15
    assert reply.cost is None


def test_a_refusal_is_explained() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "Because."}
    reply = read_reply(message(stop_reason="refusal", stop_details=details))
    assert reply.explanation == "Because."
    for odd in (None, "x", {}, {"explanation": 7}):
        assert read_reply(message(stop_details=odd)).explanation == ""


def test_content_of_any_kind_is_kept() -> None:
    block = {"type": "from_the_future", "data": [1]}
    assert read_reply(message(block)).content == (block,)
    assert read_reply(message(content=[])).text == ""


@pytest.mark.parametrize("odd", [None, 7, {"a": 1}, ["x"]])
def test_names_that_are_no_text_are_empty(odd: object) -> None:
    reply = read_reply(message(id=odd, model=odd))
    assert (reply.id, reply.model) == ("", "")


BROKEN: dict[str, object] = {
    "nothing": None,
    "a list": [],
    "an object": {},
    "of another type": message(type="error"),
    "no content": message(content=None),
    "text for content": message(content="Hello"),
    "a text block without text": message({"type": "text"}),
    "text that is none": message({"type": "text", "text": ["a"]}),
    "a block without a type": message({"text": "a"}),
    "a type that is none": message({"type": 7}),
    "a block that is none": message(content=["a"]),
    "thinking that is none": message({"type": "thinking", "thinking": None}),
    "a call without an id": message({"type": "tool_use", "name": "a", "input": {}}),
    "a call whose name is none": message({**tool_use(), "name": 1}),
    "a call with text": message({**tool_use(), "input": "{}"}),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=list(BROKEN))
def test_what_is_no_message_is_malformed(broken: object) -> None:
    with pytest.raises(ModelError) as caught:
        read_reply(broken, "req_1")
    assert caught.value.failure is Failure.MALFORMED
    assert caught.value.exit_code == ExitCode.UNMEASURED
    assert caught.value.request_id == "req_1"
    assert "base URL" in caught.value.remedy


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["type", "content", "text", "usage", "id", "input", "name", "x"]), inner
        )
    ),
    max_leaves=12,
)


@patient
@given(json_values, json_values)
def test_whatever_comes_is_read_or_malformed(body: Any, content: Any) -> None:
    for odd in (body, message(content=content), message(usage=body, content=[text("a"), content])):
        try:
            reply = read_reply(odd)
        except ModelError as error:
            assert error.failure is Failure.MALFORMED
        else:
            assert isinstance(reply.text, str)
            assert min(reply.usage) >= 0


@pytest.mark.parametrize("odd", [None, -1, 0, 1.5, float("nan"), "7", True, [], 10**30])
def test_a_count_that_makes_no_sense_is_none(odd: object) -> None:
    names = ("input", "output", "cache_read_input", "cache_creation_input")
    counts = {f"{name}_tokens": odd for name in names}
    assert read_usage({**counts, "output_tokens_details": {"thinking_tokens": odd}}) == Usage()
    assert read_usage({"output_tokens_details": odd}) == Usage()


def test_usage_adds_up() -> None:
    assert Usage(1, 2, 3, 4, 5).plus(Usage(10, 20, 30, 40, 50)) == Usage(11, 22, 33, 44, 55)


@patient
@given(st.recursive(st.none() | st.integers() | st.text(), st.lists, max_leaves=8))
def test_json_is_read(value: Any) -> None:
    assert read_json(json.dumps(value)) == value


def nested(depth: int) -> str:
    return '{"a":[' * (depth // 2) + "]}" * (depth // 2)


@pytest.mark.parametrize("depth", [2, 100])
def test_json_may_nest(depth: int) -> None:
    read_json(nested(depth))


@pytest.mark.parametrize(
    "text_", [nested(102), "[" * 100_000, "NaN", "[-Infinity]", "1e999", "-1e999", "{", "\xff"]
)
def test_json_that_would_do_harm_is_none(text_: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_json(text_)


# The check of all requests that the tests make


def test_a_valid_request_has_no_problems() -> None:
    blocks = [text("a"), {"type": "tool_result", "tool_use_id": "x", "content": [text("b")]}]
    request = {
        **REQUEST,
        "system": [{**text("s"), "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
        "messages": [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": [tool_use(a=[1, {"b": None}])]},
            {"role": "user", "content": blocks},
        ],
        "tools": [{"name": "read", "description": "d", "input_schema": {"type": "object"}}],
        "tool_choice": {"type": "auto"},
        "thinking": {"type": "adaptive"},
        "output_config": {"effort": "high"},
        "metadata": {"user_id": "u"},
    }
    assert problems(request) == []
    assert problems({**request, "betas": ["context-1m-2025-08-07"]}) == []
    assert problems({**request, "stream": True}) == []


INVALID: dict[str, dict[str, Any]] = {
    "an unknown field": {"max_token": 7},
    "a wrong type": {"max_tokens": "100"},
    "a bool for a number": {"max_tokens": True},
    "no messages": {"messages": None},
    "an unknown role": {"messages": [{"role": "tool", "content": "a"}]},
    "a field deep down": {"messages": [{"role": "user", "content": [{**text("a"), "txt": "b"}]}]},
    "a block of another kind": {"messages": [{"role": "user", "content": [{"type": "x"}]}]},
    "a field of a tool": {"tools": [{"name": "a", "input_schema": {"type": "object"}, "x": 1}]},
    "an unknown effort": {"output_config": {"effort": "extreme"}},
}


@pytest.mark.parametrize("odd", INVALID.values(), ids=list(INVALID))
def test_an_invalid_request_has_problems(odd: dict[str, Any]) -> None:
    assert problems({**REQUEST, **odd})
