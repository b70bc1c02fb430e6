"""Reading a script: a YAML file of turns, with a place for everything that is wrong in it.

The format is described in ``skilleval.models.offline.script``.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass
from typing import Any

import yaml

from skilleval.errors import InputError
from skilleval.models.messages import Block
from skilleval.models.offline.turns import ApiError, Turn, text_block, tool_block
from skilleval.skill import Document
from skilleval.skill.disk import read
from skilleval.skill.yamltree import (
    Alias,
    Mapping,
    Node,
    Scalar,
    Sequence,
    YamlProblem,
    parse,
)

__all__ = ["Scripted", "Step", "read_script"]

_MAX_BYTES = 4 * 1024 * 1024
_MAX_VALUES = 100_000
_MAX_DEPTH = 50
_MAX_SECONDS = 86_400
_TOP = ("turns", "conversations")
_CONVERSATION = ("when", "turns")
_TURN = (
    "text", "thinking", "tools", "stop_reason", "explanation", "usage", "delay", "error", "drop",
    "repeat",
)  # fmt: skip
_TOOL = ("name", "input")
_ERROR = ("status", "type", "message", "retry_after", "after")
_USAGE = (
    "input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens",
    "thinking_tokens",
)  # fmt: skip
_STOP_REASONS = (
    "end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal",
    "model_context_window_exceeded",
)  # fmt: skip
_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


@dataclass(frozen=True)
class Step:
    """A turn of a script, and how often it is played; None for ever."""

    turn: Turn
    repeat: int | None

    @property
    def fails(self) -> bool:
        """Whether it leaves the conversation where it was."""
        return self.turn.error is not None or self.turn.drop_after is not None


@dataclass(frozen=True)
class Scripted:
    """The turns of a conversation; ``when`` is empty for those of any."""

    when: str
    steps: tuple[Step, ...]


def read_script(path: str) -> tuple[Scripted, ...]:
    """The conversations of a script, the one for all others last.

    Raises:
        InputError: it can't be read, or something in it makes no sense.
    """
    try:
        data = read(path, _MAX_BYTES, follow=True)
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or str(error)
        raise InputError(f"the script {path} can't be read: {said}") from None
    return _Reader(Document(path, data)).script()


class _Reader:
    def __init__(self, document: Document) -> None:
        self._document = document
        self._values = 0

    def _wrong(self, offset: int, message: str, remedy: str = "") -> InputError:
        place = self._document.position(offset)
        where = f"{self._document.name}:{place.line}:{place.column}"
        return InputError(f"{where}: {message}", remedy=remedy)

    def script(self) -> tuple[Scripted, ...]:
        if self._document.bad_byte is not None:
            raise InputError(f"{self._document.name}: it is not UTF-8")
        try:
            root = parse(self._document.text, max_nodes=_MAX_VALUES)
        except YamlProblem as problem:
            raise self._wrong(problem.offset, f"no YAML: {problem.message}") from None
        if root is None:
            raise self._wrong(0, "the script is empty", _exist(_TOP))
        fields = self._fields(root, _TOP, "a script")
        found = []
        if "conversations" in fields:
            for node in self._items(fields["conversations"], "conversations"):
                found.append(self._conversation(node))
        if "turns" in fields:
            found.append(Scripted("", self._steps(fields["turns"])))
        if not found:
            raise self._wrong(root.start, "a script needs turns", _exist(_TOP))
        return tuple(found)

    def _conversation(self, node: Node) -> Scripted:
        fields = self._fields(node, _CONVERSATION, "a conversation")
        for key in _CONVERSATION:
            if key not in fields:
                raise self._wrong(node.start, f"a conversation needs {key}", _exist(_CONVERSATION))
        return Scripted(self._text(fields["when"], "when"), self._steps(fields["turns"]))

    def _steps(self, node: Node) -> tuple[Step, ...]:
        return tuple(self._step(item) for item in self._items(node, "turns"))

    def _step(self, node: Node) -> Step:
        fields = self._fields(node, _TURN, "a turn")
        if not set(fields) & {"text", "thinking", "tools", "stop_reason", "error", "drop"}:
            raise self._wrong(node.start, "a turn has to say something", _exist(_TURN))
        if "error" in fields and "drop" in fields:
            raise self._wrong(fields["drop"].start, "a turn has an error or a drop, not both")
        reason = self._text(fields["stop_reason"], "stop_reason") if "stop_reason" in fields else ""
        if reason and reason not in _STOP_REASONS:
            remedy = f"Reasons: {', '.join(_STOP_REASONS)}."
            raise self._wrong(fields["stop_reason"].start, f"no stop reason: {reason}", remedy)
        told = fields.get("explanation")
        wait = fields.get("delay")
        turn = Turn(
            content=self._content(fields),
            stop_reason=reason,
            explanation=self._text(told, "explanation") if told else "",
            usage=self._usage(fields["usage"]) if "usage" in fields else {},
            delay=self._number(wait, "delay") if wait else 0.0,
            error=self._error(fields["error"]) if "error" in fields else None,
            drop_after=self._drop(fields["drop"]) if "drop" in fields else None,
        )
        return Step(turn, self._repeat(fields["repeat"]) if "repeat" in fields else 1)

    def _content(self, fields: dict[str, Node]) -> tuple[Block, ...]:
        found: list[Block] = []
        if "thinking" in fields:
            thought = self._text(fields["thinking"], "thinking")
            found.append({"type": "thinking", "thinking": thought})
        if "text" in fields:
            found.append(text_block(self._text(fields["text"], "text")))
        if "tools" in fields:
            for node in self._items(fields["tools"], "tools"):
                call = self._fields(node, _TOOL, "a tool call")
                if "name" not in call:
                    raise self._wrong(node.start, "a tool call needs a name", _exist(_TOOL))
                given = self._plain(call["input"]) if "input" in call else {}
                if not isinstance(given, dict):
                    raise self._wrong(call["input"].start, "input must be a mapping")
                found.append(tool_block(self._text(call["name"], "name"), given))
        return tuple(found)

    def _error(self, node: Node) -> ApiError:
        fields = self._fields(node, _ERROR, "an error")
        if "status" not in fields:
            raise self._wrong(node.start, "an error needs a status", _exist(_ERROR))
        status = self._count(fields["status"], "status", 400)
        if status > 599:
            raise self._wrong(fields["status"].start, "status must be from 400 to 599")
        usual = _TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
        wait = fields.get("retry_after")
        return ApiError(
            status=status,
            type=self._text(fields["type"], "type") if "type" in fields else usual,
            message=self._text(fields["message"], "message") if "message" in fields else usual,
            retry_after=self._number(wait, "retry_after") if wait else None,
            after=self._count(fields["after"], "after", 0) if "after" in fields else 0,
        )

    def _drop(self, node: Node) -> int:
        target = _target(node)
        if isinstance(target, Scalar) and target.value == "before":
            return 0
        if isinstance(target, Scalar) and target.kind == "integer":
            return self._count(target, "drop", 1)
        raise self._wrong(node.start, "drop must be before, or a number of events")

    def _repeat(self, node: Node) -> int | None:
        target = _target(node)
        if isinstance(target, Scalar) and target.value == "forever":
            return None
        if isinstance(target, Scalar) and target.kind == "integer":
            return self._count(target, "repeat", 1)
        raise self._wrong(node.start, "repeat must be a number from 1, or forever")

    def _usage(self, node: Node) -> dict[str, int]:
        fields = self._fields(node, _USAGE, "usage")
        return {key: self._count(value, key, 0) for key, value in fields.items()}

    def _fields(self, node: Node, known: SequenceOf[str], what: str) -> dict[str, Node]:
        """The keys of a mapping with their values; each must be known, and stand once."""
        target = _target(node)
        if not isinstance(target, Mapping):
            raise self._wrong(node.start, f"{what} must be a mapping", _exist(known))
        found: dict[str, Node] = {}
        for key, value in target.pairs:
            name = key.value if isinstance(key, Scalar) else "?"
            if name not in known:
                close = difflib.get_close_matches(name, known, n=1)
                hint = f"; did you mean {close[0]}?" if close else ""
                raise self._wrong(key.start, f"{what} has no key {name}{hint}", _exist(known))
            if name in found:
                raise self._wrong(key.start, f"{name} stands here twice")
            found[name] = value
        return found

    def _items(self, node: Node, what: str) -> list[Node]:
        target = _target(node)
        if not isinstance(target, Sequence):
            raise self._wrong(node.start, f"{what} must be a list")
        if not target.items:
            raise self._wrong(node.start, f"{what} is empty")
        return target.items

    def _text(self, node: Node, what: str) -> str:
        target = _target(node)
        if not isinstance(target, Scalar) or target.kind == "null" or not target.value.strip():
            raise self._wrong(node.start, f"{what} must be a text")
        return target.value

    def _number(self, node: Node, what: str) -> float:
        target = _target(node)
        number = _value(target) if isinstance(target, Scalar) else None
        if isinstance(number, int | float) and not isinstance(number, bool):
            if 0 <= number <= _MAX_SECONDS:
                return float(number)
        raise self._wrong(node.start, f"{what} must be a number of seconds, at most a day")

    def _count(self, node: Node, what: str, least: int) -> int:
        target = _target(node)
        number = _value(target) if isinstance(target, Scalar) else None
        if isinstance(number, int) and not isinstance(number, bool) and number >= least:
            return number
        raise self._wrong(node.start, f"{what} must be a whole number from {least}")

    def _plain(self, node: Node, depth: int = 0) -> Any:
        """A node as plain values; what aliases make of it counts against a bound."""
        self._values += 1
        if depth > _MAX_DEPTH or self._values > _MAX_VALUES:
            raise self._wrong(node.start, "the aliases here unfold to too much")
        target = _target(node)
        if isinstance(target, Mapping):
            return {
                key.value if isinstance(key, Scalar) else "?": self._plain(value, depth + 1)
                for key, value in target.pairs
            }
        if isinstance(target, Sequence):
            return [self._plain(item, depth + 1) for item in target.items]
        assert isinstance(target, Scalar)  # noqa: S101 - _target has followed every alias
        return _value(target)


def _value(scalar: Scalar) -> Any:
    """A single value as Python has it; dates, and what is none after all, stay text."""
    if scalar.kind not in ("integer", "number", "boolean", "null"):
        return scalar.value
    try:
        value = yaml.safe_load(scalar.value)
    except (ValueError, yaml.YAMLError):
        return scalar.value
    return scalar.value if isinstance(value, float) and not math.isfinite(value) else value


def _target(node: Node) -> Node:
    while isinstance(node, Alias):
        node = node.target
    return node


def _exist(known: SequenceOf[str]) -> str:
    return f"Keys that exist: {', '.join(known)}."
