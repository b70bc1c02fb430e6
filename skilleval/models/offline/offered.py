"""What a request offers: the skills that it lists, and the tools.

The listing is looked for where clients put it: in the system prompt, in messages of the role
``system``, and in ``<system-reminder>`` parts of user messages. Its two forms are those of
``skilleval.prompt.catalog``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from skilleval.models.messages import Request
from skilleval.models.offline.tokens import blocks_of
from skilleval.prompt.catalog import Entry, Listing, State, Style

__all__ = ["Listed", "listing_of", "reminders", "tool_input", "tools_of", "without_reminders"]

_OPEN, _CLOSE = "<system-reminder>", "</system-reminder>"
_SHOWN_NAME = re.compile(r" \([^()]*\)\Z")


class Listed(NamedTuple):
    """A skill of the listing; ``folder`` only where the listing names it."""

    name: str
    text: str
    folder: str


def _header(style: Style) -> str:
    """The line that a listing begins with."""
    probe = Entry("", "", State.WHOLE, "- x", 0, "")
    return Listing(style, (probe,), None).text.split("\n", 1)[0]


_HEADERS = {style: _header(style) for style in Style}


def without_reminders(text: str) -> str:
    """A text without what the client slipped into it; one that is left open ends nowhere."""
    return "".join(part for part, inside in _split(text) if not inside)


def reminders(text: str) -> Iterator[str]:
    """What the client slipped into a text."""
    return (part for part, inside in _split(text) if inside)


def _split(text: str) -> Iterator[tuple[str, bool]]:
    at = 0
    while at < len(text):
        start = text.find(_OPEN, at)
        if start < 0:
            yield text[at:], False
            return
        yield text[at:start], False
        end = text.find(_CLOSE, start)
        if end < 0:
            yield text[start + len(_OPEN) :], True
            return
        yield text[start + len(_OPEN) : end], True
        at = end + len(_CLOSE)


def listing_of(request: Request) -> tuple[Listed, ...]:
    """The skills that a request lists; of two with one name, the later."""
    found: dict[str, Listed] = {}
    for text in _places(request):
        for style, header in _HEADERS.items():
            for at in _after(header, text):
                for skill in _lines(text, at, style):
                    found[skill.name] = skill
    return tuple(found.values())


def _after(header: str, text: str) -> Iterator[int]:
    """Where a header ends that begins a line."""
    at = text.find(header)
    while at >= 0:
        end = at + len(header)
        if not at or text[at - 1] == "\n":
            yield end
        at = text.find(header, end)


def _places(request: Request) -> Iterator[str]:
    """The texts in which a listing counts."""
    yield from _texts(request.get("system"))
    for message in blocks_of(request.get("messages")):
        if message.get("role") == "system":
            yield from _texts(message.get("content"))
        elif message.get("role") == "user":
            for block in blocks_of(message.get("content")):
                inner = block.get("content") if block.get("type") == "tool_result" else [block]
                for text in _texts(inner):
                    yield from reminders(text)


def _texts(content: object) -> Iterator[str]:
    for block in blocks_of(content):
        text = block.get("text")
        if isinstance(text, str):
            yield text


def _lines(text: str, at: int, style: Style) -> Iterator[Listed]:
    """The skills under a header that ends at an offset."""
    begun = False
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end]
        at = end + 1
        if line.startswith("- "):
            begun = True
            yield _documented(line[2:]) if style is Style.DOCUMENTED else _claude_code(line[2:])
        elif begun or line.strip():
            return


def _claude_code(line: str) -> Listed:
    name, _, text = line.partition(": ")
    name = _SHOWN_NAME.sub("", name.strip())
    return Listed(name, text.replace("&lt;", "<").replace("&gt;", ">"), "")


def _documented(line: str) -> Listed:
    name, _, rest = line.partition(" - ")
    start = rest.rfind(" (")
    if start < 0 or not rest.endswith(")"):
        return Listed(name.strip(), rest, "")
    return Listed(name.strip(), rest[:start], rest[start + 2 : -1])


def tools_of(request: Request) -> dict[str, Mapping[str, Any]]:
    """The tools that can be called, by their names in lower case."""
    choice = request.get("tool_choice")
    if isinstance(choice, Mapping) and choice.get("type") == "none":
        return {}
    found = {}
    for tool in blocks_of(request.get("tools")):
        name = tool.get("name")
        if isinstance(name, str) and not tool.get("defer_loading"):
            found[name.lower()] = tool
    return found


def tool_input(
    tool: Mapping[str, Any], essential: Mapping[str, str], extra: Mapping[str, str]
) -> dict[str, Any]:
    """The input of a call, as the tool's schema wants it.

    Args:
        tool: its definition.
        essential: what is sent in any case.
        extra: what is sent where the schema knows it.

    What the schema requires besides gets the simplest value of its type.
    """
    schema = tool.get("input_schema")
    schema = schema if isinstance(schema, Mapping) else {}
    known = schema.get("properties")
    known = known if isinstance(known, Mapping) else {}
    values: dict[str, Any] = dict(essential)
    values |= {key: value for key, value in extra.items() if key in known}
    required = schema.get("required")
    for key in required if isinstance(required, list | tuple) else ():
        if isinstance(key, str) and key not in values:
            values[key] = _simplest(known.get(key), key)
    return values


def _simplest(schema: object, key: str) -> Any:
    """A value that a schema accepts, as far as its type, ``const`` and ``enum`` tell."""
    if not isinstance(schema, Mapping):
        return key
    if "const" in schema:
        return schema["const"]
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        return choices[0]
    kind = schema.get("type")
    if isinstance(kind, Iterable) and not isinstance(kind, str):
        kind = next(iter(kind), "string")
    if kind in ("integer", "number"):
        least = schema.get("minimum")
        return least if isinstance(least, int | float) else 1
    simple: dict[object, Any] = {"boolean": False, "array": [], "object": {}, "null": None}
    return simple.get(kind, key) if isinstance(kind, str) else key
