"""Streams: a message as the API's events, and events put together to a message."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from skilleval.errors import Failure, ModelError
from skilleval.models.messages import Block, Event, read_json, read_usage

__all__ = ["Assembly", "events_of", "read_events"]

_PIECE = 256
"""Characters of a text that a made-up stream sends at once."""
_END = b"[DONE]"
"""How streams of OpenAI's kind end; servers that speak both APIs end ours so, too."""
_CUT_SHORT = ("max_tokens", "model_context_window_exceeded", "refusal")
"""Stop reasons after which the input of a tool may end in the middle."""


class Assembly:
    """A message that grows with the events of a stream.

    ``message`` is what has come so far, in the form of a whole answer; the text of a block is
    in it when the block has ended. ``complete`` says that nothing is missing: the stream may
    have been cut after the stop reason, which loses nothing. Unknown events, deltas and fields
    are passed over, as the API asks of clients.
    """

    def __init__(self) -> None:
        self.message: dict[str, Any] = {}
        self.complete = False
        self._blocks: dict[int, Block] = {}
        self._open: dict[int, dict[str, list[str]]] = {}
        self._unfinished = False

    def add(self, event: Mapping[str, Any]) -> None:
        """Take in an event.

        Raises:
            ModelError: it makes no sense where it stands.
        """
        try:
            self._add(event)
        except (KeyError, TypeError, ValueError, AttributeError):
            kind = str(event.get("type"))[:40]
            raise ModelError(
                Failure.MALFORMED, f"the stream holds an event that makes no sense there: {kind}"
            ) from None

    def _add(self, event: Mapping[str, Any]) -> None:
        kind = event.get("type")
        if kind == "message_start":
            if self.message:
                raise ValueError(kind)
            self.message = {**event["message"], "content": []}
        elif kind == "content_block_start":
            self._start(event["index"], dict(event["content_block"]))
        elif kind == "content_block_delta":
            self._delta(event["index"], event["delta"])
        elif kind == "content_block_stop":
            self._end(event["index"])
        elif kind == "message_delta":
            self.message["content"]  # there is none before the start
            self.message.update({k: v for k, v in event["delta"].items() if k != "content"})
            usage = {k: v for k, v in (event.get("usage") or {}).items() if v is not None}
            self.message["usage"] = {**(self.message.get("usage") or {}), **usage}
            if self.message.get("stop_reason") and not self._open:
                self._finish()
        elif kind == "message_stop":
            self.message["content"]
            for index in list(self._open):
                self._end(index)
            self._finish()

    def _start(self, index: int, block: Block) -> None:
        if type(index) is not int or index in self._blocks:
            raise ValueError(index)
        self.message["content"].append(block)
        self._blocks[index] = block
        self._open[index] = {}

    def _delta(self, index: int, delta: Mapping[str, Any]) -> None:
        kind, pieces = delta.get("type"), self._open[index]
        if kind == "text_delta":
            pieces.setdefault("text", []).append(delta["text"])
        elif kind == "thinking_delta":
            pieces.setdefault("thinking", []).append(delta["thinking"])
        elif kind == "input_json_delta":
            pieces.setdefault("input", []).append(delta["partial_json"])
        elif kind == "signature_delta":
            self._blocks[index]["signature"] = delta["signature"]
        elif kind == "compaction_delta":  # a summary that the API made; it is to be sent back
            if isinstance(delta.get("content"), str):
                pieces.setdefault("content", []).append(delta["content"])
            if delta.get("encrypted_content") is not None:
                self._blocks[index]["encrypted_content"] = delta["encrypted_content"]
        elif kind == "citations_delta":
            block = self._blocks[index]
            block["citations"] = [*(block.get("citations") or []), delta["citation"]]

    def _end(self, index: int) -> None:
        block = self._blocks[index]
        for name, pieces in self._open.pop(index).items():
            text = "".join(pieces)
            if name != "input":
                block[name] = (block.get(name) or "") + text
            elif text:
                block[name] = self._input(text)

    def _input(self, text: str) -> Any:
        try:
            return read_json(text)
        except ValueError:
            self._unfinished = True
        from pydantic_core import from_json  # only where an answer was cut short

        try:
            found = from_json(text, allow_partial="trailing-strings")
        except ValueError:
            found = None
        return found if isinstance(found, dict) else {}

    def _finish(self) -> None:
        if self._unfinished and self.message.get("stop_reason") not in _CUT_SHORT:
            raise ValueError("the input of a tool is no JSON")
        self.complete = True


async def read_events(chunks: AsyncIterator[bytes]) -> AsyncIterator[Event]:
    """The events of a stream as they come; pings and what is no object are left out.

    Takes time in proportion to the bytes, however they are cut into chunks and lines.

    Raises:
        ModelError: one is no JSON.
    """
    name, data = "", list[bytes]()
    async for line in _lines(chunks):
        field, _, value = line.partition(b":")
        if field == b"event":
            name = value.strip().decode("utf-8", "replace")
        elif field == b"data":
            data.append(value.removeprefix(b" "))
        elif not line:
            event = _event(name, b"\n".join(data))
            name, data = "", []
            if event is not None:
                yield event


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    begun: list[bytes] = []
    async for chunk in chunks:
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            whole = b"".join((*begun, line))
            begun = []
            yield whole.removesuffix(b"\r")
        if rest:
            begun.append(rest)


def _event(name: str, data: bytes) -> Event | None:
    if not data or name == "ping" or data == _END:
        return None
    try:
        event = read_json(data)
    except ValueError:
        raise ModelError(Failure.MALFORMED, "the stream holds an event that is no JSON") from None
    if not isinstance(event, dict):
        return None
    event.setdefault("type", name)
    return None if event["type"] == "ping" else event


def events_of(message: Mapping[str, Any]) -> Iterator[Event]:
    """The stream that would have brought a message."""
    said = message.get("usage")
    usage: Mapping[str, Any] = said if isinstance(said, dict) else {}
    head = {**message, "content": [], "stop_reason": None, "stop_sequence": None}
    head["usage"] = {**usage, "output_tokens": min(read_usage(usage).output, 1)}
    if "stop_details" in head:
        head["stop_details"] = None
    yield {"type": "message_start", "message": head}
    for index, block in enumerate(message["content"]):
        yield from _block_events(index, block)
    delta = {key: message.get(key) for key in ("stop_reason", "stop_sequence")}
    if message.get("stop_details"):
        delta["stop_details"] = message["stop_details"]
    counts = {key: value for key, value in usage.items() if key.endswith("tokens")}
    if details := usage.get("output_tokens_details"):
        counts["output_tokens_details"] = details
    yield {"type": "message_delta", "delta": delta, "usage": counts}
    yield {"type": "message_stop"}


def _block_events(index: int, block: Block) -> Iterator[Event]:
    kind = block["type"]
    pieces: list[dict[str, Any]] = []
    if kind == "text":
        start, text = {**block, "text": ""}, block["text"]
        pieces = [{"type": "text_delta", "text": piece} for piece in _cut(text)]
    elif kind == "thinking":
        start = {**block, "thinking": ""}
        pieces = [{"type": "thinking_delta", "thinking": p} for p in _cut(block["thinking"])]
        if "signature" in block:
            start["signature"] = ""
            pieces.append({"type": "signature_delta", "signature": block["signature"]})
    elif kind == "tool_use":
        start, text = {**block, "input": {}}, json.dumps(block["input"], ensure_ascii=False)
        pieces = [{"type": "input_json_delta", "partial_json": piece} for piece in _cut(text)]
    else:
        start = block
    yield {"type": "content_block_start", "index": index, "content_block": start}
    for piece in pieces:
        yield {"type": "content_block_delta", "index": index, "delta": piece}
    yield {"type": "content_block_stop", "index": index}


def _cut(text: str) -> Iterator[str]:
    for start in range(0, len(text), _PIECE):
        yield text[start : start + _PIECE]
