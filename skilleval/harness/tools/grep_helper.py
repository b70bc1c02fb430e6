"""Searching files where there is no ripgrep: a script of its own, run inside the sandbox.

It uses only the standard library and prints what ``rg --null --no-heading`` prints. A regular
expression that never ends is ended with the sandbox's command.
"""

from __future__ import annotations

import json
import re
import sys
from bisect import bisect_right
from typing import Any, Callable, Optional  # noqa: UP035 - the Python inside may be older than ours

_OMITTED = " [... omitted end of long line]"
_LARGEST = 50_000_000


def read(path: str) -> Optional[str]:  # noqa: UP045
    """A text file; None for any other."""
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST)
    except OSError:
        return None
    return None if b"\0" in data[:65536] else data.decode("utf-8", "replace")


def matching(text: str, lines: list[str], pattern: re.Pattern[str], multiline: bool) -> list[int]:
    """The numbers, from 0, of the lines in which something matches."""
    if not multiline:
        return [at for at, line in enumerate(lines) if pattern.search(line)]
    starts = [0] + [each.end() for each in re.finditer("\n", text)]
    found: set[int] = set()
    for match in pattern.finditer(text):
        first = bisect_right(starts, match.start()) - 1
        last = bisect_right(starts, max(match.end() - 1, match.start())) - 1
        found.update(range(first, min(last + 1, len(lines))))
    return sorted(found)


def show(
    path: str, lines: list[str], hits: list[int], task: dict[str, Any], write: Callable[[str], Any]
) -> None:
    """Print lines that match, with those around them."""
    marked = set(hits)
    wanted: set[int] = set()
    for at in hits:
        first, last = max(at - task["before"], 0), min(at + task["after"] + 1, len(lines))
        wanted.update(range(first, last))
    previous = None
    for at in sorted(wanted):
        if previous is not None and at > previous + 1 and (task["before"] or task["after"]):
            write("--\n")
        previous = at
        line = lines[at]
        if len(line) > task["columns"]:
            line = line[: task["columns"]] + _OMITTED
        write(f"{path}\0{at + 1}{':' if at in marked else '-'}{line}\n")


def main() -> int:
    """Search as the task on standard input says."""
    task = json.load(sys.stdin)
    flags = re.MULTILINE | (re.IGNORECASE if task["ignore_case"] else 0)
    flags |= re.DOTALL if task["multiline"] else 0
    try:
        pattern = re.compile(task["pattern"], flags)
    except (re.error, OverflowError, RecursionError) as error:
        sys.stderr.write(f"regex parse error: {error}\n")
        return 2
    output = open(1, "w", encoding="utf-8", errors="replace", newline="\n", closefd=False)
    any_found = False
    for path in task["files"]:
        text = read(path)
        lines = [line.rstrip("\r") for line in (text or "").split("\n")]
        lines = lines if lines[-1] else lines[:-1]
        hits = matching(text or "", lines, pattern, task["multiline"])
        if hits and task["mode"] == "content":
            if any_found and (task["before"] or task["after"]):
                output.write("--\n")
            show(path, lines, hits, task, output.write)
        elif hits:
            output.write(f"{path}\0{len(hits)}\n")
        any_found = any_found or bool(hits)
    output.flush()
    return 0 if any_found else 1


if __name__ == "__main__":
    sys.exit(main())
