#!/usr/bin/env python3
"""Compare two JSON documents by structure and list what differs by JSON path."""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

DEFAULT_KEYS = ("id", "key", "name", "uuid")
ALIGN_LIMIT = 1_000
VALUE_WIDTH = 160
PLAIN_NAME = re.compile(r"[^\W\d][\w-]*")
STEP = re.compile(
    r"""\.\.(?P<deep>)|\.?(?P<name>[^\W\d][\w-]*|\*)|\[(?P<index>\d+|\*)\]"""
    r"""|\["(?P<quoted>(?:[^"\\]|\\.)*)"\]|\[(?P<key>[\w-]+)=(?P<value>[^\]]*)\]"""
)


class DiffError(Exception):
    """A problem that the user can act on; shown as one line."""


@dataclass(frozen=True)
class Change:
    """One difference."""

    kind: str
    path: str
    old: Any = None
    new: Any = None

    def as_data(self) -> dict[str, Any]:
        """Return only the sides that exist."""
        data: dict[str, Any] = {"kind": self.kind, "path": self.path}
        if self.kind != "added":
            data["old"] = self.old
        if self.kind != "removed":
            data["new"] = self.new
        return data


@dataclass
class Options:
    """What the command line asked for."""

    ignore: list[re.Pattern[str]] = field(default_factory=list)
    keys: tuple[str, ...] = DEFAULT_KEYS
    list_keys: list[tuple[re.Pattern[str], str]] = field(default_factory=list)
    by_position: bool = False
    tolerance: float = 0.0

    def ignored(self, path: str) -> bool:
        """Tell whether a path, or a parent of it, was ignored."""
        return any(pattern.match(path) for pattern in self.ignore)


def compile_path(text: str) -> re.Pattern[str]:
    """Turn a path with wildcards into a pattern for a path and everything below it.

    `*` stands for one name, `[*]` for one list element, `..` for any depth.
    """
    rest = text.removeprefix("$")
    if rest and rest[0] not in ".[":
        rest = "." + rest
    parts, position, after_deep = [r"\$"], 0, False
    while position < len(rest):
        found = STEP.match(rest, position)
        if found is None or (rest[position] not in ".[" and not after_deep):
            raise DiffError(f"bad path {text!r} at character {position + 1}")
        after_deep = found["deep"] is not None
        if after_deep:
            parts.append(r"(?:\..*|\[.*)?")
        elif found["index"] == "*":
            parts.append(r"\[(?:\d+|[\w-]+=(?:[^\]\"]|\"(?:[^\"\\]|\\.)*\")*)\]")
        elif found["name"] == "*":
            parts.append(r"(?:\.[\w-]+|\[\"(?:[^\"\\]|\\.)*\"\])")
        elif found["index"] is not None:
            parts.append(rf"\[{found['index']}\]")
        elif found["key"] is not None:
            parts.append(re.escape(f"[{found['key']}={found['value']}]"))
        else:
            name = found["name"]
            if name is None:
                name = json.loads(f'"{found["quoted"]}"')
            parts.append(re.escape(member("", name)))
        position = found.end()
    if after_deep:
        raise DiffError(f"bad path {text!r}: nothing follows '..'")
    return re.compile("".join(parts) + r"(?![\w-])", re.DOTALL)


def member(path: str, name: str) -> str:
    """Return the path of an object member."""
    if PLAIN_NAME.fullmatch(name):
        return f"{path}.{name}"
    return f"{path}[{json.dumps(name, ensure_ascii=False)}]"


def same_scalar(old: Any, new: Any, tolerance: float) -> bool:
    """Compare two leaves: 1 equals 1.0, but true does not equal 1."""
    if isinstance(old, bool) or isinstance(new, bool):
        return old is new
    if isinstance(old, int | float) and isinstance(new, int | float):
        return bool(old == new) or (tolerance > 0 and abs(old - new) <= tolerance)
    return type(old) is type(new) and bool(old == new)


def compare(old: Any, new: Any, path: str, options: Options) -> Iterator[Change]:
    """Yield the differences between two values."""
    if options.ignored(path):
        return
    if isinstance(old, dict) and isinstance(new, dict):
        yield from compare_objects(old, new, path, options)
    elif isinstance(old, list) and isinstance(new, list):
        yield from compare_lists(old, new, path, options)
    elif not same_scalar(old, new, options.tolerance):
        yield Change("changed", path, old, new)


def compare_objects(
    old: dict[str, Any], new: dict[str, Any], path: str, options: Options
) -> Iterator[Change]:
    """Compare members by name; their order does not matter."""
    for name in list(old) + [name for name in new if name not in old]:
        child = member(path, name)
        if name not in new:
            yield from single("removed", child, old[name], options)
        elif name not in old:
            yield from single("added", child, new[name], options)
        else:
            yield from compare(old[name], new[name], child, options)


def single(kind: str, path: str, value: Any, options: Options) -> Iterator[Change]:
    """Yield an addition or a removal unless it is ignored."""
    if not options.ignored(path):
        yield Change(kind, path, *((value, None) if kind == "removed" else (None, value)))


def usable_key(items: list[Any], name: str) -> bool:
    """Tell whether every element is an object with its own plain value under this name."""
    seen = set()
    for item in items:
        if not isinstance(item, dict):
            return False
        value = item.get(name)
        if not isinstance(value, str | int) or isinstance(value, bool) or value in seen:
            return False
        seen.add(value)
    return True


def choose_key(old: list[Any], new: list[Any], path: str, options: Options) -> str | None:
    """Return the member that identifies the elements of this list, if there is one."""
    for pattern, name in options.list_keys:
        found = pattern.match(path)
        if found and found.end() == len(path):
            if usable_key(old, name) and usable_key(new, name):
                return name
            raise DiffError(f"{path} cannot be matched by {name!r}: missing or not unique")
    if options.by_position or not (old or new):
        return None
    return next((n for n in options.keys if usable_key(old, n) and usable_key(new, n)), None)


def compare_lists(old: list[Any], new: list[Any], path: str, options: Options) -> Iterator[Change]:
    """Match elements by key, else align equal ones, else go by position."""
    key = choose_key(old, new, path, options)
    if key is not None:
        yield from compare_keyed(old, new, key, path, options)
    elif options.by_position or max(len(old), len(new)) > ALIGN_LIMIT:
        yield from compare_range(old, new, (0, len(old), 0, len(new)), path, options)
    else:
        texts = [[json.dumps(item, sort_keys=True) for item in items] for items in (old, new)]
        matcher = SequenceMatcher(None, texts[0], texts[1], autojunk=False)
        for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes():
            if tag != "equal":
                block = (old_from, old_to, new_from, new_to)
                yield from compare_range(old, new, block, path, options)


def compare_keyed(
    old: list[Any], new: list[Any], key: str, path: str, options: Options
) -> Iterator[Change]:
    """Compare elements with the same key value; their order does not matter."""
    old_by = {item[key]: item for item in old}
    new_by = {item[key]: item for item in new}
    for value in list(old_by) + [value for value in new_by if value not in old_by]:
        text = json.dumps(value, ensure_ascii=False)
        plain = not isinstance(value, str) or re.fullmatch(r"[\w.@/:+-]+", value)
        child = f"{path}[{key}={value if plain else text}]"
        if value not in new_by:
            yield from single("removed", child, old_by[value], options)
        elif value not in old_by:
            yield from single("added", child, new_by[value], options)
        else:
            yield from compare(old_by[value], new_by[value], child, options)


def compare_range(
    old: list[Any], new: list[Any], block: tuple[int, int, int, int], path: str, options: Options
) -> Iterator[Change]:
    """Pair a stretch of both lists in order; what is left over was removed or added."""
    old_from, old_to, new_from, new_to = block
    paired = min(old_to - old_from, new_to - new_from)
    for offset in range(paired):
        child = f"{path}[{old_from + offset}]"
        yield from compare(old[old_from + offset], new[new_from + offset], child, options)
    for index in range(old_from + paired, old_to):
        yield from single("removed", f"{path}[{index}]", old[index], options)
    for index in range(new_from + paired, new_to):
        yield from single("added", f"{path}[{index}]", new[index], options)


def load(path: Path) -> Any:
    """Read one document; repeated member names are reported on stderr."""
    repeated: list[str] = []

    def build(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        built = dict(pairs)
        if len(built) < len(pairs):
            repeated.extend(n for n, count in Counter(n for n, _ in pairs).items() if count > 1)
        return built

    def finite(text: str) -> float:
        if not math.isfinite(float(text)):
            raise DiffError(f"{path}: the number {text[:40]} is too large")
        return float(text)

    def refuse(name: str) -> Any:
        raise DiffError(f"{path}: {name} is not allowed in JSON")

    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DiffError(f"{path}: not UTF-8 text (byte {error.start})") from error
    except OSError as error:
        raise DiffError(f"{path}: {error.strerror or error}") from error
    try:
        value = json.loads(text, object_pairs_hook=build, parse_float=finite, parse_constant=refuse)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        raise DiffError(f"{path}: not JSON: {error.msg} at {place}") from error
    except RecursionError as error:
        raise DiffError(f"{path}: nested too deeply") from error
    except ValueError as error:
        raise DiffError(f"{path}: not usable: {error}") from error
    if repeated:
        names = ", ".join(sorted(set(repeated))[:5])
        print(f"json_diff: {path}: repeated names, last one counts: {names}", file=sys.stderr)
    return value


def short(value: Any) -> str:
    """Return a value on one line, cut if long."""
    text = json.dumps(value, ensure_ascii=False)
    if len(text) <= VALUE_WIDTH:
        return text
    return f"{text[:VALUE_WIDTH]}... ({len(text)} characters, whole with --json)"


def render(changes: list[Change], counts: dict[str, int], limit: int) -> str:
    """Return the differences as text for people."""
    if not changes:
        return "no differences"
    total = f"{len(changes)} difference{'' if len(changes) == 1 else 's'}"
    lines = [f"{total}: " + ", ".join(f"{count} {kind}" for kind, count in counts.items())]
    for change in changes[:limit]:
        if change.kind == "changed":
            lines.append(f"~ {change.path}: {short(change.old)} -> {short(change.new)}")
        elif change.kind == "removed":
            lines.append(f"- {change.path}: {short(change.old)}")
        else:
            lines.append(f"+ {change.path}: {short(change.new)}")
    if len(changes) > limit:
        lines.append(f"{len(changes) - limit} more left out; show them with --limit or --json")
    return "\n".join(lines)


def read_options(args: argparse.Namespace) -> Options:
    """Turn the command line into options."""
    options = Options(by_position=args.by_position, tolerance=args.tolerance)
    options.ignore = [compile_path(text) for text in args.ignore]
    names = []
    for text in args.key:
        path, separator, name = text.rpartition("=")
        if separator and not name:
            raise DiffError(f"bad key {text!r}: expected FIELD or PATH=FIELD")
        if separator:
            options.list_keys.append((compile_path(path), name))
        else:
            names.append(text)
    options.keys = tuple(names) or options.keys
    return options


def tolerance_value(text: str) -> float:
    """Read a finite number of at least zero."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not (math.isfinite(value) and value >= 0):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of 0 or more")
    return value


def limit_value(text: str) -> int:
    """Read a number of at least one."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return int(text)


def build_parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    parser = argparse.ArgumentParser(
        description="Compare two JSON documents by structure and list what was added, removed "
        "or changed by JSON path.",
        epilog="Exit codes: 0 no differences, 1 differences, 2 bad input.",
    )
    parser.add_argument("old", type=Path, help="the document before")
    parser.add_argument("new", type=Path, help="the document after")
    parser.add_argument(
        "--ignore", action="append", default=[], metavar="PATH", help="skip a path; repeatable"
    )
    parser.add_argument(
        "--key",
        action="append",
        default=[],
        metavar="FIELD|PATH=FIELD",
        help="match list elements by this member; repeatable (default: id, key, name, uuid)",
    )
    parser.add_argument("--by-position", action="store_true", help="match elements by index only")
    parser.add_argument(
        "--tolerance", type=tolerance_value, default=0.0, help="numbers this close are equal"
    )
    parser.add_argument(
        "--limit", type=limit_value, default=200, help="differences shown (default: 200)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, values uncut")
    return parser


def run(args: argparse.Namespace) -> int:
    """Compare and print."""
    try:
        options = read_options(args)
        changes = list(compare(load(args.old), load(args.new), "$", options))
    except DiffError as error:
        print(f"json_diff: {error}", file=sys.stderr)
        return 2
    except (RecursionError, OverflowError) as error:
        reason = (
            "are nested too deeply"
            if isinstance(error, RecursionError)
            else "hold numbers too large for --tolerance"
        )
        print(f"json_diff: the documents {reason}", file=sys.stderr)
        return 2
    found = Counter(change.kind for change in changes)
    counts = {kind: found[kind] for kind in ("added", "removed", "changed")}
    if args.json:
        data = {"equal": not changes, **counts, "changes": [c.as_data() for c in changes]}
        print(json.dumps(data, ensure_ascii=False, indent=2))
    else:
        print(render(changes, counts, args.limit))
    return 1 if changes else 0


def main() -> int:
    """Entry point."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    args = build_parser().parse_args()
    try:
        return run(args)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0


if __name__ == "__main__":
    sys.exit(main())
