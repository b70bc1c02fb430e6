"""Requests checked against the SDK's own parameter types, unknown fields included."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

_SENDERS = (
    ("skilleval.models.endpoint", "Endpoint", "answer"),
    ("skilleval.models.api", "Api", "send"),
    ("skilleval.models.offline.model", "OfflineModel", "send"),
)


def watch(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Check what is sent from now on; the list gets what is wrong."""
    wrong: list[str] = []
    for module, cls, method in _SENDERS:
        if module in sys.modules:
            owner = getattr(sys.modules[module], cls)
            monkeypatch.setattr(owner, method, _checked(getattr(owner, method), cls, wrong))
    return wrong


def _checked(send: Any, cls: str, wrong: list[str]) -> Any:
    @functools.wraps(send)
    async def checked(self: Any, request: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:
        found = problems(request)
        if cls != "OfflineModel":
            wrong.extend(found)
            return await send(self, request, *args, **kwargs)
        answer = await send(self, request, *args, **kwargs)  # it refuses by itself what is broken
        wrong.extend(found)
        return answer

    return checked


def problems(request: Mapping[str, Any]) -> list[str]:
    """What the SDK's types have against a request."""
    from pydantic import ValidationError

    given = dict(request)
    adapter = _adapter("betas" in given, bool(given.get("stream")))
    try:
        kept = _plain(adapter.validate_python(given))
    except ValidationError as error:
        return [
            f"{'.'.join(str(part) for part in each['loc'])}: {each['msg']}"
            for each in error.errors(include_input=False, include_url=False)
        ]
    return list(_lost(given, kept, "request"))


@functools.cache
def _adapter(beta: bool, streaming: bool) -> Any:
    from pydantic import TypeAdapter

    where = "anthropic.types.beta" if beta else "anthropic.types"
    types = importlib.import_module(f"{where}.message_create_params")
    kind = "Streaming" if streaming else "NonStreaming"
    return TypeAdapter(getattr(types, f"MessageCreateParams{kind}"))


def _plain(value: Any) -> Any:
    """What is validated lazily, validated."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if value is None or isinstance(value, str | int | float):
        return value
    return [_plain(each) for each in value]


def _lost(given: Any, kept: Any, where: str) -> Iterator[str]:
    """Where validation left something out, or made something else of it."""
    if where.endswith(".input_schema"):
        return  # a JSON Schema, of which the types know two keys
    if isinstance(given, Mapping) and isinstance(kept, dict):
        for key, value in given.items():
            if key not in kept:
                yield f"{where}.{key}: unknown field"
            else:
                yield from _lost(value, kept[key], f"{where}.{key}")
    elif isinstance(given, list | tuple) and isinstance(kept, list):
        for index, pair in enumerate(zip(given, kept, strict=True)):
            yield from _lost(*pair, f"{where}[{index}]")
    elif given != kept or isinstance(given, bool) != isinstance(kept, bool):
        yield f"{where}: {given!r} is of the wrong type"
