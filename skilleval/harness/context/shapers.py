"""Four ways to make a conversation smaller that need no model, from gentle to harsh.

Each takes a history and gives one that says what is missing and how to get it back. Tool calls
and their results stay pairs, the last prompt of the user stays whole, and what was shaped once
stays shaped, so that the cached prefix breaks once and not with every request.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from skilleval.harness.context.history import (
    Block,
    History,
    Message,
    blocks_of,
    estimate,
)

__all__ = ["SHAPERS", "clear_old_results", "cut_results", "fold", "last_prompt", "snip"]

_LONG_RESULT = 8_000
"""Characters from which on an older result is cut to its beginning."""
_KEPT_OF_LONG = 1_000
_RECENT_RESULTS = 5
"""Results that no shaper touches."""
_RECENT_MESSAGES = 8
"""Messages that are never folded."""
_CLEARED = "[cleared to save context: {length:,} characters. Call {tool} again if you need them.]"
_SUPERSEDED = "[left out: the same call was made again later, with the result there.]"


def cut_results(history: History) -> History:
    """Keep the beginning of long results; the rest stays where the result says it is."""

    def shorter(block: Block, tool: str) -> str | None:
        text = _text(block)
        if text is None or len(text) <= _LONG_RESULT:
            return None
        path = _full_output(text)
        where = f"The whole is in {path}." if path else f"Call {tool} again for the rest."
        left = len(text) - _KEPT_OF_LONG
        return f"{text[:_KEPT_OF_LONG]}\n[cut to save context: {left:,} characters more. {where}]"

    return _replace_results(history, shorter)


def snip(history: History) -> History:
    """Take out what later messages have made void.

    That is: results of calls that were made again with the same input, thoughts from before the
    last prompt, and reminders from before it.
    """
    newest: dict[str, str] = {}
    for identity, call in history.calls().items():
        newest[_key(call)] = identity
    current = set(newest.values())
    calls = history.calls()

    def void(block: Block, tool: str) -> str | None:
        call = calls.get(block["tool_use_id"])
        stale = call is not None and call["id"] not in current and not block.get("is_error")
        return _SUPERSEDED if stale and len(_text(block) or "") > len(_SUPERSEDED) else None

    shaped = _replace_results(history, void)
    prompt = last_prompt(shaped.messages)
    messages = tuple(
        _without_old(message) if at < prompt else message
        for at, message in enumerate(shaped.messages)
    )
    return shaped if messages == shaped.messages else shaped.with_messages(messages)


def clear_old_results(history: History) -> History:
    """Clear all results but the last few; the calls stay, and say what was done."""

    def cleared(block: Block, tool: str) -> str | None:
        text = _text(block) or ""
        if text.startswith(_CLEARED.partition(":")[0]):
            return None
        size = len(text or json.dumps(block.get("content", "")))
        placeholder = _CLEARED.format(length=size, tool=tool)
        return placeholder if size > len(placeholder) else None

    return _replace_results(history, cleared)


def fold(history: History) -> History:
    """Show all but the last messages in a few lines. The messages themselves stay."""
    end = _fold_point(history.messages, history.folded)
    if end <= history.folded:
        return history
    folded = replace(history, folded=end, fold=_describe(history.messages[:end]))
    saved = _shown(history) - _shown(folded)
    return replace(folded, counted=max(0, folded.counted - saved))


SHAPERS: dict[str, Callable[[History], History]] = {
    "results": cut_results,
    "snip": snip,
    "microcompact": clear_old_results,
    "collapse": fold,
}
"""By name, cheapest first."""


def last_prompt(messages: tuple[Message, ...]) -> int:
    """Where the user said something last: a message that holds more than tool results."""
    for at in range(len(messages) - 1, -1, -1):
        kinds = {block.get("type") for block in blocks_of(messages[at])}
        if messages[at]["role"] == "user" and "tool_result" not in kinds:
            return at
    return 0


def _replace_results(history: History, shorter: Callable[[Block, str], str | None]) -> History:
    """Give older results another text, where a function has one."""
    calls = history.calls()
    found = list(history.results())
    messages = list(history.messages)
    for at, index, block in found[: max(0, len(found) - _RECENT_RESULTS)]:
        call = calls.get(block["tool_use_id"], {})
        text = shorter(block, call.get("name", "the tool"))
        if text is not None and text != block.get("content"):
            content = list(messages[at]["content"])
            content[index] = {**block, "content": text}
            messages[at] = {**messages[at], "content": content}
    shaped = tuple(messages)
    return history if shaped == history.messages else history.with_messages(shaped)


def _without_old(message: Message) -> Message:
    blocks = blocks_of(message)
    kept = [block for block in blocks if not _is_old(block, message["role"])]
    if len(kept) == len(blocks):
        return message
    return {**message, "content": kept or [{"type": "text", "text": "[left out]"}]}


def _is_old(block: Block, role: str) -> bool:
    if block.get("type") in ("thinking", "redacted_thinking"):
        return True
    text = block.get("text", "") if block.get("type") == "text" else ""
    return role == "user" and text.startswith("<system-reminder>")


def _text(block: Block) -> str | None:
    """The text of a result; None where it holds pictures and the like."""
    content = block.get("content", "")
    if isinstance(content, str):
        return content
    if all(part.get("type") == "text" for part in content):
        return "\n".join(part["text"] for part in content)
    return None


def _full_output(text: str) -> str:
    """The file that a cut result names for the whole output."""
    tail = text[-1_000:]
    mark = "full output: "
    return tail.partition(mark)[2].split("]")[0].split("\n")[0].strip() if mark in tail else ""


def _key(call: Block) -> str:
    return json.dumps([call.get("name"), call.get("input")], sort_keys=True)


def _fold_point(messages: tuple[Message, ...], at_least: int) -> int:
    """How many messages can be folded: up to a message that no result depends on."""
    prompt = last_prompt(messages)
    end = max(0, len(messages) - _RECENT_MESSAGES)
    end = min(end, prompt) if prompt > at_least else end
    while end > at_least:
        message = messages[end]
        results = any(block.get("type") == "tool_result" for block in blocks_of(message))
        if not results:
            return end
        end -= 1
    return at_least


def _describe(messages: tuple[Message, ...]) -> str:
    """What happened in messages: what was said first, and which tools were called how often."""
    prompts: list[str] = []
    said: list[str] = []
    tools: Counter[str] = Counter()
    for message in messages:
        for block in blocks_of(message):
            kind = block.get("type")
            if kind == "tool_use":
                tools[block["name"]] += 1
            elif kind == "text" and not block["text"].startswith("<system-reminder>"):
                (prompts if message["role"] == "user" else said).append(block["text"])
    lines = [f"[{len(messages)} earlier messages are not shown to save context.]"]
    lines += [f"The user said: {_start(text, 2_000)}" for text in prompts[:-1]]
    lines += [f"The user said: {text}" for text in prompts[-1:]]
    lines += [f"You said: {_start(text, 300)}" for text in said[-10:]]
    if tools:
        calls = ", ".join(f"{name} {count} times" for name, count in tools.most_common())
        lines.append(f"You called: {calls}.")
    return "\n".join(lines)


def _start(text: str, length: int) -> str:
    line = text.strip()
    return line if len(line) <= length else f"{line[:length]}… ({len(line) - length:,} more)"


def _shown(history: History) -> int:
    return estimate(history.view())
