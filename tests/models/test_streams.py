"""Streams: the same message as events and as a whole, whatever the order and the cuts."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from models.fake_api import message, sse, text, tool_use

from skilleval.errors import Failure, ModelError
from skilleval.models.messages import Event
from skilleval.models.streams import Assembly, events_of, read_events

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

START = {"type": "message_start", "message": {**message(), "stop_reason": None}}
STOP = {"type": "message_stop"}


def begin(block: object, index: object = 0) -> Event:
    return {"type": "content_block_start", "index": index, "content_block": block}


def piece(kind: str, index: object = 0, **values: object) -> Event:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **values}}


def end(index: object = 0) -> Event:
    return {"type": "content_block_stop", "index": index}


def finish(reason: str = "end_turn", **usage: object) -> Event:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


def assembled(events: Iterable[Event]) -> Assembly:
    assembly = Assembly()
    for event in events:
        assembly.add(event)
    return assembly


def read(*chunks: bytes) -> list[Event]:
    async def source() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    async def run() -> list[Event]:
        return [event async for event in read_events(source())]

    return asyncio.run(run())


# Messages as events

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
words = st.text(max_size=700)
blocks = st.one_of(
    st.builds(text, words),
    st.builds(lambda t: {**text(t), "citations": [{"type": "x", "cited_text": t}]}, words),
    st.builds(lambda t: {"type": "thinking", "thinking": t, "signature": "s" + t}, words),
    st.builds(lambda t: {"type": "thinking", "thinking": t}, words),
    st.builds(lambda t: {"type": "redacted_thinking", "data": t}, words),
    st.builds(
        lambda values: {**tool_use(), "input": values}, st.dictionaries(st.text(max_size=9), plain)
    ),
    st.builds(lambda x: {"type": "server_tool_use", "id": "s", "name": "n", "input": x}, plain),
)
counts = st.none() | st.integers(0, 10**6)
usages = st.fixed_dictionaries(
    {"input_tokens": counts, "output_tokens": st.integers(0, 10**6)},
    optional={
        "cache_read_input_tokens": counts,
        "cache_creation": st.just({"ephemeral_5m_input_tokens": 1}),
        "output_tokens_details": st.just({"thinking_tokens": 4}),
        "service_tier": st.just("standard"),
    },
)
messages = st.builds(
    lambda content, usage, reason, details, sequence: message(
        content=content,
        usage=usage,
        stop_reason=reason,
        stop_sequence=sequence,
        **details,
    ),
    st.lists(blocks, max_size=4),
    usages,
    st.sampled_from(["end_turn", "tool_use", "max_tokens", "refusal", "new"]),
    st.sampled_from([{}, {"stop_details": None}, {"stop_details": {"type": "refusal"}}]),
    st.none() | st.just("STOP"),
)


@patient
@given(messages)
def test_the_events_of_a_message_give_it_back(whole: dict[str, Any]) -> None:
    before = json.dumps(whole)
    assembly = assembled(events_of(whole))
    assert assembly.complete
    assert assembly.message == whole
    assert json.dumps(whole) == before


@patient
@given(messages, st.integers(1, 400))
def test_and_so_they_do_when_they_have_travelled(whole: dict[str, Any], size: int) -> None:
    data = sse(events_of(whole))
    chunks = [data[at : at + size] for at in range(0, len(data), size)]
    events = read(*chunks)
    assert events == list(events_of(whole))
    assert assembled(events).message == whole


@patient
@given(messages)
def test_a_message_is_complete_at_its_end_and_not_before(whole: dict[str, Any]) -> None:
    events = list(events_of(whole))
    assembly = Assembly()
    for number, event in enumerate(events):
        assembly.add(event)
        assert assembly.complete == (number >= len(events) - 2)


def test_the_sdk_reads_our_streams_as_we_do() -> None:
    from anthropic.types import RawMessageStreamEvent
    from pydantic import TypeAdapter

    whole = message("Hello", tool_use(a=1), {"type": "thinking", "thinking": "t", "signature": "s"})
    adapter: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)
    for event in events_of(whole):
        assert adapter.validate_python(event).type == event["type"]


@pytest.mark.parametrize("usage", [None, [], "x", {"output_tokens": "many"}])
def test_odd_usage_has_events_too(usage: object) -> None:
    assert assembled(events_of(message(usage=usage))).complete


# What is left out, and what is passed over


def test_unknown_events_deltas_and_blocks_are_passed_over() -> None:
    events = [
        {"type": "news"},
        START,
        begin({"type": "from_the_future", "x": 1}),
        piece("future_delta", future=1),
        end(),
        {"type": "news", "index": 9},
        finish(output_tokens=7, other=None),
        STOP,
    ]
    whole = assembled(events).message
    assert whole["content"] == [{"type": "from_the_future", "x": 1}]
    assert whole["usage"]["output_tokens"] == 7
    assert whole["usage"]["input_tokens"] == 10


def test_a_summary_of_the_api_comes_whole() -> None:
    block = {"type": "compaction", "content": None}
    said = [
        piece("compaction_delta", content="They wanted ", encrypted_content=None),
        piece("compaction_delta", content="tea.", encrypted_content="x1"),
    ]
    assembly = assembled([START, begin(block), *said, end(), finish(), STOP])
    assert assembly.message["content"] == [
        {"type": "compaction", "content": "They wanted tea.", "encrypted_content": "x1"}
    ]


def test_blocks_that_are_not_ended_end_with_the_message() -> None:
    events = [START, begin(tool_use()), piece("input_json_delta", partial_json='{"a": 1}')]
    assembly = assembled([*events, finish("tool_use")])
    assert not assembly.complete
    assembly.add(STOP)
    assert assembly.complete
    assert assembly.message["content"] == [tool_use(a=1)]


def test_blocks_may_be_mixed() -> None:
    events = [
        START,
        begin(text(""), 1),
        begin(text("x"), 0),
        piece("text_delta", 0, text="a"),
        piece("text_delta", 1, text="b"),
        piece("text_delta", 0, text="c"),
        end(0),
        end(1),
        finish(),
    ]
    assert assembled(events).message["content"] == [text("b"), text("xac")]


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded", "refusal"])
@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ('{"path": "a", "text": "hal', {"path": "a", "text": "hal"}),
        ('{"path": "a", "te', {"path": "a"}),
        ("{", {}),
        ("[1", {}),
        ("}", {}),
    ],
)
def test_the_input_of_a_tool_may_be_cut_short(
    reason: str, written: str, kept: dict[str, Any]
) -> None:
    events = [START, begin(tool_use()), piece("input_json_delta", partial_json=written), end()]
    assembly = assembled([*events, finish(reason), STOP])
    assert assembly.complete
    assert assembly.message["content"][0]["input"] == kept
    assert assembly.message["stop_reason"] == reason


def test_the_input_of_a_tool_that_is_to_run_must_be_whole() -> None:
    events = [START, begin(tool_use()), piece("input_json_delta", partial_json='{"a'), end()]
    with pytest.raises(ModelError) as caught:
        assembled([*events, finish("tool_use")])
    assert caught.value.failure is Failure.MALFORMED


def test_an_input_without_deltas_is_the_one_at_the_start() -> None:
    events = [START, begin(tool_use(a=1)), piece("input_json_delta", partial_json=""), end()]
    assert assembled([*events, finish(), STOP]).message["content"] == [tool_use(a=1)]


SENSELESS: dict[str, list[Event]] = {
    "a second start": [START, START],
    "a block before the message": [begin(text(""))],
    "an end before the message": [STOP],
    "a stop reason before the message": [finish()],
    "a block twice": [START, begin(text("")), begin(text(""))],
    "a text for an index": [START, begin(text(""), "0")],
    "a list for an index": [START, begin(text(""), [0])],
    "a truth for an index": [START, begin(text(""), True)],
    "a delta to no block": [START, piece("text_delta", text="a")],
    "a delta far off": [START, begin(text("")), piece("text_delta", 10**30, text="a")],
    "a delta after the end": [START, begin(text("")), end(), piece("text_delta", text="a")],
    "an end twice": [START, begin(text("")), end(), end()],
    "an end of no block": [START, end(-1)],
    "a number for text": [START, begin(text("")), piece("text_delta", text=7), end()],
    "text after a list": [
        START,
        begin({"type": "text", "text": [1]}),
        piece("text_delta", text="abc"),
        end(),
    ],
    "a number for JSON": [
        START,
        begin(tool_use()),
        piece("input_json_delta", partial_json=7),
        end(),
    ],
    "no message": [{"type": "message_start"}],
    "a text for a message": [{"type": "message_start", "message": "x"}],
    "a text for a block": [START, begin("x")],
    "no delta": [START, begin(text("")), {"type": "content_block_delta", "index": 0}],
    "a list for a delta": [START, {"type": "message_delta", "delta": []}],
    "a text for usage": [START, {"type": "message_delta", "delta": {}, "usage": "x"}],
}


@pytest.mark.parametrize("events", SENSELESS.values(), ids=list(SENSELESS))
def test_events_that_make_no_sense_are_malformed(events: list[Event]) -> None:
    with pytest.raises(ModelError) as caught:
        assembled(events)
    assert caught.value.failure is Failure.MALFORMED


odd = st.none() | st.booleans() | st.integers(-1, 2) | st.text(max_size=3) | st.lists(st.none())
odd_events = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            [
                "message_start",
                "content_block_start",
                "content_block_delta",
                "content_block_stop",
                "message_delta",
                "message_stop",
            ]
        )
        | odd
    },
    optional={
        "index": st.integers(0, 1) | odd,
        "message": st.just(message()) | odd,
        "content_block": blocks | odd,
        "delta": odd
        | st.fixed_dictionaries(
            {"type": st.sampled_from(["text_delta", "input_json_delta", "signature_delta"]) | odd},
            optional={"text": odd, "partial_json": odd, "signature": odd, "stop_reason": odd},
        ),
        "usage": usages | odd,
    },
)


@patient
@given(st.lists(odd_events, max_size=8))
def test_whatever_comes_is_taken_or_malformed(events: list[Event]) -> None:
    try:
        assembled([START, *events])
    except ModelError as error:
        assert error.failure is Failure.MALFORMED


# Events as they travel

EVENT = {"type": "news", "text": "a\u2028b\x85c"}
ENDS = {"unix": b"\n", "windows": b"\r\n"}


@pytest.mark.parametrize("line_end", ENDS.values(), ids=list(ENDS))
@pytest.mark.parametrize("size", [1, 2, 3, 1_000])
def test_lines_end_one_way_or_another(line_end: bytes, size: int) -> None:
    data = json.dumps(EVENT, ensure_ascii=False).encode()
    lines = [b": comment", b"id: 1", b"event: news", b"data: " + data, b"retry: 5", b"", b""]
    whole = line_end.join(lines) + b"data:" + data + line_end * 2
    assert read(*(whole[at : at + size] for at in range(0, len(whole), size))) == [EVENT, EVENT]


def test_data_may_take_several_lines() -> None:
    assert read(b'data: {"type":\ndata: "news",\ndata:"a": 1}\n\n') == [{"type": "news", "a": 1}]


def test_what_is_no_event_is_left_out() -> None:
    ping = b'event: ping\ndata: {}\n\ndata: {"type": "ping"}\n\n'
    others = b"data: [DONE]\n\ndata:\n\nevent: x\n\n\n\ndata: 7\n\ndata: []\n\n"
    unfinished = b'data: {"type": "news"}\n'
    assert read(ping + others + unfinished) == []


def test_the_type_may_stand_beside_the_data() -> None:
    assert read(b'event: error\ndata: {"error": {}}\n\n') == [{"type": "error", "error": {}}]


@pytest.mark.parametrize("data", [b"{", b"\xff", b"NaN", b"[" * 9_999, b'{"a": 1e999}'])
def test_what_is_no_json_is_malformed(data: bytes) -> None:
    with pytest.raises(ModelError) as caught:
        read(b"data: " + data + b"\n\n")
    assert caught.value.failure is Failure.MALFORMED


@pytest.mark.parametrize("line", [b"\n", b"x\n", b"data: x\n", b": x"])
def test_reading_takes_time_in_proportion(line: bytes) -> None:
    began = time.process_time()
    with pytest.raises(ModelError) if line == b"data: x\n" else _nothing():
        read(*[line * 10_000] * 20, b"\n\n")
    assert time.process_time() - began < 5


def test_long_texts_take_time_in_proportion() -> None:
    delta = piece("text_delta", text="a b ")
    began = time.process_time()
    whole = assembled([START, begin(text("")), *[delta] * 200_000, end(), finish()])
    assert len(whole.message["content"][0]["text"]) == 800_000
    assert time.process_time() - began < 5


def _nothing() -> Any:
    import contextlib

    return contextlib.nullcontext()
