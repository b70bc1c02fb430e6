"""The system prompt: named sections, what stays the same first, with marks for the cache.

A cache serves the part of a request that is byte for byte what it was before: tools, then
system, then messages. So the sections that depend only on model and tools come first, then
the skills, then what belongs to one trial; each group ends with a mark. What changes within
a trial is never put here: it travels as a reminder in the stream of messages.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from skilleval.prompt.catalog import Listing, Style
from skilleval.prompt.workspace import Workspace

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["Prompt", "Section", "Share", "build_prompt", "mark_last", "reminder"]

Tool = dict[str, Any]
"""A tool's definition in the form of the Messages API."""
_MARK = {"type": "ephemeral"}
_CLOSING = "</system-reminder>"


class Share(IntEnum):
    """Which requests have a section in common, from most to fewest."""

    TOOLS = 1
    CATALOG = 2
    TRIAL = 3


class Section(NamedTuple):
    """A named part of the system prompt."""

    name: str
    text: str
    share: Share


@dataclass(frozen=True)
class Prompt:
    """What every request of a trial begins with."""

    sections: tuple[Section, ...]
    tools: tuple[Tool, ...]

    @property
    def system(self) -> list[dict[str, Any]]:
        """The ``system`` of a request: a block for each group of sections, marked."""
        blocks = []
        for share in Share:
            texts = [section.text for section in self.sections if section.share is share]
            if texts:
                text = "\n\n".join(texts)
                blocks.append({"type": "text", "text": text, "cache_control": dict(_MARK)})
        return blocks

    @property
    def text(self) -> str:
        """All of it, for people."""
        return "\n\n".join(section.text for section in self.sections)

    def prefix_hash(self, share: Share = Share.TRIAL) -> str:
        """SHA-256 of what requests have in common, as it is sent."""
        kept = Prompt(tuple(s for s in self.sections if s.share <= share), self.tools)
        data = json.dumps([kept.tools, kept.system], ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(data.encode("utf-8", "surrogatepass")).hexdigest()


def build_prompt(
    listing: Listing | None,
    *,
    style: Style = Style.CLAUDE_CODE,
    tools: Sequence[Tool] = (),
    workspace: Workspace | None = None,
    limits: Mapping[str, str] | None = None,
    identity: str | None = None,
) -> Prompt:
    """Put the system prompt together.

    Args:
        listing: the skills; None where a model is to know of none.
        style: how skills are loaded.
        tools: what the model can call.
        workspace: where it works.
        limits: what it has to keep within, by name.
        identity: what stands in place of our own words about who the agent is.
    """
    tools = tuple(tools)
    found = [Section("identity", identity or _render("identity"), Share.TOOLS)]
    if tools:
        found.append(Section("tools", _render("tools", tools=tools), Share.TOOLS))
    if limits:
        found.append(Section("limits", _render("limits", limits=limits), Share.TOOLS))
    if listing is not None and listing.text:
        tool = "Skill" if style is Style.CLAUDE_CODE else ""
        text = _render("skills", listing=listing.text, tool=tool)
        found.append(Section("skills", text, Share.CATALOG))
    if workspace is not None:
        text = _render(
            "workspace", path=workspace.path, entries=workspace.entries, more=workspace.more
        )
        found.append(Section("working directory", text, Share.TRIAL))
        if workspace.instructions:
            text = _render("instructions", files=workspace.instructions)
            found.append(Section("instructions", text, Share.TRIAL))
    return Prompt(tuple(found), tools)


def reminder(text: str) -> dict[str, Any]:
    """A block that tells a model what has changed; nothing in the text can end it early."""
    safe = text.replace(_CLOSING, "</system-reminder >")
    return {"type": "text", "text": f"<system-reminder>\n{safe}\n{_CLOSING}"}


def mark_last(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages with a mark for the cache on the last block, and on no other.

    The messages themselves stay as they are, so that what is kept of a trial has no marks in it
    and the next request sends the same bytes up to where this one ended.
    """
    if not messages:
        return []
    *others, last = messages
    content = last["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    blocks[-1] = {**blocks[-1], "cache_control": dict(_MARK)}
    return [*others, {**last, "content": blocks}]


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("skilleval.prompt", "templates"),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 - texts for a model, no HTML
        trim_blocks=False,
        keep_trailing_newline=False,
    )


def _render(name: str, **values: object) -> str:
    return _environment().get_template(f"{name}.md").render(values).strip("\n")
