"""What the Messages API refuses, in its own words, before any model sees it.

A request that an offline model answers must be one that the API would answer: the mistakes of
a client show here, not in production. Wordings are those of public bug reports and of
https://platform.claude.com/docs/en/api/errors; where none is known the sense is the same.
Requests of Claude Code 2.1.332 pass, with their messages of the role ``system``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from skilleval.models.messages import Request
from skilleval.models.offline.tokens import blocks_of
from skilleval.models.offline.turns import ApiError

__all__ = ["MAX_BYTES", "problem_of", "refused", "too_large", "too_long"]

MAX_BYTES = 32 * 1024 * 1024
"""Bytes that the body of a request may have."""
_MAX_MARKS = 4
_ROLES = ("user", "assistant", "system")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}\Z")
_Turn = list[Mapping[str, Any]]


def refused(message: str) -> ApiError:
    """The error for a request that makes no sense."""
    return ApiError(400, "invalid_request_error", message)


def too_long(size: int, window: int) -> ApiError:
    """The error for a prompt of more tokens than a model takes in."""
    return refused(f"prompt is too long: {size} tokens > {window} maximum")


def too_large() -> ApiError:
    """The error for a body of more bytes than the API takes in."""
    message = "Request exceeds the maximum size"
    return ApiError(413, "request_too_large", message)


def problem_of(
    request: Request, *, counting: bool = False, models: Collection[str] | None = None
) -> ApiError | None:
    """Why the API would refuse a request; None where it would not.

    Args:
        request: the body.
        counting: whether only its tokens are to be counted.
        models: the models that exist; None for any.
    """
    for message in _complaints(request, counting):
        return refused(message)
    if models is not None and request["model"] not in models:
        return ApiError(404, "not_found_error", f"model: {request['model']}")
    return None


def _complaints(request: Request, counting: bool) -> Iterator[str]:
    yield from _fields(request, counting)
    yield from _content("system", request.get("system"), optional=True)
    yield from _tools(request.get("tools"))
    messages = request["messages"]
    yield from _messages(messages)
    yield from _marks(request)
    yield from _pairs(messages)


def _fields(request: Request, counting: bool) -> Iterator[str]:
    for key in ("model", "messages") if counting else ("model", "messages", "max_tokens"):
        if request.get(key) is None:
            yield f"{key}: Field required"
    if not isinstance(request["model"], str) or not request["model"]:
        yield "model: Input should be a valid string"
    limit = request.get("max_tokens")
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int)):
        yield "max_tokens: Input should be a valid integer"
    elif limit is not None and limit < 1:
        yield "max_tokens: Input should be greater than or equal to 1"
    thinking = request.get("thinking")
    budget = thinking.get("budget_tokens") if isinstance(thinking, Mapping) else None
    if isinstance(budget, int) and isinstance(limit, int) and budget >= limit:
        yield "max_tokens must be greater than thinking.budget_tokens"
    if not isinstance(request["messages"], list | tuple):
        yield "messages: Input should be a valid list"
    if not request["messages"]:
        yield "messages: at least one message is required"


def _messages(messages: Sequence[object]) -> Iterator[str]:
    for at, message in enumerate(messages):
        if not isinstance(message, Mapping):
            yield f"messages.{at}: Input should be a valid dictionary"
            return
        role = message.get("role")
        if role not in _ROLES:
            yield f"messages.{at}.role: Input should be 'user', 'assistant' or 'system'"
        if not at and role != "user":
            yield 'messages: first message must use the "user" role'
        last = at == len(messages) - 1
        content = message.get("content")
        yield from _content(f"messages.{at}.content", content, optional=False)
        if not content and not (last and role == "assistant"):
            yield (
                f"messages.{at}: all messages must have non-empty content except for the "
                "optional final assistant message"
            )


def _content(where: str, content: object, *, optional: bool) -> Iterator[str]:
    if content is None:
        if not optional:
            yield f"{where}: Field required"
        return
    if isinstance(content, str):
        return
    if not isinstance(content, list | tuple):
        yield f"{where}: Input should be a valid list"
        return
    for at, block in enumerate(content):
        if not isinstance(block, Mapping):
            yield f"{where}.{at}: Input should be a valid dictionary"
        elif not isinstance(block.get("type"), str):
            yield f"{where}.{at}.type: Field required"
        else:
            yield from _block(f"{where}.{at}", block)


def _block(where: str, block: Mapping[str, Any]) -> Iterator[str]:
    kind = block["type"]
    if kind == "text":
        if not isinstance(block.get("text"), str):
            yield f"{where}.text.text: Input should be a valid string"
        elif not block["text"]:
            yield f"{where.partition('.')[0]}: text content blocks must be non-empty"
        elif block["text"].isspace():
            yield f"{where.partition('.')[0]}: text content blocks must contain non-whitespace text"
    elif kind == "tool_use":
        for key, form, said in (("id", str, "string"), ("name", str, "string"),
                                ("input", Mapping, "dictionary")):  # fmt: skip
            if not isinstance(block.get(key), form):
                yield f"{where}.tool_use.{key}: Input should be a valid {said}"
    elif kind == "tool_result":
        if not isinstance(block.get("tool_use_id"), str):
            yield f"{where}.tool_result.tool_use_id: Field required"
        inner = block.get("content")
        if inner is not None and not isinstance(inner, str | list | tuple):
            yield f"{where}.tool_result.content: Input should be a valid list"


def _tools(tools: object) -> Iterator[str]:
    if tools is None:
        return
    if not isinstance(tools, list | tuple):
        yield "tools: Input should be a valid list"
        return
    names: set[str] = set()
    for at, tool in enumerate(tools):
        if not isinstance(tool, Mapping):
            yield f"tools.{at}: Input should be a valid dictionary"
            return
        name, own = tool.get("name"), tool.get("type") in (None, "custom")
        if not isinstance(name, str):
            if own:
                yield f"tools.{at}.custom.name: Field required"
            continue
        if own and not _NAME.match(name):
            yield f"tools.{at}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
        if own and not isinstance(tool.get("input_schema"), Mapping):
            yield f"tools.{at}.custom.input_schema: Field required"
        if name in names:
            yield "tools: Tool names must be unique."
        names.add(name)


def _marks(request: Request) -> Iterator[str]:
    holders: list[Mapping[str, Any]] = [request]
    holders += blocks_of(request.get("tools")) + blocks_of(request.get("system"))
    for message in blocks_of(request["messages"]):
        holders += blocks_of(message.get("content"))
    count = sum(holder.get("cache_control") is not None for holder in holders)
    if count > _MAX_MARKS:
        yield f"A maximum of 4 blocks with cache_control may be provided. Found {count}."


def _pairs(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Each tool call needs its result at the start of the next turn, and each result its call.

    Messages of one role in a row are one turn, and those of the role ``system`` are in none.
    """
    open_calls: dict[str, int] = {}
    known: set[str] = set()
    before = ""
    for at, message in enumerate(messages):
        role, blocks = message.get("role"), blocks_of(message.get("content"))
        if role == "system":
            continue
        if role == "assistant":
            if before == "user":
                if open_calls:
                    yield _unanswered(open_calls)
                open_calls = {}
            for block in blocks:
                if block.get("type") == "tool_use":
                    name = str(block.get("id"))
                    if name in known:
                        yield f"messages.{at}.content: `tool_use` ids must be unique"
                    known.add(name)
                    open_calls[name] = at
        else:
            yield from _results(at, blocks, open_calls)
        before = str(role)
    if open_calls:
        yield _unanswered(open_calls)


def _results(at: int, blocks: _Turn, open_calls: dict[str, int]) -> Iterator[str]:
    """Take the results of a user message from the calls that wait for them."""
    for number, block in enumerate(blocks):
        if block.get("type") == "tool_result":
            if open_calls.pop(str(block.get("tool_use_id")), None) is None:
                yield (
                    f"messages.{at}.content.{number}: unexpected `tool_use_id` found in "
                    f"`tool_result` blocks: {block.get('tool_use_id')}. Each `tool_result` block "
                    "must have a corresponding `tool_use` block in the previous message."
                )
        elif open_calls:
            yield _unanswered(open_calls)


def _unanswered(open_calls: Mapping[str, int]) -> str:
    return (
        f"messages.{min(open_calls.values())}: `tool_use` ids were found without `tool_result` "
        f"blocks immediately after: {', '.join(open_calls)}. Each `tool_use` block must have a "
        "corresponding `tool_result` block in the next message."
    )
