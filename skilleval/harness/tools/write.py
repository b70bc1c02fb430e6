"""Write: a whole file in one step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skilleval.harness.tools.base import Block, FileTool, ToolContext, ToolError, ToolResult
from skilleval.harness.tools.beneath import Spot
from skilleval.harness.tools.explain import path_error
from skilleval.harness.tools.files import known_of, write_file
from skilleval.harness.tools.registry import tool
from skilleval.harness.tools.seen import check_seen

__all__ = ["Write", "encoded"]


@tool
class Write(FileTool):
    """Makes a file, or replaces one that was read."""

    name = "Write"
    definition: Block = {  # noqa: RUF012 - never changed
        "name": "Write",
        "description": "Write a whole file.\n"
        "Folders are made. A file that is there already must have been read before.",
        "input_schema": {
            "type": "object",
            "properties": {
                "file_path": {"type": "string", "description": "its path"},
                "content": {"type": "string", "description": "all of its text"},
            },
            "required": ["file_path", "content"],
            "additionalProperties": False,
            "examples": [{"file_path": "notes/todo.md", "content": "# To do\n"}],
        },
    }

    def work(self, input: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Write a file."""
        path, data = input["file_path"], encoded(input["content"], "content")
        if len(data) > context.budgets.edit_bytes:
            raise ToolError(
                f"content is {len(data):,} bytes; Write takes {context.budgets.edit_bytes:,} at "
                "most. Write it in parts, or make it with a script in Bash."
            )
        there = False

        def check(spot: Spot) -> None:
            nonlocal there
            there = check_seen(spot, path, context, new=True)

        try:
            spot, status = write_file(context.tree, context.path(path), data, check)
        except OSError as error:
            raise path_error(error, path, context) from None
        context.files.note(spot.inside, known_of(data, status.st_mtime_ns, written=True))
        lines = data.count(b"\n") + bool(data and not data.endswith(b"\n"))
        size = f"{lines:,} line{'s' * (lines != 1)}, {len(data):,} bytes"
        done = "Replaced" if there else "Created"
        facts = {"written": [spot.inside], "bytes": len(data), "created": not there}
        return ToolResult(f"{done} {spot.inside} ({size}).", facts=facts)


def encoded(text: str, argument: str) -> bytes:
    """A model's text in UTF-8.

    Raises:
        ToolError: it holds half of a surrogate pair, which no file in UTF-8 can.
    """
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ToolError(
            f"{argument} holds a lone surrogate at character {error.start}, "
            "which can't be written as UTF-8. Leave it out."
        ) from None
