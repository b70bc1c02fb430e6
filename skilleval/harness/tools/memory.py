"""memory: the Messages API's own memory tool, its files kept in the workspace."""

from __future__ import annotations

import os
import posixpath
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from skilleval.harness.tools.base import Block, FileTool, ToolContext, ToolError, ToolResult
from skilleval.harness.tools.beneath import Spot
from skilleval.harness.tools.explain import path_error
from skilleval.harness.tools.files import read_file, write_file
from skilleval.harness.tools.registry import tool
from skilleval.harness.tools.write import encoded

__all__ = ["SCHEMA", "Memory"]

_ROOT = "/memories"
_LEVELS = 2
_MOST = 1_000
"""Entries of a folder that are listed."""
_LARGEST = 10_000_000
_NEEDS = {
    "view": ("path",),
    "create": ("path", "file_text"),
    "str_replace": ("path", "old_str", "new_str"),
    "insert": ("path", "insert_line", "insert_text"),
    "delete": ("path",),
    "rename": ("old_path", "new_path"),
}
_TEXTS = ("path", "file_text", "old_str", "new_str", "insert_text", "old_path", "new_path")
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "command": {"enum": list(_NEEDS)},
        **{name: {"type": "string"} for name in _TEXTS},
        "insert_line": {"type": "integer", "minimum": 0},
        "view_range": {
            "type": ["array", "null"],
            "items": {"type": "integer"},
            "minItems": 2,
            "maxItems": 2,
        },
    },
    "required": ["command"],
    "additionalProperties": False,
    "allOf": [
        {
            "if": {"properties": {"command": {"const": name}}, "required": ["command"]},
            "then": {"required": list(needed)},
        }
        for name, needed in _NEEDS.items()
    ],
    "examples": [{"command": "view", "path": "/memories"}],
}
"""The arguments, which the API knows by the tool's type."""


@tool
class Memory(FileTool):
    """Keeps notes beyond the session."""

    name = "memory"
    definition: Block = {"type": "memory_20250818", "name": "memory"}  # noqa: RUF012 - as above

    def work(self, input: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Carry out a command."""
        command = input["command"]
        store = _Store(context)
        do: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
            "view": store.view,
            "create": store.create,
            "str_replace": store.replace,
            "insert": store.insert,
            "delete": store.delete,
            "rename": store.rename,
        }
        text = do[command](input)
        return ToolResult(text, facts={"memory": command, **store.facts})


class _Store:
    """The memory of one workspace."""

    def __init__(self, context: ToolContext) -> None:
        self.context = context
        self.home = posixpath.join(context.home, context.memory_folder)
        self.facts: dict[str, Any] = {}

    def view(self, input: Mapping[str, Any]) -> str:
        path = input["path"]
        with self._spot(path) as spot:
            mode = self._status(spot, path)
            if stat.S_ISDIR(mode.st_mode):
                lines = [f"{_size(mode.st_size)}\t{path}", *self._listed(spot, path)]
                start = "Here're the files and directories up to 2 levels deep in"
                return "\n".join([f"{start} {path}, excluding hidden items:", *lines])
        lines = self._text(path).split("\n")
        first, last = 1, len(lines)
        if view := input.get("view_range"):
            first = max(view[0], 1)
            last = len(lines) if view[1] == -1 else min(view[1], len(lines))
        shown = "\n".join(f"{at:>6}\t{lines[at - 1]}" for at in range(first, last + 1))
        limit = self.context.budgets.memory_characters
        if len(shown) > limit:
            shown = shown[: shown.rfind("\n", 0, limit) + 1 or limit]
            end = first + shown.count("\n") - 1
            shown += f"(Cut at {limit:,} characters, of {last:,} lines. The rest: view_range "
            shown += f"[{end + 1}, {last}].)"
        return f"Here's the content of {path} with line numbers:\n{shown}"

    def create(self, input: Mapping[str, Any]) -> str:
        path = input["path"]

        def absent(spot: Spot) -> None:
            try:
                spot.status()
            except FileNotFoundError:
                return
            raise ToolError(f"Error: File {path} already exists")

        self._write(path, input["file_text"], "file_text", absent)
        return f"File created successfully at: {path}"

    def replace(self, input: Mapping[str, Any]) -> str:
        path, old = input["path"], input["old_str"]
        text = self._text(path)
        places = _places(text, old)
        if not places:
            raise ToolError(
                f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
            )
        if len(places) > 1:
            lines = ", ".join(str(text.count("\n", 0, at) + 1) for at in places[:20])
            raise ToolError(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in "
                f"lines: {lines}. Please ensure it is unique"
            )
        new = text[: places[0]] + input["new_str"] + text[places[0] + len(old) :]
        self._write(path, new, "new_str")
        lines_now, at = new.split("\n"), text.count("\n", 0, places[0])
        around = range(max(at - 2, 0), min(at + 3, len(lines_now)))
        snippet = "\n".join(f"{each + 1:>6}\t{lines_now[each]}" for each in around)
        return (
            "The memory file has been edited. Here is the snippet showing the change (with line "
            f"numbers):\n{snippet}"
        )

    def insert(self, input: Mapping[str, Any]) -> str:
        path, at = input["path"], input["insert_line"]
        lines = self._text(path).split("\n")
        lines = lines if lines[-1] else lines[:-1]
        if at > len(lines):
            raise ToolError(
                f"Invalid `insert_line` parameter: {at}. It should be within the range "
                f"[0, {len(lines)}]."
            )
        lines.insert(at, input["insert_text"].rstrip("\n"))
        self._write(path, "\n".join(lines) + "\n", "insert_text")
        return f"The file {path} has been edited."

    def delete(self, input: Mapping[str, Any]) -> str:
        path = input["path"]
        with self._spot(path, follow=False) as spot:
            if spot.inside == self.home:
                raise ToolError("Cannot delete the /memories directory itself")
            if stat.S_ISDIR(self._status(spot, path).st_mode):
                shutil.rmtree(spot.name, dir_fd=spot.folder)
            else:
                os.unlink(spot.name, dir_fd=spot.folder)
            self.facts["written"] = [spot.inside]
        return f"Successfully deleted {path}"

    def rename(self, input: Mapping[str, Any]) -> str:
        old, new = input["old_path"], input["new_path"]
        with (
            self._spot(old, follow=False) as source,
            self._spot(new, follow=False, create=True) as goal,
        ):
            self._status(source, old)
            if self.home in (source.inside, goal.inside):
                raise ToolError("Cannot rename the /memories directory itself")
            try:
                goal.status()
            except FileNotFoundError:
                pass
            else:
                raise ToolError(f"The destination {new} already exists")
            os.rename(source.name, goal.name, src_dir_fd=source.folder, dst_dir_fd=goal.folder)
            self.facts["written"] = [source.inside, goal.inside]
        return f"Successfully renamed {old} to {new}"

    def _inside(self, path: str) -> str:
        """Where a path of the memory is in the sandbox."""
        if path != _ROOT and not path.startswith(_ROOT + "/"):
            raise ToolError(f"Path must start with {_ROOT}, got: {path}")
        rest = path[len(_ROOT) :]
        if ".." in rest.split("/") or "\\" in rest or "%2e" in rest.lower():
            raise ToolError(f"Path {path} would escape {_ROOT} directory")
        return self.home + rest

    @contextmanager
    def _spot(self, path: str, *, create: bool = False, follow: bool = True) -> Iterator[Spot]:
        inside = self._inside(path)
        try:
            with self.context.tree.spot(self.home, create=True) as home, suppress(FileExistsError):
                self._within(home.inside, path)
                os.mkdir(home.name, 0o700, dir_fd=home.folder)
            with self.context.tree.spot(inside, create=create, follow=follow) as spot:
                self._within(spot.inside, path)
                yield spot
        except FileNotFoundError:
            raise ToolError(_missing(path)) from None
        except OSError as error:
            raise path_error(error, path, self.context) from None

    def _within(self, inside: str, path: str) -> None:
        """Refuse a link that leads out of the memory."""
        if inside != self.home and not inside.startswith(self.home + "/"):
            raise ToolError(f"Path {path} would escape {_ROOT} directory")

    def _status(self, spot: Spot, path: str) -> os.stat_result:
        try:
            return spot.status()
        except FileNotFoundError:
            raise ToolError(_missing(path)) from None

    def _text(self, path: str) -> str:
        with self._spot(path) as spot:
            if stat.S_ISDIR(self._status(spot, path).st_mode):
                raise ToolError(f"The path {path} is not a file.")
            content = read_file(self.context.tree, spot.inside, _LARGEST)
        self.facts["read"] = [content.inside]
        return content.data.decode("utf-8", "replace")

    def _write(
        self, path: str, text: str, argument: str, check: Callable[[Spot], None] | None = None
    ) -> None:
        data = encoded(text, argument)
        limit = self.context.budgets.memory_characters
        if len(text) > limit:
            raise ToolError(
                f"{path} would hold {len(text):,} characters; a file of the memory takes "
                f"{limit:,} at most. Spread it over several files."
            )

        def checks(spot: Spot) -> None:
            self._within(spot.inside, path)
            if check:
                check(spot)

        with self._spot(path, create=True) as spot:
            inside = spot.inside
        try:
            written, _ = write_file(self.context.tree, inside, data, checks)
        except OSError as error:
            raise path_error(error, path, self.context) from None
        self.facts["written"] = [written.inside]

    def _listed(self, spot: Spot, path: str) -> list[str]:
        handle = spot.list()
        try:
            return list(_entries(handle, path.rstrip("/"), 1))[:_MOST]
        finally:
            os.close(handle)


def _entries(handle: int, path: str, level: int) -> Iterator[str]:
    """What is in a folder, to two levels, without hidden entries and links."""
    with os.scandir(handle) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        if entry.name.startswith("."):
            continue
        status = entry.stat(follow_symlinks=False)
        here = f"{path}/{entry.name}"
        if stat.S_ISDIR(status.st_mode):
            yield f"{_size(status.st_size)}\t{here}/"
            if level < _LEVELS:
                flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
                child = os.open(entry.name, flags, dir_fd=handle)
                try:
                    yield from _entries(child, here, level + 1)
                finally:
                    os.close(child)
        elif stat.S_ISREG(status.st_mode):
            yield f"{_size(status.st_size)}\t{here}"


def _places(text: str, wanted: str) -> list[int]:
    """Where a text stands, overlapping places, too; at most a few."""
    places: list[int] = []
    at = text.find(wanted)
    while at >= 0 and len(places) < 20:
        places.append(at)
        at = text.find(wanted, at + 1)
    return places


def _missing(path: str) -> str:
    return f"The path {path} does not exist. Please provide a valid path."


def _size(size: int) -> str:
    """A size as ``du -h`` has it."""
    unit = 0
    value = float(size)
    while value >= 1024 and unit < 3:
        value /= 1024
        unit += 1
    return f"{value:.1f}".removesuffix(".0") + "BKMG"[unit]
