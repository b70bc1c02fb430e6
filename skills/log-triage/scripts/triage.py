#!/usr/bin/env python3
"""Group the errors of log files by signature, with counts, times and example lines.

Files are read line by line (gzip too). Memory is bounded by the number of distinct
signatures and time buckets, both of which have a ceiling.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import os
import re
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}
LEVEL_WORDS = {
    "trace": "debug",
    "debug": "debug",
    "info": "info",
    "notice": "info",
    "warn": "warning",
    "warning": "warning",
    "err": "error",
    "error": "error",
    "severe": "error",
    "exception": "error",
    "crit": "critical",
    "critical": "critical",
    "fatal": "critical",
    "panic": "critical",
    "alert": "critical",
    "emerg": "critical",
    "emergency": "critical",
}
LEVEL_PATTERN = re.compile(r"(?<![\w.])(" + "|".join(LEVEL_WORDS) + r")(?![\w.])", re.IGNORECASE)
ISO_TIME = re.compile(
    r"(\d{4})[-/](\d\d)[-/](\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,]\d{1,9})?\s?(Z|[+-]\d\d:?\d\d)?"
)
ACCESS_TIME = re.compile(r"\[(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-]\d{4})\]")
SYSLOG_TIME = re.compile(r"^(?:<\d+>)?([A-Z][a-z]{2}) ([ \d]\d) (\d\d):(\d\d):(\d\d) ")
ACCESS_STATUS = re.compile(r'"([A-Z]+) (\S+)[^"]*" ([45]\d\d) ')
EXCEPTION_LINE = re.compile(r"^([A-Za-z_][\w.]*(?:Error|Exception|Warning|Interrupt|Exit))\b:?")
CONTINUATION = re.compile(
    r"^(?:\s+\S|Traceback \(most recent|Caused by: |During handling|The above )"
)
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
MONTHS = {
    name: number
    for number, name in enumerate(
        "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), start=1
    )
}
MASKS = (
    (ISO_TIME, "<time>"),
    (ACCESS_TIME, "<time>"),
    (re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"), "<uuid>"),
    (re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b"), "<email>"),
    (re.compile(r"\bhttps?://[^\s\"'>)]+"), "<url>"),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b"), "<ip>"),
    (re.compile(r"\b0x[0-9a-fA-F]+\b"), "<hex>"),
    (re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,64}\b"), "<hex>"),
    (re.compile(r"(?<!\w)'[^']{1,200}'(?!\w)|\"[^\"]{1,200}\""), "<str>"),
    (re.compile(r"(?<![\w<])(?:/[\w.@-]+){2,}/?"), "<path>"),
    (re.compile(r"(?<![A-Za-z_\d])(?<!status )(?<!HTTP )\d+(?:\.\d+)?"), "<n>"),
    (re.compile(r"\s+"), " "),
)
BUCKETS = (60, 300, 900, 3600, 21_600, 86_400, 604_800)
LINE_LIMIT = 8_192
EXAMPLE_LINES = 12
MAX_BUCKETS = 2_000
OVERFLOW = "(more signatures than the limit)"


class TriageError(Exception):
    """A problem that the user can act on; shown as one line."""


@dataclass
class Event:
    """One log entry with the lines that belong to it."""

    source: str
    line_number: int
    time: datetime | None
    level: str | None
    message: str
    lines: list[str]
    cut_lines: int = 0
    known_signature: str | None = None


@dataclass
class Group:
    """Every event that shares a signature."""

    signature: str
    level: str
    count: int = 0
    first: datetime | None = None
    last: datetime | None = None
    sources: Counter[str] = field(default_factory=Counter)
    example: Event | None = None


@dataclass
class Histogram:
    """Counts by time; the bucket grows when there would be too many."""

    size: int = BUCKETS[0]
    counts: Counter[int] = field(default_factory=Counter)

    def add(self, moment: datetime) -> None:
        """Count one event."""
        stamp = int(moment.timestamp())
        self.counts[stamp - stamp % self.size] += 1
        if len(self.counts) > MAX_BUCKETS and self.size < BUCKETS[-1]:
            self.coarsen(next(size for size in BUCKETS if size > self.size))

    def coarsen(self, size: int) -> None:
        """Merge into larger buckets."""
        merged: Counter[int] = Counter()
        for stamp, count in self.counts.items():
            merged[stamp - stamp % size] += count
        self.size, self.counts = size, merged

    def fit(self, rows: int) -> None:
        """Choose the smallest bucket that shows the span in at most this many rows."""
        for size in BUCKETS:
            span = max(self.counts) - min(self.counts) if self.counts else 0
            if size >= self.size and (span // size < rows or size == BUCKETS[-1]):
                self.coarsen(size)
                return


@dataclass
class Triage:
    """The result over all files."""

    minimum: str
    max_groups: int
    groups: dict[str, Group] = field(default_factory=dict)
    histogram: Histogram = field(default_factory=Histogram)
    lines: int = 0
    events: int = 0
    matched: int = 0
    untimed: int = 0
    levels: Counter[str] = field(default_factory=Counter)

    def add(self, event: Event) -> None:
        """Count an event and file it under its signature if its level is high enough."""
        self.events += 1
        level = event.level or "none"
        self.levels[level] += 1
        if LEVELS.get(level, 0) < LEVELS[self.minimum]:
            return
        self.matched += 1
        name = signature(event)
        if name not in self.groups and len(self.groups) >= self.max_groups:
            name = OVERFLOW
        group = self.groups.setdefault(name, Group(name, level))
        group.count += 1
        group.sources[event.source] += 1
        if LEVELS[level] > LEVELS[group.level]:
            group.level = level
        group.example = group.example or event
        if event.time is None:
            self.untimed += 1
            return
        self.histogram.add(event.time)
        group.first = min(group.first or event.time, event.time)
        group.last = max(group.last or event.time, event.time)


def signature(event: Event) -> str:
    """Return the message with its variable parts masked, and the exception type if any."""
    if event.known_signature:
        return event.known_signature
    text = event.message
    for pattern, mask in MASKS:
        text = pattern.sub(mask, text)
    text = text.strip(" -:|[]")[:300] or "(empty message)"
    for line in reversed(event.lines[1:]):
        found = EXCEPTION_LINE.match(line)
        if found and found[1] not in text:
            return f"{text} [{found[1]}]"
    return text


def zone(text: str | None) -> timedelta:
    """Return the offset from UTC; no zone counts as UTC."""
    if not text or text == "Z":
        return timedelta()
    digits = text[1:].replace(":", "")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return -offset if text[0] == "-" else offset


def find_time(line: str, year: int) -> tuple[datetime | None, int]:
    """Return the time of a line and where the text after it begins."""
    head = line[:160]
    try:
        if found := ISO_TIME.search(head):
            y, month_number, d, h, m, sec = (int(part) for part in found.groups()[:6])
            moment = datetime(y, month_number, d, h, m, sec, tzinfo=UTC) - zone(found[7])
            return moment, found.end()
        if found := ACCESS_TIME.search(head):
            day, month, access_year, hour, minute, second, offset = found.groups()
            stamp = (int(access_year), MONTHS[month], int(day), int(hour), int(minute), int(second))
            return datetime(*stamp, tzinfo=UTC) - zone(offset), found.end()
        if found := SYSLOG_TIME.match(head):
            clock = (int(found[3]), int(found[4]), int(found[5]))
            return datetime(year, MONTHS[found[1]], int(found[2]), *clock, tzinfo=UTC), found.end()
    except (ValueError, KeyError, OverflowError):
        pass
    return None, 0


def parse_json(line: str, source: str, number: int, year: int) -> Event | None:
    """Read a JSON log line; None if it is not one."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    level_text = first_of(data, "level", "severity", "lvl", "log.level", "levelname").lower()
    if level_text.isdigit():
        level_text = {10: "trace", 20: "debug", 30: "info", 40: "warn", 50: "error"}.get(
            int(level_text) if len(level_text) < 4 else 0, "fatal" if level_text == "60" else ""
        )
    message = first_of(data, "message", "msg", "event", "error")
    moment, _ = find_time(first_of(data, "time", "timestamp", "ts", "@timestamp"), year)
    return Event(source, number, moment, LEVEL_WORDS.get(level_text), message or line, [line])


def first_of(data: dict[str, Any], *names: str) -> str:
    """Return the first field that holds text or a number."""
    for name in names:
        value = data.get(name)
        if isinstance(value, str | int | float) and not isinstance(value, bool) and value != "":
            return str(value)
    return ""


def parse_line(line: str, source: str, number: int, year: int) -> Event:
    """Read the head line of an event."""
    if line.startswith("{") and (event := parse_json(line, source, number, year)):
        return event
    moment, end = find_time(line, year)
    if status := ACCESS_STATUS.search(line):
        level = "error" if status[3].startswith("5") else "warning"
        path = re.sub(r"(?<=/)\d+(?=/|$)", "<n>", status[2].split("?")[0])[:200]
        message = f"HTTP {status[1]} {path} {status[3]}"
        return Event(source, number, moment, level, message, [line], known_signature=message)
    rest = line[end:]
    found = LEVEL_PATTERN.search(rest[:120])
    if found is None:
        kind = EXCEPTION_LINE.match(rest)
        return Event(source, number, moment, "error" if kind else None, rest.strip(), [line])
    level = LEVEL_WORDS[found[1].lower()]
    message = rest[: found.start()].strip(" -:|[]()") + " " + rest[found.end() :].strip(" -:|[]()")
    return Event(source, number, moment, level, message.strip(), [line])


def clean(line: str) -> str:
    """Drop line end, terminal colours and control characters; cut what is far too long."""
    line = CONTROL.sub("", ANSI.sub("", line.rstrip("\r\n")))
    return line if len(line) <= LINE_LIMIT else line[:LINE_LIMIT] + " ... (line cut)"


def events_of(lines: Iterable[str], source: str, year: int, result: Triage) -> Iterator[Event]:
    """Join continuation lines (stack traces) to the entry that they belong to."""
    current: Event | None = None
    in_trace = False
    for number, raw in enumerate(lines, start=1):
        result.lines += 1
        line = clean(raw)
        if not line.strip():
            continue
        starts_trace = line.startswith("Traceback (most recent")
        ends_trace = in_trace and EXCEPTION_LINE.match(line)
        if current and (CONTINUATION.match(line) or ends_trace):
            in_trace = (in_trace or starts_trace) and not ends_trace
            if len(current.lines) < EXAMPLE_LINES or ends_trace:
                current.lines.append(line)
            else:
                current.cut_lines += 1
            continue
        if current:
            yield current
        in_trace = starts_trace
        current = parse_line(line, source, number, year)
        if starts_trace:
            current.level, current.message = "error", "Traceback"
    if current:
        yield current


def open_lines(path: Path) -> io.TextIOWrapper:
    """Open a log, plain or gzip, and refuse what is plainly not text."""
    if not path.exists():
        raise TriageError("does not exist")
    if not path.is_file():
        raise TriageError("is not a regular file")
    with path.open("rb") as probe:
        packed = probe.read(2) == b"\x1f\x8b"
    binary: Any = gzip.open(path, "rb") if packed else path.open("rb")
    try:
        head = binary.peek(4096)[:4096]
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        binary.close()
        raise TriageError(f"is a damaged gzip file: {error}") from error
    encoding = "utf-8-sig"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif b"\0" in head:
        binary.close()
        raise TriageError("is a binary file, not a log")
    return io.TextIOWrapper(binary, encoding=encoding, errors="replace")


def read_file(path: Path, year: int | None, since: datetime | None, result: Triage) -> None:
    """Add the events of one file."""
    with open_lines(path) as stream:
        year = year or datetime.fromtimestamp(path.stat().st_mtime, UTC).year
        try:
            bounded = iter(lambda: stream.readline(LINE_LIMIT * 16), "")
            for event in events_of(bounded, str(path), year, result):
                if since is None or event.time is None or event.time >= since:
                    result.add(event)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise TriageError(f"is a damaged gzip file: {error}") from error


def stamp(moment: datetime | None) -> str | None:
    """Format a time in UTC."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if moment else None


def ordered(result: Triage) -> list[Group]:
    """Most frequent first; then the more severe, then by name."""
    return sorted(result.groups.values(), key=lambda g: (-g.count, -LEVELS[g.level], g.signature))


def as_data(result: Triage, top: int) -> dict[str, Any]:
    """Return the result as plain data."""
    groups = ordered(result)
    return {
        "lines": result.lines,
        "events": result.events,
        "matched": result.matched,
        "untimed": result.untimed,
        "minimum_level": result.minimum,
        "levels": dict(result.levels.most_common()),
        "signatures": len(groups),
        "bucket_seconds": result.histogram.size,
        "histogram": [
            {"start": stamp(datetime.fromtimestamp(start, UTC)), "count": count}
            for start, count in sorted(result.histogram.counts.items())
        ],
        "groups": [
            {
                "signature": group.signature,
                "level": group.level,
                "count": group.count,
                "first": stamp(group.first),
                "last": stamp(group.last),
                "sources": dict(group.sources),
                "example": {
                    "source": group.example.source,
                    "line": group.example.line_number,
                    "text": group.example.lines,
                    "cut_lines": group.example.cut_lines,
                }
                if group.example
                else None,
            }
            for group in groups[:top]
        ],
    }


def render(data: dict[str, Any]) -> str:
    """Return the result as text for people."""
    levels = ", ".join(f"{name} {count}" for name, count in data["levels"].items())
    lines = [
        f"{data['matched']} events at level {data['minimum_level']} or above, "
        f"{data['signatures']} signatures ({data['events']} events in {data['lines']} lines)",
        f"levels: {levels or 'none'}",
    ]
    for rank, group in enumerate(data["groups"], start=1):
        lines.append(f"\n#{rank}  {group['count']}x {group['level'].upper()}  {group['signature']}")
        lines.append(f"    first {group['first'] or 'unknown'}, last {group['last'] or 'unknown'}")
        example = group["example"]
        lines.append(f"    example {example['source']}:{example['line']}")
        lines.extend(f"    | {text}" for text in example["text"])
        if example["cut_lines"]:
            lines.append(f"    | ({example['cut_lines']} more lines left out)")
    hidden = data["signatures"] - len(data["groups"])
    if hidden > 0:
        lines.append(f"\n{hidden} more signatures left out; show them with --top")
    if data["histogram"]:
        peak = max(row["count"] for row in data["histogram"])
        lines.append(f"\nby time (UTC, {data['bucket_seconds']} s each, empty ones left out):")
        for row in data["histogram"]:
            bar = "#" * max(1, round(40 * row["count"] / peak))
            lines.append(f"  {row['start']}  {row['count']:>6}  {bar}")
    if data["untimed"]:
        lines.append(f"{data['untimed']} events have no time and are not in the histogram")
    return "\n".join(lines)


def moment_value(text: str) -> datetime:
    """Read a time given on the command line."""
    try:
        value = datetime.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no ISO 8601 time") from error
    return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)


def positive(text: str) -> int:
    """Read a number of at least one."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return int(text)


def build_parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    parser = argparse.ArgumentParser(
        description="Group the errors of log files by signature: count, first and last seen, "
        "time histogram, an example of each.",
        epilog="Exit codes: 0 done (with or without errors found), 2 bad input "
        "(the other files are still read).",
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="log, plain or .gz")
    parser.add_argument(
        "--level", choices=list(LEVELS), default="error", help="lowest level (default: error)"
    )
    parser.add_argument("--top", type=positive, default=20, help="signatures shown (default: 20)")
    parser.add_argument("--since", type=moment_value, help="leave out what is older (ISO 8601)")
    parser.add_argument(
        "--year", type=positive, help="year of syslog lines (default: from the file's date)"
    )
    parser.add_argument(
        "--max-signatures", type=positive, default=5000, help="memory ceiling (default: 5000)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def run(args: argparse.Namespace) -> int:
    """Read every file and print one result."""
    result = Triage(args.level, args.max_signatures)
    failed = 0
    for path in args.files:
        try:
            read_file(path, args.year, args.since, result)
        except (TriageError, OSError) as error:
            reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
            print(f"triage: {path}: {reason}", file=sys.stderr)
            failed += 1
    if failed == len(args.files):
        return 2
    result.histogram.fit(rows=48)
    data = as_data(result, args.top)
    print(json.dumps(data, ensure_ascii=False, indent=2) if args.json else render(data))
    return 2 if failed else 0


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
