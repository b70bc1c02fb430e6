"""Grep: lines and files by what they hold."""

from __future__ import annotations

import asyncio
import os
import posixpath
import stat
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from skilleval.harness.tools.base import Block, Tool, ToolContext, ToolError, ToolResult
from skilleval.harness.tools.budgets import DEFAULT, Budgets
from skilleval.harness.tools.explain import path_error
from skilleval.harness.tools.glob import LEFT_OUT, detail, fitting, shown_path
from skilleval.harness.tools.outputs import keep_output
from skilleval.harness.tools.registry import tool
from skilleval.harness.tools.search import Hit, Search, Searched, search
from skilleval.harness.tools.walking import Entry
from skilleval.harness.tools.write import encoded

__all__ = ["Grep"]

_CONCISE = 200
"""Characters of a line that a concise answer shows."""
_CONTEXT = 100
_MODES = ["files_with_matches", "content", "count"]


def _lines(what: str) -> Block:
    return {"type": "integer", "minimum": 0, "maximum": _CONTEXT, "description": what}


@tool
class Grep(Tool):
    """Finds text in files."""

    name = "Grep"
    reads_only = True

    def __init__(self, budgets: Budgets = DEFAULT) -> None:
        """Define the tool, with the budgets that it names."""
        self.definition = _definition(budgets)

    async def call(self, input: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Find text."""
        for argument in ("pattern", "glob", "type"):
            if b"\0" in encoded(input.get(argument, ""), argument):
                raise ToolError(f"{argument} holds a NUL character. Leave it out.")
        detailed = input.get("response_format") == "detailed"
        mode = input.get("output_mode", "files_with_matches")
        folder, name = await asyncio.to_thread(_place, input.get("path") or ".", context)
        around = input.get("-C", 0)
        wanted = Search(
            input["pattern"],
            folder,
            name,
            mode="content" if mode == "content" else "count",
            before=input.get("-B", around),
            after=input.get("-A", around),
            ignore_case=input.get("-i", False),
            multiline=input.get("multiline", False),
            glob=input.get("glob", ""),
            type=input.get("type", ""),
            columns=context.budgets.line_characters if detailed else _CONCISE,
        )
        found = await search(wanted, context)
        may_read = context.readable(self.name)
        if may_read:
            hits = await asyncio.to_thread(_allowed, found.hits, folder, may_read)
            found = found._replace(hits=hits)
        lines = await asyncio.to_thread(_render, found.hits, folder, mode, input, context)
        notices = [LEFT_OUT] * bool(may_read)
        return _result(lines, found, wanted, notices, input, context)


def _definition(budgets: Budgets) -> Block:
    return {
        "name": "Grep",
        "description": "Search the text of files for a regular expression.\n"
        "Hidden and ignored files count; binary files and those in .git do not.",
        "input_schema": {
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "minLength": 1, "description": "what to look for"},
                "path": {
                    "type": "string",
                    "description": "a file or folder to look in; the working directory otherwise",
                },
                "output_mode": {
                    "enum": _MODES,
                    "description": "files_with_matches unless given; content shows the lines",
                },
                "glob": {"type": "string", "description": "only such files: *.ts or docs/**/*.md"},
                "type": {"type": "string", "description": "only files of a type: py, js, md"},
                "-i": {"type": "boolean", "description": "either case"},
                "-n": {"type": "boolean", "description": "with line numbers; true unless given"},
                "-A": _lines("lines of content after each that matches"),
                "-B": _lines("lines of content before each that matches"),
                "-C": _lines("lines of content around each that matches"),
                "multiline": {"type": "boolean", "description": "match across lines"},
                "head_limit": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "how many lines or files to show; "
                    f"{budgets.grep_results} unless given",
                },
                "response_format": {
                    "enum": ["concise", "detailed"],
                    "description": "detailed shows long lines whole and facts about files",
                },
            },
            "required": ["pattern"],
            "additionalProperties": False,
            "examples": [{"pattern": "def main", "path": "src", "output_mode": "content"}],
        },
    }


def _place(path: str, context: ToolContext) -> tuple[str, str]:
    """The folder to look in, and the file where a single one is meant."""
    try:
        with context.tree.spot(context.path(path)) as spot:
            mode = spot.status().st_mode
            if stat.S_ISDIR(mode):
                return spot.inside, ""
            os.close(spot.open())
            return posixpath.dirname(spot.inside), posixpath.basename(spot.inside)
    except OSError as error:
        raise path_error(error, path, context) from None


def _allowed(hits: Sequence[Hit], folder: str, may_read: Callable[[str], bool]) -> list[Hit]:
    """What was found in files that may be read."""
    allowed = {path: may_read(posixpath.join(folder, path)) for path in {hit.path for hit in hits}}
    return [hit for hit in hits if allowed[hit.path]]


def _render(
    hits: Sequence[Hit], folder: str, mode: str, input: Mapping[str, Any], context: ToolContext
) -> list[str]:
    """Everything that was found, a line each."""
    numbers, detailed = input.get("-n", True), input.get("response_format") == "detailed"
    lines = []
    for hit in hits:
        path = shown_path(folder, hit.path, context)
        if mode == "content":
            mark = ":" if hit.matches else "-"
            place = f"{path}{mark}{hit.number}{mark}" if numbers else f"{path}{mark}"
            lines += ["--"] * hit.gap + [f"{place}{hit.text}"]
        elif detailed:
            matches = f"{hit.number} line{'s' * (hit.number != 1)}"
            lines.append(f"{path}\t{matches}{_facts(folder, hit.path, context)}")
        else:
            lines.append(f"{path}:{hit.number}" if mode == "count" else path)
    return lines


def _facts(folder: str, path: str, context: ToolContext) -> str:
    try:
        with context.tree.spot(posixpath.join(folder, path)) as spot:
            status = spot.status()
    except OSError:
        return ""
    return "\t" + detail(Entry(path, status.st_size, status.st_mtime_ns, False))


def _result(
    lines: list[str],
    found: Searched,
    wanted: Search,
    notices: list[str],
    input: Mapping[str, Any],
    context: ToolContext,
) -> ToolResult:
    """As much as fits, and what became of the rest."""
    budgets = context.budgets
    content = wanted.mode == "content"
    limit = input.get("head_limit", budgets.grep_results)
    shown = fitting(lines[:limit], budgets.search_characters) if lines else []
    facts = {"engine": found.engine, "shown": len(shown), "total": len(lines)}
    if not lines:
        text = "\n".join([_nothing(wanted, input, context), *notices])
        return ToolResult(text, facts=facts)
    kept, rest, what = "", len(lines) - len(shown), "lines" if content else "files"
    if not content:
        total = sum(hit.number for hit in found.hits)
        if input.get("output_mode") == "count":
            notices.append(f"(Together {total:,} lines in {len(lines):,} files.)")
    if rest:
        kept = keep_output("grep", "\n".join(lines).encode("utf-8", "replace"), context).inside
        narrower = len(shown) < min(limit, len(lines))
        raising = "" if narrower else ", raise head_limit"
        notices.append(
            f"({rest:,} more {what}: {len(shown):,} of {len(lines):,} are shown. Narrow the "
            f"pattern, path or glob{raising}, or Read all in {kept}.)"
        )
    if not found.complete:
        notices.append("(There is more than could be searched: narrow path, glob or type.)")
    text = "\n".join([*shown, *([""] if notices else []), *notices])
    return ToolResult(text, full_output=kept, facts=facts)


def _nothing(wanted: Search, input: Mapping[str, Any], context: ToolContext) -> str:
    place = input.get("path") or context.cwd
    only = [f"glob {wanted.glob}"] * bool(wanted.glob) + [f"type {wanted.type}"] * bool(wanted.type)
    limits = f" (only {' and '.join(only)})" if only else ""
    return f"No line matches in {place}{limits}."
