"""What an MCP server answers, as content blocks within the budgets."""

from __future__ import annotations

import base64
import binascii
import json
from typing import TYPE_CHECKING, Any

from skilleval.harness.tools.base import Block, ToolContext, ToolResult
from skilleval.harness.tools.budgets import BYTES_PER_TOKEN, tokens_of
from skilleval.harness.tools.outputs import keep_output
from skilleval.harness.tools.pictures import image_size, media_type

if TYPE_CHECKING:
    from mcp_types import CallToolResult

__all__ = ["result_of"]

_MEDIA = 10
"""Images and documents of one result."""


def result_of(answer: CallToolResult, limit: int | None, context: ToolContext) -> ToolResult:
    """An answer as the model gets it.

    Args:
        answer: of the server.
        limit: the characters of text that the tool itself declares as its most, or None.
        context: of the call.
    """
    blocks: list[Block] = []
    for item in answer.content:
        blocks.append(_block(item, sum(b["type"] != "text" for b in blocks), context))
    if not answer.content and answer.structured_content is not None:
        text = json.dumps(answer.structured_content, ensure_ascii=False, indent=1)
        blocks = [{"type": "text", "text": text}]
    text = "\n".join(block["text"] for block in blocks if block["type"] == "text")
    media = [block for block in blocks if block["type"] != "text"]
    data = text.encode("utf-8", "replace")
    tokens = tokens_of(len(data))
    facts: dict[str, Any] = {"bytes": len(data), "media": len(media)}
    shown, full = _fitted(text, data, limit, context)
    if full:
        facts |= {"shown": len(shown), "total": len(text)}
    elif tokens > context.budgets.mcp_warning_tokens:
        shown += (
            f"\n\n(This result is about {tokens:,} tokens, over "
            f"{context.budgets.mcp_warning_tokens:,}. Ask for less where the tool lets you.)"
        )
    content: str | list[Block] = shown or ("" if media else "(It answered nothing.)")
    if media:
        content = [*([{"type": "text", "text": shown}] if shown else []), *media]
    return ToolResult(content, is_error=answer.is_error, full_output=full, facts=facts)


def _fitted(text: str, data: bytes, limit: int | None, context: ToolContext) -> tuple[str, str]:
    """As much of a text as the budget takes, and where all of it is if that was cut."""
    budgets = context.budgets
    if limit is not None:
        most = min(limit, budgets.mcp_most_characters)
        if len(text) <= most:
            return text, ""
        shown, bound = text[:most], f"{most:,} characters, which the tool states as its most"
    else:
        room = budgets.mcp_tokens * BYTES_PER_TOKEN
        if len(data) <= room:
            return text, ""
        shown, bound = data[:room].decode("utf-8", "ignore"), f"{budgets.mcp_tokens:,} tokens"
    full = keep_output("mcp", data, context).inside
    shown = shown[: shown.rfind("\n") + 1] if "\n" in shown[-2_000:] else shown
    start = shown.count("\n") + 1
    notice = (
        f"[Cut at {bound}: {len(text):,} characters, about {tokens_of(len(data)):,} tokens, came. "
        f"Ask for less with the tool's arguments, Read all of it in {full}, from here with "
        f"offset={start}, or use Grep on it.]"
    )
    return f"{shown.rstrip(chr(10))}\n\n{notice}", full


def _block(item: Any, media: int, context: ToolContext) -> Block:
    """One item of an answer."""
    match item.type:
        case "text":
            text = item.text
        case "image" | "audio":
            return _media(item.data, item.mime_type, f"an {item.type}", media, context)
        case "resource" if hasattr(item.resource, "text"):
            text = f"[Resource {item.resource.uri}]\n{item.resource.text}"
        case "resource":
            kind = item.resource.mime_type or "unknown kind"
            return _media(item.resource.blob, kind, str(item.resource.uri), media, context)
        case "resource_link":
            about = f": {item.description}" if item.description else ""
            text = f"[Resource {item.uri} ({item.name}){about}]"
        case other:
            text = f"[Something of type {other}, which can't be shown.]"
    return {"type": "text", "text": text}


def _media(encoded: str, kind: str, what: str, media: int, context: ToolContext) -> Block:
    """An image or PDF as a block of its own, where the model can take it; else a line on it."""
    budgets = context.budgets
    if len(encoded) > 4 * max(budgets.image_bytes, budgets.pdf_bytes) // 3 + 4:
        return _left_out(what, kind, f"it is over {budgets.pdf_bytes:,} bytes")
    try:
        data = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return _left_out(what, kind, "it is not base64")
    real = media_type(data)
    pdf = real == "application/pdf"
    limit = budgets.pdf_bytes if pdf else budgets.image_bytes
    size = (1, 1) if pdf else image_size(data)
    if not real:
        return _left_out(what, kind, "a model can't see that kind")
    if media >= _MEDIA:
        return _left_out(what, kind, f"a result shows {_MEDIA} at most")
    if len(data) > limit:
        return _left_out(what, kind, f"it is {len(data):,} bytes, over {limit:,}")
    if size is None or max(size) > budgets.image_pixels:
        return _left_out(what, kind, f"it is broken or over {budgets.image_pixels:,} pixels a side")
    source = {"type": "base64", "media_type": real, "data": base64.b64encode(data).decode("ascii")}
    return {"type": "document" if pdf else "image", "source": source}


def _left_out(what: str, kind: str, why: str) -> Block:
    return {"type": "text", "text": f"[{what} ({kind}) is left out: {why}.]"}
