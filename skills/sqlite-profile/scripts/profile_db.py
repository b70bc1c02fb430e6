#!/usr/bin/env python3
"""Profile a SQLite database without changing it.

For each table: rows, null and empty rates, distinct counts, numeric ranges. For the
schema: orphaned rows, foreign keys without an index or a valid parent, tables without
a primary key, columns that never hold a value.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sqlite3
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

MAGIC = b"SQLite format 3\0"
DUMP_LIMIT = 268_435_456
NUMERIC = ("INT", "REAL", "FLOA", "DOUB", "DEC", "NUM")


class ProfileError(Exception):
    """A problem that the user can act on; shown as one line."""


@dataclass
class Column:
    """What one column holds, over the rows that were read."""

    name: str
    type: str
    primary_key: bool
    nulls: int = 0
    empty: int = 0
    distinct: int = 0
    null_rate: float | None = None
    minimum: int | float | None = None
    maximum: int | float | None = None


@dataclass
class ForeignKey:
    """One foreign key and how well it holds; None means that it was not measured."""

    columns: list[str]
    parent: str
    parent_columns: list[str]
    indexed: bool
    orphans: int | None = None


@dataclass
class Table:
    """One table."""

    name: str
    rows: int | None = None
    profiled_rows: int | None = None
    columns: list[Column] = field(default_factory=list)
    foreign_keys: list[ForeignKey] = field(default_factory=list)


@dataclass
class Profile:
    """The whole database."""

    file: str
    bytes: int
    tables: list[Table] = field(default_factory=list)
    views: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    not_measured: list[str] = field(default_factory=list)


def quote(name: str) -> str:
    """Return a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def connect(path: Path, timeout: float) -> sqlite3.Connection:
    """Open a database read-only, or load a dump into memory; long queries are interrupted."""
    try:
        with path.open("rb") as stream:
            head = stream.read(len(MAGIC))
    except OSError as error:
        raise ProfileError(f"{path}: {error.strerror or error}") from error
    if not head:
        raise ProfileError(f"{path}: is empty, there is no database in it")
    deadline = time.monotonic() + timeout
    if head == MAGIC:
        database = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    elif path.suffix.lower() == ".sql":
        database = load_dump(path, deadline)
    else:
        raise ProfileError(f"{path}: is not a SQLite 3 database (or it is encrypted)")
    database.text_factory = lambda raw: raw.decode("utf-8", "replace")
    database.execute("PRAGMA query_only = ON")
    database.execute("PRAGMA trusted_schema = OFF")
    database.set_progress_handler(lambda: int(time.monotonic() > deadline), 10_000)
    return database


def load_dump(path: Path, deadline: float) -> sqlite3.Connection:
    """Run an SQL dump in memory; it may not attach, and so not touch, any file."""

    def allow(action: int, *_: str | None) -> int:
        return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_ATTACH else sqlite3.SQLITE_OK

    if path.stat().st_size > DUMP_LIMIT:
        raise ProfileError(f"{path}: a dump over {DUMP_LIMIT // 1_048_576} MiB; load it first")
    database = sqlite3.connect(":memory:")
    database.set_authorizer(allow)
    database.set_progress_handler(lambda: int(time.monotonic() > deadline), 10_000)
    try:
        database.executescript(path.read_bytes().decode("utf-8-sig"))
        database.commit()
    except UnicodeDecodeError as error:
        raise ProfileError(f"{path}: not UTF-8 text") from error
    except (sqlite3.Error, ValueError) as error:
        raise ProfileError(f"{path}: cannot be loaded as an SQLite dump: {error}") from error
    return database


def list_objects(database: sqlite3.Connection, profile: Profile) -> list[str]:
    """Return the ordinary tables; note views and virtual tables."""
    tables, virtual = [], []
    query = "SELECT type, name, sql FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY 2"
    for kind, name, sql in database.execute(query):
        if name.lower().startswith("sqlite_"):
            continue
        if kind == "view":
            profile.views.append(name)
        elif (sql or "").lstrip().upper().startswith("CREATE VIRTUAL"):
            virtual.append(name)
        else:
            tables.append(name)
    shadows = {t for t in tables if any(t.startswith(f"{name}_") for name in virtual)}
    profile.skipped = virtual + sorted(shadows)
    return [name for name in tables if name not in shadows]


def read_columns(database: sqlite3.Connection, table: str) -> list[Column]:
    """Return the columns, generated ones included."""
    rows = database.execute(f"PRAGMA table_xinfo({quote(table)})").fetchall()
    return [
        Column(row[1], row[2] or "", bool(row[5]))
        for row in rows
        if row[6] != 1  # hidden columns of virtual tables
    ]


def measure(database: sqlite3.Connection, table: Table, max_rows: int) -> None:
    """Fill in counts; a large table is profiled by its first rows."""
    name = quote(table.name)
    table.rows = int(database.execute(f"SELECT count(*) FROM {name}").fetchone()[0])
    table.profiled_rows = min(table.rows, max_rows)
    source = name if table.rows <= max_rows else f"(SELECT * FROM {name} LIMIT {max_rows})"
    for column in table.columns:
        c = quote(column.name)
        numeric = any(word in column.type.upper() for word in NUMERIC)
        limits = (
            f"min(CASE WHEN typeof({c}) IN ('integer', 'real') THEN {c} END), "
            f"max(CASE WHEN typeof({c}) IN ('integer', 'real') THEN {c} END)"
        )
        row = database.execute(
            f"SELECT count(*) - count({c}), count(CASE WHEN {c} = '' THEN 1 END), "
            f"count(DISTINCT {c}), {limits if numeric else 'NULL, NULL'} FROM {source}"
        ).fetchone()
        column.nulls, column.empty, column.distinct, column.minimum, column.maximum = row
        if table.profiled_rows:
            column.null_rate = round(column.nulls / table.profiled_rows, 4)


def index_prefixes(database: sqlite3.Connection, table: str, unique: bool) -> list[list[str]]:
    """Return the column lists of the indexes of a table, without partial ones."""
    found = []
    for row in database.execute(f"PRAGMA index_list({quote(table)})").fetchall():
        if (unique and not row[2]) or row[4]:
            continue
        columns = database.execute(f"PRAGMA index_info({quote(row[1])})").fetchall()
        found.append([str(part[2]).lower() for part in columns])
    return found


def primary_key(database: sqlite3.Connection, table: str) -> list[str]:
    """Return the columns of the primary key in key order."""
    rows = database.execute(f"PRAGMA table_info({quote(table)})").fetchall()
    return [row[1] for row in sorted((r for r in rows if r[5]), key=lambda r: r[5])]


def is_indexed(database: sqlite3.Connection, table: str, columns: list[str]) -> bool:
    """Tell whether an index, or the row id, begins with these columns."""
    wanted = {column.lower() for column in columns}
    key = [column.lower() for column in primary_key(database, table)]
    prefixes = [*index_prefixes(database, table, unique=False), key]
    return any(set(prefix[: len(wanted)]) == wanted for prefix in prefixes)


def is_unique(database: sqlite3.Connection, table: str, columns: list[str]) -> bool:
    """Tell whether these columns identify a row, as a parent key must."""
    wanted = {column.lower() for column in columns}
    key = [column.lower() for column in primary_key(database, table)]
    prefixes = [*index_prefixes(database, table, unique=True), key]
    return any(set(prefix) == wanted for prefix in prefixes)


def read_foreign_keys(database: sqlite3.Connection, table: str) -> list[ForeignKey]:
    """Return the declared foreign keys; composite ones are one key."""
    grouped: dict[int, list[Any]] = {}
    for row in database.execute(f"PRAGMA foreign_key_list({quote(table)})").fetchall():
        grouped.setdefault(row[0], []).append(row)
    keys = []
    for number in sorted(grouped):
        rows = sorted(grouped[number], key=lambda row: row[1])
        columns, parent = [row[3] for row in rows], rows[0][2]
        parents = [row[4] for row in rows]
        if None in parents:
            parents = primary_key(database, parent)
        keys.append(ForeignKey(columns, parent, parents, is_indexed(database, table, columns)))
    return keys


def count_orphans(database: sqlite3.Connection, table: str, key: ForeignKey) -> int:
    """Count rows whose complete key has no parent row."""
    filled = " AND ".join(f"c.{quote(name)} IS NOT NULL" for name in key.columns)
    pairs = zip(key.columns, key.parent_columns, strict=True)
    equal = " AND ".join(f"p.{quote(parent)} = c.{quote(child)}" for child, parent in pairs)
    query = (
        f"SELECT count(*) FROM {quote(table)} AS c WHERE {filled} AND NOT EXISTS "
        f"(SELECT 1 FROM {quote(key.parent)} AS p WHERE {equal})"
    )
    return int(database.execute(query).fetchone()[0])


def check_key(
    database: sqlite3.Connection, table: Table, key: ForeignKey, tables: dict[str, str]
) -> list[str]:
    """Return the problems of one foreign key."""
    label = f"{table.name}({', '.join(key.columns)}) -> {key.parent}"
    problems = [] if key.indexed else [f"no index on foreign key {label}"]
    known = tables.get(key.parent.lower())
    names = {name.lower() for name in columns_of(database, known)} if known else set()
    if known is None:
        problems.append(f"parent table is missing: {label}")
    elif len(key.columns) != len(key.parent_columns) or any(
        name.lower() not in names for name in key.parent_columns
    ):
        problems.append(f"parent columns are missing or do not match: {label}")
    else:
        if not is_unique(database, known, key.parent_columns):
            problems.append(f"parent columns are not unique: {label}")
        key.orphans = count_orphans(database, table.name, key)
        if key.orphans:
            problems.append(f"{key.orphans} orphaned rows: {label}")
    return problems


def columns_of(database: sqlite3.Connection, table: str) -> list[str]:
    """Return the column names of a table."""
    return [column.name for column in read_columns(database, table)]


def table_problems(table: Table) -> list[str]:
    """Return what is odd about a table as such."""
    problems = []
    if not any(column.primary_key for column in table.columns):
        problems.append(f"no primary key: {table.name}")
    if table.rows and table.rows == table.profiled_rows:
        problems.extend(
            f"column never holds a value: {table.name}.{column.name}"
            for column in table.columns
            if column.nulls == table.rows
        )
    return problems


def profile_file(path: Path, args: argparse.Namespace) -> Profile:
    """Profile one database."""
    database = connect(path, args.timeout)
    try:
        profile = Profile(str(path), path.stat().st_size)
        names = list_objects(database, profile)
        known = {name.lower(): name for name in names + profile.skipped}
        missing = [name for name in args.table if name.lower() not in known]
        if missing:
            raise ProfileError(f"{path}: no such table: {', '.join(missing)}")
        chosen = {name.lower() for name in args.table}
        for name in names:
            if chosen and name.lower() not in chosen:
                continue
            profile.tables.append(profile_table(database, name, profile, known, args.max_rows))
        return profile
    except sqlite3.OperationalError as error:
        if "interrupted" in str(error):
            raise ProfileError(f"{path}: the schema could not be read in time") from error
        raise ProfileError(f"{path}: {error}") from error
    except sqlite3.Error as error:
        raise ProfileError(f"{path}: {error}") from error
    finally:
        database.close()


def profile_table(
    database: sqlite3.Connection, name: str, profile: Profile, known: dict[str, str], max_rows: int
) -> Table:
    """Profile one table; what takes too long or fails is named as not measured."""
    table = Table(name)
    try:
        table.columns = read_columns(database, name)
        measure(database, table, max_rows)
        profile.problems.extend(table_problems(table))
        table.foreign_keys = read_foreign_keys(database, name)
        for key in table.foreign_keys:
            profile.problems.extend(check_key(database, table, key, known))
    except sqlite3.OperationalError as error:
        reason = "out of time" if "interrupted" in str(error) else str(error)
        profile.not_measured.append(f"{name}: {reason}")
    return table


def number(value: float | None) -> str:
    """Format a number that may be missing."""
    if value is None:
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)


def cell(text: str) -> str:
    """Keep a name from breaking a Markdown table."""
    return " ".join(text.replace("|", "\\|").split())


def render(profile: Profile) -> str:
    """Return the profile in Markdown."""
    lines = [
        f"# {profile.file}",
        "",
        f"{len(profile.tables)} tables, {len(profile.views)} views, {profile.bytes} bytes, "
        f"{len(profile.problems)} problems",
        "",
        "## Problems",
        "",
        *([f"- {problem}" for problem in profile.problems] or ["none found"]),
    ]
    if profile.not_measured:
        lines += ["", "## Not measured", "", *(f"- {text}" for text in profile.not_measured)]
    for table in profile.tables:
        lines += ["", f"## {table.name}: {table.rows if table.rows is not None else '?'} rows", ""]
        if table.rows != table.profiled_rows:
            lines += [f"Columns below: first {table.profiled_rows} rows only.", ""]
        lines += ["| column | type | null | empty | distinct | min | max |", "|" + "---|" * 7]
        for column in table.columns:
            rate = "" if column.null_rate is None else f" ({column.null_rate:.1%})"
            lines.append(
                f"| {cell(column.name)}{' (key)' if column.primary_key else ''} "
                f"| {cell(column.type)} | {column.nulls}{rate} | {column.empty} "
                f"| {column.distinct} | {number(column.minimum)} | {number(column.maximum)} |"
            )
        for key in table.foreign_keys:
            orphans = "orphans not measured" if key.orphans is None else f"{key.orphans} orphans"
            index = "indexed" if key.indexed else "no index"
            lines.append(
                f"\nForeign key ({', '.join(key.columns)}) -> {key.parent}"
                f"({', '.join(key.parent_columns)}): {orphans}, {index}"
            )
    if profile.views:
        lines += ["", f"Views: {', '.join(profile.views)}"]
    if profile.skipped:
        lines += ["", f"Virtual tables and their parts, skipped: {', '.join(profile.skipped)}"]
    return "\n".join(lines)


def positive(text: str) -> int:
    """Read a number of at least one."""
    if not text.isdecimal() or not 1 <= int(text) < 2**62:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return int(text)


def build_parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    parser = argparse.ArgumentParser(
        description="Profile a SQLite database read-only: rows, null rates, distinct counts, "
        "orphaned rows, foreign keys without an index.",
        epilog="Exit codes: 0 done, 1 problems found and --fail-on-problems given, 2 bad input.",
    )
    parser.add_argument(
        "databases", nargs="+", type=Path, metavar="FILE", help="database, or .sql dump"
    )
    parser.add_argument(
        "--table", action="append", default=[], metavar="NAME", help="only this; repeatable"
    )
    parser.add_argument(
        "--max-rows",
        type=positive,
        default=1_000_000,
        help="profile the columns of larger tables by this many rows (default: 1000000)",
    )
    parser.add_argument(
        "--timeout", type=positive, default=120, help="seconds for each database (default: 120)"
    )
    parser.add_argument("--fail-on-problems", action="store_true", help="exit 1 on problems")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def run(args: argparse.Namespace) -> int:
    """Profile every database named on the command line."""
    profiles: list[Profile] = []
    failed = False
    for path in args.databases:
        try:
            profiles.append(profile_file(path, args))
        except (ProfileError, sqlite3.Error) as error:
            text = str(error) if isinstance(error, ProfileError) else f"{path}: {error}"
            print(f"profile_db: {text}", file=sys.stderr)
            failed = True
    if args.json:
        print(json.dumps([asdict(p) for p in profiles], ensure_ascii=False, indent=2))
    elif profiles:
        print("\n\n".join(render(profile) for profile in profiles))
    if failed:
        return 2
    found = any(profile.problems for profile in profiles)
    return 1 if found and args.fail_on_problems else 0


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
