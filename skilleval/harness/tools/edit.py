"""Edit: one text in a file for another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from skilleval.harness.tools.base import Block, FileTool, ToolContext, ToolError, ToolResult
from skilleval.harness.tools.explain import path_error
from skilleval.harness.tools.files import known_of, read_file, write_file
from skilleval.harness.tools.registry import tool
from skilleval.harness.tools.replacing import Replaced, numbered, replace
from skilleval.harness.tools.seen import check_seen
from skilleval.harness.tools.write import encoded
from skilleval.skill.disk import TooLarge

__all__ = ["Edit"]

_AROUND = 3
_SNIPPET = 30
"""Lines around the change that are shown at most."""


@tool
class Edit(FileTool):
    """Replaces text in a file that was read."""

    name = "Edit"
    definition: Block = {  # noqa: RUF012 - never changed
        "name": "Edit",
        "description": "Replace text in a file that you have read.\n"
        "old_string must be exactly what the file holds, without line numbers, and stand in it "
        "once, unless replace_all is set.",
        "input_schema": {
            "type": "object",
            "properties": {
                "file_path": {"type": "string", "description": "its path"},
                "old_string": {"type": "string", "minLength": 1, "description": "what to replace"},
                "new_string": {"type": "string", "description": "what stands there then"},
                "replace_all": {
                    "type": "boolean",
                    "description": "replace it everywhere in the file",
                },
            },
            "required": ["file_path", "old_string", "new_string"],
            "additionalProperties": False,
            "examples": [
                {"file_path": "src/main.py", "old_string": "port = 80", "new_string": "port = 8080"}
            ],
        },
    }

    def work(self, input: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Replace a text."""
        path, old, new = input["file_path"], input["old_string"], input["new_string"]
        for argument in ("old_string", "new_string"):
            encoded(input[argument], argument)
        if old == new:
            raise ToolError("old_string and new_string are the same: there is nothing to change.")
        full, limit = context.path(path), context.budgets.edit_bytes
        try:
            with context.tree.spot(full) as spot:
                check_seen(spot, path, context)
            content = read_file(context.tree, full, limit)
            done = _edited(content.data, old, new, bool(input.get("replace_all")), path)
            spot, status = write_file(
                context.tree,
                content.inside,
                done.data,
                lambda spot: check_seen(spot, path, context),
            )
        except TooLarge as error:
            raise ToolError(
                f"{path} {error.strerror}, the most that Edit takes. Change it with Bash: sed."
            ) from None
        except OSError as error:
            raise path_error(error, path, context) from None
        context.files.note(spot.inside, known_of(done.data, status.st_mtime_ns, written=True))
        times = f"{done.times} replacement{'s' * (done.times != 1)}"
        facts = {"written": [spot.inside], "bytes": len(done.data), "replacements": done.times}
        return ToolResult(f"Edited {spot.inside}: {times}.\n{done.snippet}", facts=facts)


class _Edited(NamedTuple):
    """The new bytes of a file, how often something was replaced, and the lines around that."""

    data: bytes
    times: int
    snippet: str


def _edited(data: bytes, old: str, new: str, everywhere: bool, path: str) -> _Edited:
    """Replace text in a file's bytes; those that are not UTF-8 stay as they are."""
    if b"\0" in data[:8_192]:
        raise ToolError(f"{path} is a binary file or not UTF-8. Change it with a script in Bash.")
    text = data.decode("utf-8", "surrogateescape")
    done = replace(text, old, new, everywhere=everywhere, path=path)
    return _Edited(
        done.text.encode("utf-8", "surrogateescape"),
        done.times,
        numbered(*_around(done)),
    )


def _around(done: Replaced) -> tuple[list[str], int, int]:
    """The lines of a text, and which of them stand around the first change."""
    first = max(done.text.count("\n", 0, done.start) - _AROUND, 0)
    last = done.text.count("\n", 0, done.end) + _AROUND
    return done.text.split("\n"), first, min(last - first + 1, _SNIPPET)
