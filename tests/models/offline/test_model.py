"""An offline model as a transport: messages, usage, ids, failures."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any

import pytest
from models.offline.kit import ask, assistant, call, request
from models.offline.kit import text as block

from skilleval.errors import Failure, InputError, ModelError
from skilleval.models.messages import Event, Outcome, read_reply
from skilleval.models.offline import OFFLINE_MODELS, open_offline, open_policy
from skilleval.models.offline.model import OfflineModel
from skilleval.models.offline.turns import ApiError, Turn, text_block, tool_block
from skilleval.models.streams import Assembly


class Always:
    """Answers with one turn."""

    name = "test/always"

    def __init__(self, turn: Turn) -> None:
        self.turn = turn

    def answer(self, request: Mapping[str, Any]) -> Turn:
        return self.turn


def model(turn: Turn | None = None, **more: Any) -> OfflineModel:
    return OfflineModel(Always(turn or Turn((text_block("Hello."),))), **more)


def failure(
    turn: Turn, body: dict[str, Any] | None = None, stream: bool = True
) -> tuple[ModelError, list[Event]]:
    """The error of a request, and the events that came before it."""
    events: list[Event] = []
    with pytest.raises(ModelError) as caught:
        asked = body or request("hi")
        asyncio.run(model(turn).send(asked, events.append if stream else None))
    return caught.value, events


def test_a_message() -> None:
    message = ask(model(), request("hi there"))
    assert re.fullmatch(r"msg_01[1-9A-HJ-NP-Za-km-z]{22}", message["id"])
    assert message["model"] == "claude-haiku-4-5"
    assert message["stop_reason"] == "end_turn"
    assert message["usage"] == {
        "input_tokens": 2, "output_tokens": 2,
        "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0,
    }  # fmt: skip
    assert read_reply(message).text == "Hello."


def test_tool_calls_get_ids() -> None:
    turn = Turn((tool_block("A", {}), tool_block("B", {"x": [1]})))
    message = ask(model(turn), request("hi"))
    ids = [b["id"] for b in message["content"]]
    assert len(set(ids)) == 2 and all(re.fullmatch(r"toolu_01\w{22}", i) for i in ids)
    assert read_reply(message).outcome is Outcome.TOOL_USE


def test_equal_requests_get_equal_messages() -> None:
    turn = Turn((tool_block("A", {}),))
    marked = block("hi") | {"cache_control": {"type": "ephemeral"}}
    first, again = (ask(model(turn), request("hi")) for _ in range(2))
    assert first == again
    other = ask(model(turn), request({"role": "user", "content": [marked]}, system="x"))
    assert other["id"] != first["id"]
    assert other["content"][0]["id"] != first["content"][0]["id"]


def test_thinking_has_a_signature_and_counts() -> None:
    turn = Turn(({"type": "thinking", "thinking": "x" * 40}, text_block("ok")))
    message = ask(model(turn), request("hi"))
    assert message["content"][0]["signature"]
    assert read_reply(message).usage.thinking == 10
    assert read_reply(message).usage.output > 10


def test_stream_is_the_message() -> None:
    turn = Turn(
        ({"type": "thinking", "thinking": "hm"}, text_block("x" * 999), tool_block("A", {}))
    )
    events: list[Event] = []
    message, _ = asyncio.run(model(turn).send(request("hi"), events.append))
    put_together = Assembly()
    for event in events:
        put_together.add(event)
    assert put_together.complete and put_together.message == message


def test_usage_can_be_told() -> None:
    turn = Turn((text_block("ok"),), usage={"input_tokens": 7, "thinking_tokens": 3})
    usage = read_reply(ask(model(turn), request("hi"))).usage
    assert (usage.input, usage.output, usage.thinking) == (7, 1, 3)


def test_refusals_explain() -> None:
    turn = Turn(stop_reason="refusal", explanation="I may not.")
    reply = read_reply(ask(model(turn), request("hi")))
    assert (reply.outcome, reply.explanation) == (Outcome.REFUSED, "I may not.")


def test_text_ends_at_max_tokens() -> None:
    turn = Turn((text_block("ab" * 50), tool_block("A", {})))
    message = ask(model(turn), request("hi", max_tokens=3))
    assert (message["stop_reason"], message["content"]) == ("max_tokens", [block("ab" * 6)])
    assert message["usage"]["output_tokens"] == 3


def test_prompts_that_are_too_long() -> None:
    with pytest.raises(ModelError) as caught:
        ask(model(context_window=10), request("x" * 41))
    assert caught.value.failure is Failure.TOO_LONG
    assert "prompt is too long: 11 tokens > 10 maximum" in caught.value.message
    ask(model(context_window=11), request("x" * 41))


@pytest.mark.parametrize(
    ("name", "window"),
    [("claude-haiku-4-5", 200_000), ("claude-sonnet-5-5", 1_000_000), ("x", 200_000)],
)
def test_window_of_the_model_that_is_named(name: str, window: int) -> None:
    body = request("x" * (4 * window + 1), model=name)
    with pytest.raises(ModelError, match=f"> {window} maximum"):
        ask(model(context_window=None), body)


def test_what_the_api_refuses() -> None:
    error, events = failure(Turn(), request("hi", assistant(call("Bash"))))
    assert error.failure is Failure.INVALID_REQUEST and error.status == 400
    assert error.request_id.startswith("req_") and not events


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ApiError(401, "authentication_error", "no"), Failure.AUTHENTICATION),
        (ApiError(429, "rate_limit_error", "slow", 2.5), Failure.RATE_LIMIT),
        (ApiError(529, "overloaded_error", "busy", 1), Failure.OVERLOADED),
        (ApiError(500, "api_error", "oops"), Failure.SERVER),
    ],
)
def test_errors_of_the_turn(error: ApiError, expected: Failure) -> None:
    raised, events = failure(Turn(error=error))
    assert (raised.failure, raised.status) == (expected, error.status)
    assert raised.retry_after == error.retry_after
    assert error.message in raised.message and not events


def test_errors_inside_the_stream() -> None:
    broken = ApiError(529, "overloaded_error", "busy", after=2)
    raised, events = failure(Turn((text_block("Hello."),), error=broken))
    assert (raised.failure, raised.status) == (Failure.OVERLOADED, None)
    assert [event["type"] for event in events] == ["message_start", "content_block_start"]


@pytest.mark.parametrize("stream", [True, False])
def test_connections_that_drop(stream: bool) -> None:
    raised, events = failure(Turn(drop_after=0), stream=stream)
    assert raised.failure is Failure.UNREACHABLE and not events
    raised, events = failure(Turn((text_block("Hello."),), drop_after=3), stream=stream)
    assert raised.failure is Failure.CUT
    assert len(events) == (3 if stream else 0)


def test_delays() -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    ask(model(Turn((text_block("ok"),), delay=2.5), sleep=sleep), request("hi"))
    assert waited == [2.5]


def test_cache_of_the_model() -> None:
    now = [0.0]
    shared = model(clock=lambda: now[0])
    marked = [block("x" * 20_000) | {"cache_control": {"type": "ephemeral"}}]
    usages = []
    for seconds in (0, 299, 301):
        now[0] += seconds
        usages.append(read_reply(ask(shared, request("hi", system=marked))).usage)
    assert [(u.input, u.cache_read, u.cache_write) for u in usages] == [
        (1, 0, 5000), (1, 5000, 0), (1, 0, 5000),
    ]  # fmt: skip


def test_counting() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "x" * 40}]}
    assert asyncio.run(model().count_tokens(body)) == 10
    with pytest.raises(ModelError, match="at least one message"):
        asyncio.run(model().count_tokens({"model": "m", "messages": []}))


def test_halves_of_characters_never_leave() -> None:
    turn = Turn((text_block("a\ud800b"), tool_block("A", {"x": ["\udfff"], "y": {"\ud800": 1}})))
    message = ask(model(turn), request("hi"))
    assert str(message["content"]).encode()
    assert message["content"][0]["text"] == "a?b"


def test_names() -> None:
    for name in ("offline/literal", "offline/eager", "offline/shy"):
        assert open_policy(name).name == open_offline(name).policy.name == name
    assert set(OFFLINE_MODELS) > {"offline/literal", "offline/eager", "offline/shy"}
    assert all(len(about) < 80 for about in OFFLINE_MODELS.values())


@pytest.mark.parametrize("name", ["offline/literary", "offline/", "offline", ""])
def test_unknown_names(name: str) -> None:
    with pytest.raises(InputError) as caught:
        open_offline(name)
    assert all(known in caught.value.remedy for known in OFFLINE_MODELS)


@pytest.mark.parametrize("name", ["offline/script", "offline/script:"])
def test_a_script_needs_a_file(name: str) -> None:
    with pytest.raises(InputError, match="needs a file"):
        open_offline(name)
