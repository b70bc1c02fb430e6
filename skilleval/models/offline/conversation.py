"""A request read as a conversation: what was asked last, and what has been done about it.

Clients put words of their own into the user's messages. What counts as the query is the last
user message that has a text besides reminders, tool results and the instructions of skills.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from skilleval.models.messages import Request
from skilleval.models.offline.offered import (
    Listed,
    listing_of,
    tools_of,
    without_reminders,
)
from skilleval.models.offline.tokens import blocks_of

__all__ = ["Conversation", "Loaded", "Tried", "result_text", "skill_file"]

_BASE = "Base directory for this skill: "
_SYNTHETIC = ("(Re-invocation of /", "[Request interrupted")
_AGAIN = re.compile(r"Skill /\S{1,200} is already loaded above")
_NUMBERED = re.compile(r"[ \t]*\d+[\t→]")
_SKILL_FILE = "/SKILL.md"


class Loaded(NamedTuple):
    """A skill whose instructions are in the conversation.

    Attributes:
        name: what its folder is called.
        folder: where it lies.
        body: its instructions; may still hold placeholders.
        at: the index of the message that brought them.
    """

    name: str
    folder: str
    body: str
    at: int


class Tried(NamedTuple):
    """A tool that was called, and what came of it; ``result`` is None where nothing did."""

    tool: str
    input: Mapping[str, Any]
    result: str | None
    failed: bool
    at: int

    def text(self, key: str) -> str:
        """A text of the input; empty where it has none."""
        value = self.input.get(key)
        return value if isinstance(value, str) else ""


class _Message(NamedTuple):
    role: str
    blocks: list[Mapping[str, Any]]


@dataclass(frozen=True)
class Conversation:
    """A request, read when something of it is asked for; nothing in it can make this raise."""

    request: Request

    @cached_property
    def _messages(self) -> list[_Message]:
        return [
            _Message(str(message.get("role")), blocks_of(message.get("content")))
            for message in blocks_of(self.request.get("messages"))
        ]

    @cached_property
    def listing(self) -> tuple[Listed, ...]:
        """The skills on offer."""
        return listing_of(self.request)

    @cached_property
    def tools(self) -> dict[str, Mapping[str, Any]]:
        """The tools, by their names in lower case."""
        return tools_of(self.request)

    @cached_property
    def _query(self) -> tuple[int, str]:
        for at in range(len(self._messages) - 1, -1, -1):
            message = self._messages[at]
            if message.role == "user":
                text = _query_in(message.blocks)
                if text:
                    return at, text
        return 0, ""

    @property
    def query(self) -> str:
        """What the user asked last; empty where nobody asked anything."""
        return self._query[1]

    @property
    def asked_at(self) -> int:
        """The index of the message with the query."""
        return self._query[0]

    @property
    def answers(self) -> int:
        """How often the model has spoken; messages of its own in a row count once."""
        roles = [message.role for message in self._messages if message.role != "system"]
        return sum(
            role == "assistant" and before != "assistant"
            for role, before in zip(roles, ["", *roles], strict=False)
        )

    def heard(self) -> Iterator[str]:
        """All that the user and the tools said, from the beginning."""
        for message in self._messages:
            if message.role == "user":
                yield from map(_text_in, message.blocks)

    @cached_property
    def tried(self) -> tuple[Tried, ...]:
        """Every tool call of the conversation, in order."""
        results: dict[str, tuple[str, bool]] = {}
        for message in self._messages:
            for block in message.blocks:
                if block.get("type") == "tool_result":
                    said = result_text(block)
                    results[str(block.get("tool_use_id"))] = said, bool(block.get("is_error"))
        found = []
        for at, message in enumerate(self._messages):
            for block in message.blocks if message.role == "assistant" else ():
                if block.get("type") == "tool_use":
                    result, failed = results.get(str(block.get("id")), (None, False))
                    given = block.get("input")
                    given = given if isinstance(given, Mapping) else {}
                    name = str(block.get("name")).lower()
                    found.append(Tried(name, given, result, failed, at))
        return tuple(found)

    @cached_property
    def since(self) -> tuple[Tried, ...]:
        """The tool calls since the query."""
        return tuple(call for call in self.tried if call.at > self.asked_at)

    @cached_property
    def loaded(self) -> tuple[Loaded, ...]:
        """The skills whose instructions came into the conversation, in order."""
        found = [*self._handed_over(), *self._read()]
        return tuple(sorted(found, key=lambda skill: skill.at))

    def _handed_over(self) -> Iterator[Loaded]:
        """Instructions that the client put into a user message."""
        for at, message in enumerate(self._messages):
            for block in message.blocks if message.role == "user" else ():
                text = _text_in(block)
                start = _start_of_instructions(text)
                if start >= 0:
                    folder, _, body = text[start + len(_BASE) :].partition("\n")
                    folder = folder.strip()
                    yield Loaded(_name_of(folder), folder, body, at)

    def _read(self) -> Iterator[Loaded]:
        """Instructions that the model read from SKILL.md by itself."""
        for call in self.tried:
            path = skill_file(call)
            if path and call.result and not call.failed:
                folder = path.removesuffix(_SKILL_FILE)
                yield Loaded(_name_of(folder), folder, _body_of(call.result), call.at)

    def ran(self) -> list[Tried]:
        """The commands that were run since the query; reading a SKILL.md is none."""
        return [call for call in self.since if call.tool == "bash" and not skill_file(call)]


def skill_file(call: Tried) -> str:
    """The SKILL.md that a call reads; empty for any other call."""
    if call.tool == "read":
        path = call.text("file_path")
    elif call.tool == "bash" and call.text("command").startswith("cat "):
        path = call.text("command")[4:].strip().strip("'\"")
    else:
        return ""
    return path if path.endswith(_SKILL_FILE) else ""


def result_text(block: Mapping[str, Any]) -> str:
    """What a tool result says, without the client's reminders."""
    parts = (_plain(part) for part in blocks_of(block.get("content")))
    return "\n".join(part for part in parts if part)


def _text_in(block: Mapping[str, Any]) -> str:
    return result_text(block) if block.get("type") == "tool_result" else _plain(block)


def _plain(block: Mapping[str, Any]) -> str:
    text = block.get("text") if block.get("type") == "text" else None
    return without_reminders(text).strip() if isinstance(text, str) else ""


def _query_in(blocks: Sequence[Mapping[str, Any]]) -> str:
    """The user's own words in a message; empty where there are none."""
    if any(block.get("type") == "tool_result" for block in blocks):
        return ""
    texts = []
    for block in blocks:
        text = _text_in(block)
        start = _start_of_instructions(text)
        text = text[:start].strip() if start >= 0 else text
        if text.startswith(("<command-message>", "<command-name>")):
            text = f"{_tag(text, 'command-name')} {_tag(text, 'command-args')}".strip()
        if text and not text.startswith(_SYNTHETIC) and not _AGAIN.match(text):
            texts.append(text)
    return "\n".join(texts)


def _tag(text: str, name: str) -> str:
    start = text.find(f"<{name}>")
    end = text.find(f"</{name}>", start)
    return text[start + len(name) + 2 : end] if 0 <= start < end else ""


def _start_of_instructions(text: str) -> int:
    """Where a skill's instructions begin in a text; -1 where they do not."""
    if text.startswith(_BASE):
        return 0
    at = text.find("\n" + _BASE)
    return at + 1 if at >= 0 else -1


def _name_of(folder: str) -> str:
    return posixpath.basename(folder.rstrip("/\\").replace("\\", "/"))


def _body_of(text: str) -> str:
    """A SKILL.md as a tool shows it, without line numbers and frontmatter."""
    lines = text.splitlines()
    if lines and all(_NUMBERED.match(line) for line in lines[:3]):
        lines = [_NUMBERED.sub("", line, count=1) for line in lines]
    if lines and lines[0].strip() == "---":
        for at in range(1, len(lines)):
            if lines[at].rstrip() == "---":
                lines = lines[at + 1 :]
                break
    return "\n".join(lines)
