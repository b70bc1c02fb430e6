"""The dearest shaper: a model sums the conversation up, and it goes on from there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from skilleval.harness.context.history import History, Message, blocks_of
from skilleval.harness.context.shapers import last_prompt

__all__ = ["SECTIONS", "RecentFile", "after_summary", "read_summary", "summary_request"]

SECTIONS = (
    "Task and intent",
    "Decisions",
    "Files and code",
    "Errors and fixes",
    "Unresolved problems",
    "What the user said",
    "Done",
    "In progress",
    "Next step",
)
_RECENT_FILES = 5
_FILE_CUT = 20_000
"""Characters of a file that are attached again."""
_KEEP = (
    "decisions and their reasons",
    "problems that are not solved, and what was tried",
    "details of what was built: paths, names, commands, values, formats",
    "every wish and correction of the user, in the user's words",
)
_DROP = (
    "output of tools that led to nothing, or that the files themselves hold",
    "steps that were repeated, and messages that said the same again",
)


class RecentFile(NamedTuple):
    """A file that was read lately: its path as the model knows it, and its text."""

    path: str
    text: str


def summary_request() -> Message:
    """The message that asks a model to sum up what stands before it."""
    keep = "\n".join(f"- {item}" for item in _KEEP)
    drop = "\n".join(f"- {item}" for item in _DROP)
    sections = "\n".join(f"{number}. {name}" for number, name in enumerate(SECTIONS, 1))
    text = (
        "The context window is nearly full. Sum up the conversation so far, so that the work can "
        "go on from your summary alone. Call no tool.\n\n"
        f"Keep:\n{keep}\n\nLeave out:\n{drop}\n\n"
        "Think in <analysis> first, going through the conversation in order. Then write the "
        f"summary in <summary>, with these nine sections:\n{sections}"
    )
    return {"role": "user", "content": text}


def read_summary(text: str) -> str:
    """The summary in a model's answer: what stands in its mark, or all but the analysis."""
    found = re.search(r"<summary>(.*?)(?:</summary>|\Z)", text, re.DOTALL)
    if found:
        return found[1].strip()
    return re.sub(r"<analysis>.*?(?:</analysis>|\Z)", "", text, flags=re.DOTALL).strip()


def after_summary(history: History, summary: str, files: Sequence[RecentFile]) -> History:
    """The conversation that goes on from a summary.

    It begins with the summary, the files that were read last, and the last prompt of the user;
    what came after that prompt is in the summary.
    """
    parts = [
        "This conversation was summed up to save context. The summary of all that came before:",
        summary,
    ]
    for file in files[:_RECENT_FILES]:
        cut = file.text[:_FILE_CUT]
        more = len(file.text) - len(cut)
        note = f"\n[cut: {more:,} characters more; Read the file for them]" if more else ""
        parts.append(f"{file.path}, which you read lately, holds now:\n{cut}{note}")
    prompt = _words(history.messages[last_prompt(history.messages)]) if history.messages else ""
    parts.append(f"The user's last words were:\n{prompt}")
    parts.append("Go on with the work where it stopped. Do not repeat what is done.")
    content = [{"type": "text", "text": part} for part in parts]
    return History(({"role": "user", "content": content},))


def _words(message: Message) -> str:
    return "\n".join(block["text"] for block in blocks_of(message) if block.get("type") == "text")
