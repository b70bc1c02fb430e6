"""Running a search inside the sandbox: ripgrep where it is there, else a small script.

A search runs inside, not here, so that a regular expression that never ends can be ended.
"""

from __future__ import annotations

import json
import posixpath
from dataclasses import dataclass
from importlib.resources import files
from typing import NamedTuple

from skilleval.harness.tools.base import ToolContext, ToolError
from skilleval.harness.tools.globbing import BadPattern, PathPattern
from skilleval.harness.tools.walking import SKIPPED, walk

__all__ = ["Hit", "Search", "Searched", "search"]

_OUTPUT = 20_000_000
"""Bytes of what a search prints that are looked at."""
_TYPES = {
    "c": "c,h",
    "cpp": "cpp,cc,cxx,hpp,hh,hxx,h",
    "css": "css,scss",
    "csv": "csv",
    "go": "go",
    "html": "html,htm,xhtml",
    "java": "java",
    "js": "js,jsx,mjs,cjs,vue",
    "json": "json,jsonl",
    "md": "md,markdown,mdx",
    "py": "py,pyi",
    "ruby": "rb",
    "rust": "rs",
    "sh": "sh,bash,zsh",
    "sql": "sql",
    "toml": "toml",
    "ts": "ts,tsx,mts,cts",
    "txt": "txt",
    "xml": "xml,xsd",
    "yaml": "yaml,yml",
}
"""Endings of the types that the script knows; ripgrep knows its own."""


@dataclass(frozen=True)
class Search:
    """What to look for.

    Attributes:
        pattern: a regular expression.
        folder: the folder in which to look, absolute and inside.
        name: a single file in it; empty for all files below it.
        mode: ``content`` or ``count``.
        before, after: lines around each that matches.
        ignore_case: letters match in either case.
        multiline: the expression may match across lines, with ``.`` for line breaks, too.
        glob: only files whose path matches; with ``!`` only others.
        type: only files of a type, such as ``py``.
        columns: characters of a line that are shown.
    """

    pattern: str
    folder: str
    name: str = ""
    mode: str = "content"
    before: int = 0
    after: int = 0
    ignore_case: bool = False
    multiline: bool = False
    glob: str = ""
    type: str = ""
    columns: int = 2_000


class Hit(NamedTuple):
    """A line that matches or stands around one, or a file with its number of lines that match.

    ``number`` is the line's, or how many lines match; a ``gap`` before it parts it from the
    line before.
    """

    path: str
    number: int
    text: str = ""
    matches: bool = True
    gap: bool = False


class Searched(NamedTuple):
    """What was found.

    Attributes:
        hits: in the order of the files' paths.
        engine: ``ripgrep`` or ``python``.
        complete: nothing was left out.
    """

    hits: list[Hit]
    engine: str
    complete: bool


async def search(wanted: Search, context: ToolContext) -> Searched:
    """Look for something.

    Raises:
        ToolError: it can't be looked for.
    """
    if not context.programs:
        context.programs.update(await _programs(context))
    if context.programs.get("rg"):
        return await _run(_ripgrep(wanted), b"", "ripgrep", wanted, context)
    if not context.programs.get("python3"):
        raise ToolError("Grep needs ripgrep or python3, and neither is here. Use Bash: grep -rn.")
    names, complete = _names(wanted, context)
    task = {key: getattr(wanted, key) for key in ("pattern", "mode", "before", "after")}
    task |= {key: getattr(wanted, key) for key in ("ignore_case", "multiline", "columns")}
    words = ["python3", "-I", "-c", _script()]
    stdin = json.dumps({**task, "files": names}).encode()
    done = await _run(words, stdin, "python", wanted, context)
    return done._replace(complete=done.complete and complete)


async def _programs(context: ToolContext) -> dict[str, bool]:
    """Which of the programs that can search are there inside."""
    script = "command -v rg; command -v python3; true"
    done = await context.sandbox.run(["sh", "-c", script], cwd=context.home, timeout=10.0)
    found = {posixpath.basename(line) for line in done.output.decode("utf-8", "replace").split()}
    return {name: name in found for name in ("rg", "python3")}


def _script() -> str:
    return (files(__package__ or "") / "grep_helper.py").read_text(encoding="utf-8")


def _ripgrep(wanted: Search) -> list[str]:
    words = ["rg", "--no-config", "--no-ignore", "--hidden", "--color=never", "--sort=path"]
    words += ["--no-heading", "--with-filename", "--null", "--no-messages"]
    if wanted.mode == "content":
        words += ["--line-number", f"--before-context={wanted.before}"]
        words += [f"--after-context={wanted.after}"]
        words += [f"--max-columns={wanted.columns}", "--max-columns-preview"]
    else:
        words.append("--count")
    words += ["--ignore-case"] * wanted.ignore_case
    words += ["--multiline", "--multiline-dotall"] * wanted.multiline
    words += [f"--type={wanted.type}"] * bool(wanted.type)
    words += [f"--glob={wanted.glob}"] * bool(wanted.glob)
    words += [f"--glob=!{name}" for name in sorted(SKIPPED)]
    return [*words, f"--regexp={wanted.pattern}", "--", f"./{wanted.name}"]


def _names(wanted: Search, context: ToolContext) -> tuple[list[str], bool]:
    """The files for the script, from the folder, and whether those are all."""
    if wanted.name:
        return [wanted.name], True
    if wanted.type and wanted.type not in _TYPES:
        known = ", ".join(sorted(_TYPES))
        raise ToolError(f"type {wanted.type} is unknown; known: {known}. Or use glob.")
    try:
        only = PathPattern(wanted.glob.removeprefix("!"), loose=True) if wanted.glob else None
    except BadPattern as error:
        raise ToolError(f"glob: {error}") from None
    ends = tuple(f".{end}" for end in _TYPES.get(wanted.type, "").split(",") if end)
    names = []
    walked = walk(context.tree, wanted.folder, context.budgets.entries)
    for entry in walked.files:
        if only and only.matches(entry.path) == wanted.glob.startswith("!"):
            continue
        if not entry.link and (not ends or entry.path.endswith(ends)):
            names.append(entry.path)
    return sorted(names), walked.complete


async def _run(
    words: list[str], stdin: bytes, engine: str, wanted: Search, context: ToolContext
) -> Searched:
    done = await context.sandbox.run(
        words,
        cwd=wanted.folder,
        timeout=context.budgets.grep_seconds,
        stdin=stdin,
        max_output=_OUTPUT,
    )
    if done.timed_out or done.exit_code not in (0, 1, 2):
        seconds = f"{context.budgets.grep_seconds:g} s"
        why = f"took longer than {seconds} and was" if done.timed_out else "was"
        raise ToolError(
            f"The search {why} stopped. Narrow it with path, glob or type, or make the pattern "
            "simpler."
        )
    hits = _hits(done.output.decode("utf-8", "replace"), wanted.mode)
    if done.exit_code == 2 and not hits:
        raise ToolError(_trouble(done.output.decode("utf-8", "replace")))
    return Searched(hits, engine, not done.dropped)


def _trouble(text: str) -> str:
    start = "Grep: the pattern or an option is not right"
    return f"{start}:\n{text.strip()[:1_000]}" if text.strip() else f"{start}."


def _hits(output: str, mode: str) -> list[Hit]:
    """Take apart what was printed."""
    hits, gap = [], False
    for line in output.split("\n"):
        path, nul, rest = line.partition("\0")
        if not nul:
            gap = gap or line == "--"
            continue
        path = path.removeprefix("./")
        digits = len(rest) - len(rest.lstrip("0123456789"))
        if not digits:
            continue
        if mode != "content":
            hits.append(Hit(path, int(rest[:digits])))
        else:
            mark, text = rest[digits : digits + 1], rest[digits + 1 :].rstrip("\r")
            hits.append(Hit(path, int(rest[:digits]), text, mark == ":", gap))
        gap = False
    return hits
