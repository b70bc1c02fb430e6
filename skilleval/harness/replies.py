"""What of a model's reply is kept, in a form that can be sent back.

An endpoint may be anything that claims to speak the API. What the API itself would not take in
the next request would end the session there, so it is put right as soon as it comes.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from skilleval.models.messages import Block, Outcome, Reply

__all__ = ["kept"]

_NOT_CARRIED_OUT = (Outcome.MAX_TOKENS, Outcome.CONTEXT_FULL, Outcome.REFUSED, Outcome.UNKNOWN)
"""Replies that end before their calls count: one of these may be cut in the middle."""
_ODD = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST = 128
"""Characters of a tool's name, or of the id of a call."""
_THOUGHTS = ("thinking", "redacted_thinking")


def kept(reply: Reply, known: Collection[str]) -> list[Block]:
    """The blocks of a reply, put right.

    Blank texts are left out, and calls that are not carried out. Each call has an id of its own
    and a name that the API takes. Where nothing but thoughts is left, a text says so.

    Args:
        reply: what the model said.
        known: the ids of all calls before it.
    """
    taken, blocks = set(known), list[Block]()
    for block in reply.content:
        if block["type"] == "text" and not block["text"].strip():
            continue
        if block["type"] == "tool_use":
            if reply.outcome in _NOT_CARRIED_OUT:
                continue
            block = _call(block, taken)
            taken.add(block["id"])
        blocks.append(block)
    if all(block["type"] in _THOUGHTS for block in blocks):
        blocks.append({"type": "text", "text": "(no words)"})
    return blocks


def _call(block: Block, taken: Collection[str]) -> Block:
    name = _ODD.sub("_", block["name"][:_LONGEST]) or "_"
    identity = _ODD.sub("_", block["id"][:_LONGEST]) or "toolu"
    if identity in taken:
        number = 2
        while f"{identity}_{number}" in taken:
            number += 1
        identity = f"{identity}_{number}"
    return {**block, "id": identity, "name": name}
