"""Glob: files by their names."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from skilleval.harness.tools.base import Block, FileTool, ToolContext, ToolError, ToolResult
from skilleval.harness.tools.explain import path_error
from skilleval.harness.tools.globbing import BadPattern, PathPattern
from skilleval.harness.tools.outputs import keep_output
from skilleval.harness.tools.registry import tool
from skilleval.harness.tools.walking import Entry, walk

__all__ = ["LEFT_OUT", "Glob", "detail", "fitting", "shown_path"]

LEFT_OUT = "(Files that a rule forbids to read are left out.)"
"""Said whether there is such a file or not: else it would tell what is in it."""


@tool
class Glob(FileTool):
    """Finds files by name."""

    name = "Glob"
    reads_only = True
    definition: Block = {  # noqa: RUF012 - never changed
        "name": "Glob",
        "description": "Find files by a pattern for their paths.\n"
        "The latest changed come first. Hidden and ignored files count, those in .git do not.",
        "input_schema": {
            "type": "object",
            "properties": {
                "pattern": {
                    "type": "string",
                    "minLength": 1,
                    "description": "such as **/*.py, src/**/test_*.{js,ts} or *.md",
                },
                "path": {
                    "type": "string",
                    "description": "the folder to look in; the working directory otherwise",
                },
                "response_format": {
                    "enum": ["concise", "detailed"],
                    "description": "detailed adds size and time of change; concise otherwise",
                },
            },
            "required": ["pattern"],
            "additionalProperties": False,
            "examples": [{"pattern": "**/*.md"}],
        },
    }

    def work(self, input: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Find files."""
        pattern, folder = input["pattern"], context.path(input.get("path") or ".")
        if pattern.startswith("/"):
            folder, pattern = _base(pattern)
        try:
            wanted = PathPattern(pattern)
            seen = walk(context.tree, folder, context.budgets.entries)
        except BadPattern as error:
            raise ToolError(f"{error}. Look for something simpler.") from None
        except OSError as error:
            raise path_error(error, input.get("path") or folder, context) from None
        found = [entry for entry in seen.files if wanted.matches(entry.path)]
        may_read = context.readable(self.name)
        if may_read:
            found = [each for each in found if may_read(posixpath.join(folder, each.path))]
        found.sort(key=lambda entry: (-entry.mtime_ns, entry.path))
        notices = [LEFT_OUT] * bool(may_read)
        return _result(found, folder, seen.complete, notices, input, context)


def _base(pattern: str) -> tuple[str, str]:
    """An absolute pattern as the folder that its plain parts name, and the rest."""
    parts = pattern.split("/")
    plain = 0
    while plain < len(parts) - 1 and not set("*?[{") & set(parts[plain]):
        plain += 1
    return "/".join(parts[:plain]) or "/", "/".join(parts[plain:])


def _result(
    found: Sequence[Entry],
    folder: str,
    complete: bool,
    notices: Sequence[str],
    input: Mapping[str, Any],
    context: ToolContext,
) -> ToolResult:
    budgets = context.budgets
    detailed = input.get("response_format") == "detailed"
    everything = []
    for entry in found:
        path = shown_path(folder, entry.path, context)
        everything.append(f"{path}\t{detail(entry)}" if detailed else path)
    lines = fitting(everything[: budgets.glob_results], budgets.search_characters)
    facts, kept = {"shown": len(lines), "total": len(found)}, ""
    if not found:
        lines.append(f"No file below {folder} matches {input['pattern']}.")
        if "/" not in input["pattern"] and "**" not in input["pattern"]:
            lines.append(f"To look in folders below it, too: **/{input['pattern']}")
    elif len(lines) < len(found):
        kept = keep_output("glob", "\n".join(everything).encode(), context).inside
        lines.append(
            f"({len(lines):,} of {len(found):,} files are shown, the latest changed. Narrow "
            f"pattern, name a folder with path, or Read all of them in {kept}.)"
        )
    if not complete:
        lines.append(
            f"(Only the first {budgets.entries:,} files and folders were looked at. "
            "Name a folder with path.)"
        )
    return ToolResult("\n".join([*lines, *notices]), full_output=kept, facts=facts)


def fitting(lines: Sequence[str], characters: int) -> list[str]:
    """As many lines as fit, and at least one."""
    kept: list[str] = []
    for line in lines:
        characters -= len(line) + 1
        if characters < 0 and kept:
            break
        kept.append(line)
    return kept


def shown_path(folder: str, path: str, context: ToolContext) -> str:
    """A path as it is shown: from the working directory where it lies below that."""
    full = posixpath.normpath(posixpath.join(folder, path))
    home = context.cwd.rstrip("/") + "/"
    shown = full.removeprefix(home)
    return shown.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def detail(entry: Entry) -> str:
    """Size and time of a file."""
    try:
        when = f"{datetime.fromtimestamp(entry.mtime_ns / 1e9, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError, OSError):  # a time of no calendar
        when = "?"
    return f"{entry.size:,} bytes\t{when}" + ("\tlink" if entry.link else "")
