"""How many tokens a request is: an estimate, at four bytes a token, block by block.

Nothing offline has the tokenizer of the API. Four bytes a token is what the client under test
reckons with, too; what comes out is called an estimate wherever it is shown.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from skilleval.models.messages import Request

__all__ = ["Piece", "blocks_of", "canonical", "estimate", "pieces_of", "tokens"]

_BYTES_PER_TOKEN = 4
_IMAGE = 1_600
"""Tokens of an image or a document in base64: about what a large image costs the API."""
_LIFETIMES = {"5m": 300.0, "1h": 3600.0}


class Piece(NamedTuple):
    """A block of a request, in the order that the API reads them: tools, system, messages.

    Attributes:
        data: its content in one form, without ``cache_control``; equal blocks have equal data.
        size: bytes that count for tokens.
        kind: of block, such as ``tool_result``.
        lifetime: seconds that a cache entry lives which ends here; None where none does.
    """

    data: bytes
    size: int
    kind: str
    lifetime: float | None


def tokens(size: int) -> int:
    """About how many tokens some bytes are."""
    return -(-size // _BYTES_PER_TOKEN)


def estimate(request: Request) -> int:
    """About how many tokens a request is."""
    return tokens(sum(piece.size for piece in pieces_of(request)))


def blocks_of(content: object) -> list[Mapping[str, Any]]:
    """Content as blocks: a text stands for one block of text; what is no block is left out."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    if isinstance(content, list | tuple):
        return [block for block in content if isinstance(block, Mapping)]
    return []


def canonical(value: object) -> bytes:
    """A value as JSON in one form, whatever the order of keys; odd values by their name."""
    try:
        text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        text = f"<{type(value).__name__}>"
    return text.encode("utf-8", "surrogatepass")


def pieces_of(request: Request) -> list[Piece]:
    """A request as the API reads it, block by block."""
    found = list(_pieces(request))
    automatic = _lifetime(request)
    if automatic is not None:
        for at in range(len(found) - 1, -1, -1):
            if found[at].size and found[at].kind not in ("thinking", "redacted_thinking"):
                if found[at].lifetime is None:
                    found[at] = found[at]._replace(lifetime=automatic)
                break
    return found


def _pieces(request: Request) -> Iterator[Piece]:
    for tool in blocks_of(request.get("tools")):
        yield _piece("tool", tool, "tool")
    for block in blocks_of(request.get("system")):
        yield _piece("system", block, "text")
    for message in blocks_of(request.get("messages")):
        role = str(message.get("role"))
        for block in blocks_of(message.get("content")):
            yield _piece(role, block, str(block.get("type")))


def _piece(role: str, block: Mapping[str, Any], kind: str) -> Piece:
    plain = {key: value for key, value in block.items() if key != "cache_control"}
    data = role.encode("utf-8", "surrogatepass") + b"\0" + canonical(plain)
    return Piece(data, _size(plain), kind, _lifetime(block))


def _size(block: Mapping[str, Any]) -> int:
    """Bytes of a block that count: those of its text, where it is one."""
    if block.get("type") == "tool_result":
        return sum(_part_size(part) for part in blocks_of(block.get("content")))
    return _part_size(block)


def _part_size(block: Mapping[str, Any]) -> int:
    text, source = block.get("text"), block.get("source")
    if block.get("type") == "text" and isinstance(text, str):
        return len(text.encode("utf-8", "surrogatepass"))
    if isinstance(source, Mapping) and source.get("type") == "base64":
        return _IMAGE * _BYTES_PER_TOKEN
    return len(canonical(block))


def _lifetime(holder: Mapping[str, Any]) -> float | None:
    mark = holder.get("cache_control")
    if not isinstance(mark, Mapping):
        return None
    return _LIFETIMES.get(str(mark.get("ttl")), _LIFETIMES["5m"])
