"""What a skill tells to run: its fenced shell blocks, and the files that a query names."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pyromark

__all__ = ["commands_in", "files_in", "quoted", "substitute"]

_LANGUAGES = frozenset({"bash", "sh", "shell", "zsh", "console"})
_PROMPT = "$ "
_NAME = re.compile(r"[\w./~+@%-]*[\w)\]]\.[A-Za-z0-9]{1,10}\Z")
_LETTER = re.compile(r"[A-Za-z]")
_QUOTED = re.compile(r"`([^`\n]{1,300})`|\"([^\"\n]{1,300})\"|(?<!\w)'([^'\n]{1,300})'(?!\w)")
_NO_FILES = frozenset({"e.g", "i.e", "a.m", "p.m", "u.s", "etc"})


def commands_in(body: str) -> list[str]:
    """The shell blocks of a skill's instructions, in order, each once."""
    found: dict[str, None] = {}
    inside: list[str] | None = None
    event: Any
    for event in pyromark.events(body):
        if isinstance(event, str):
            continue
        ((kind, value),) = event.items()
        if kind == "Start" and isinstance(value, dict) and "CodeBlock" in value:
            block = value["CodeBlock"]
            info = block.get("Fenced", "") if isinstance(block, dict) else ""
            inside = [] if _language(info) in _LANGUAGES else None
        elif kind == "Text" and inside is not None:
            inside.append(value)
        elif kind == "End" and value == "CodeBlock":
            if inside is not None:
                found[_without_prompts("".join(inside)).strip()] = None
            inside = None
    return [command for command in found if command]


def _language(info: str) -> str:
    words = info.split(maxsplit=1)
    return words[0].lower() if words else ""


def _without_prompts(block: str) -> str:
    """The commands of a block that shows a session: lines behind a prompt and what goes on."""
    lines = block.splitlines()
    first = next((line for line in lines if line.strip()), "")
    if not first.startswith(_PROMPT):
        return block
    kept: list[str] = []
    goes_on = False
    for line in lines:
        if line.startswith(_PROMPT):
            kept.append(line[len(_PROMPT) :])
        elif goes_on:
            kept.append(line.removeprefix("> "))
        else:
            continue
        goes_on = kept[-1].endswith("\\")
    return "\n".join(kept)


def files_in(query: str) -> list[str]:
    """The files that a query names, in order, each once: words with an ending, or quoted."""
    found: dict[str, None] = {}
    rest: list[str] = []
    at = 0
    for match in _QUOTED.finditer(query):
        quoted = next(group for group in match.groups() if group is not None)
        if _is_file(quoted.replace(" ", "_")):
            rest.append(query[at : match.start()])
            rest.append(f"\0{quoted}\0")
            at = match.end()
    rest.append(query[at:])
    for part in rest:
        if part.startswith("\0"):
            found[part[1:-1]] = None
            continue
        for word in part.split():
            name = word.strip("\"'`<>()[]{},;:!?*").rstrip(".")
            if _is_file(name):
                found[name] = None
    return list(found)


def _is_file(word: str) -> bool:
    """Whether a word looks like the name of a file: no address, no version, no number."""
    if len(word) > 300 or "://" in word or "@" in word or not _NAME.match(word):
        return False
    ending = word.rpartition(".")[2]
    return bool(_LETTER.search(ending)) and word.lower() not in _NO_FILES and ".." not in word[1:]


def quoted(files: list[str]) -> str:
    """Files as words for a shell."""
    return shlex.join(files)


def substitute(text: str, folder: str, arguments: str) -> str:
    """Instructions with the placeholders filled in that a client fills in when it loads them."""
    return text.replace("${CLAUDE_SKILL_DIR}", folder).replace("$ARGUMENTS", arguments)
