"""A conversation so far, and how much of the context window it takes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

__all__ = ["Block", "History", "Message", "blocks_of", "estimate"]

Block = dict[str, Any]
Message = dict[str, Any]
_CHARACTERS_PER_TOKEN = 4
_IMAGE_TOKENS = 1_600
"""About what an image of the usual size costs; its base64 is many times longer."""


def estimate(messages: Iterable[Message]) -> int:
    """About how many tokens messages are: a quarter of their characters."""
    return sum(_size(block) for message in messages for block in blocks_of(message))


def blocks_of(message: Message) -> list[Block]:
    """The blocks of a message; a text stands for one."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _size(block: Block) -> int:
    kind = block.get("type")
    if kind in ("image", "document"):
        return _IMAGE_TOKENS
    if kind == "text":
        return len(block["text"]) // _CHARACTERS_PER_TOKEN + 1
    if kind == "tool_result":
        content = block.get("content", "")
        if isinstance(content, str):
            return len(content) // _CHARACTERS_PER_TOKEN + 1
        return sum(map(_size, content)) + 1
    return len(json.dumps(block)) // _CHARACTERS_PER_TOKEN + 1


@dataclass(frozen=True)
class History:
    """A conversation. Nothing changes it: each step makes a new one.

    Attributes:
        messages: in the API's form, whole.
        counted: tokens of the last request and its reply, as the API counted them: system prompt
            and tools included. 0 before the first reply.
        upto: how many of the messages that were.
        folded: how many of the oldest messages are shown to the model in a few lines only.
        fold: these lines.
    """

    messages: tuple[Message, ...] = ()
    counted: int = 0
    upto: int = 0
    folded: int = 0
    fold: str = ""

    @property
    def tokens(self) -> int:
        """What the next request will take: counted as far as it was, estimated beyond."""
        return self.counted + estimate(self.messages[self.upto :])

    def view(self) -> list[Message]:
        """What the model is shown."""
        if not self.folded:
            return list(self.messages)
        note = {"type": "text", "text": self.fold}
        first, *rest = self.messages[self.folded :]
        if first["role"] == "user":
            return [{**first, "content": [note, *blocks_of(first)]}, *rest]
        return [{"role": "user", "content": [note]}, first, *rest]

    def plus(self, *messages: Message) -> History:
        """The conversation with more messages."""
        return replace(self, messages=(*self.messages, *messages))

    def with_more(self, blocks: list[Block]) -> History:
        """The conversation with more blocks in its last message."""
        *others, last = self.messages
        longer = {**last, "content": [*blocks_of(last), *blocks]}
        more = estimate([{"content": blocks}]) if self.upto == len(self.messages) else 0
        return replace(self, messages=(*others, longer), counted=self.counted + more)

    def after_reply(self, message: Message, tokens: int) -> History:
        """The conversation with a model's reply, and what the API counted for all of it."""
        messages = (*self.messages, message)
        return replace(self, messages=messages, counted=tokens, upto=len(messages))

    def with_messages(self, messages: tuple[Message, ...]) -> History:
        """The conversation with smaller messages in place of these; the count shrinks along."""
        saved = estimate(self.messages[: self.upto]) - estimate(messages[: self.upto])
        return replace(self, messages=messages, counted=max(0, self.counted - saved))

    def results(self) -> Iterator[tuple[int, int, Block]]:
        """Each tool result that is shown, with the index of its message and its block."""
        for at in range(self.folded, len(self.messages)):
            content = self.messages[at]["content"]
            if self.messages[at]["role"] == "user" and isinstance(content, list):
                for index, block in enumerate(content):
                    if block.get("type") == "tool_result":
                        yield at, index, block

    def calls(self) -> dict[str, Block]:
        """Each tool call by its id."""
        return {
            block["id"]: block
            for message in self.messages
            if message["role"] == "assistant"
            for block in blocks_of(message)
            if block.get("type") == "tool_use"
        }
