#!/usr/bin/env python3
"""Clean CSV and TSV files and report every kind of change that was made.

The input is read in two streaming passes, so memory grows only with the number of
distinct rows (a 16-byte digest each, used to find duplicates).
"""

from __future__ import annotations

import argparse
import codecs
import csv
import hashlib
import io
import json
import os
import re
import sys
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO

CANDIDATE_DELIMITERS = (",", ";", "\t", "|")
DELIMITER_WORDS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
INVISIBLE = "\ufeff\u200b\u200c\u200d\u2060"
SAMPLE_BYTES = 65_536
CHUNK_BYTES = 1_048_576
FIELD_LIMIT = 16_777_216
EXAMPLES = 10


class TidyError(Exception):
    """A problem that the user can act on; shown as one line."""


@dataclass
class Options:
    """What the command line asked for."""

    encoding: str | None
    delimiter: str | None
    header: bool
    keep_header_names: bool
    keep_duplicates: bool
    in_place: bool
    force: bool
    dry_run: bool
    output: Path | None


@dataclass
class Layout:
    """What the first pass learned about a file."""

    header: list[str]
    width: int
    kept_columns: list[int]


@dataclass
class Report:
    """Everything that changed in one file."""

    input: str
    output: str | None = None
    encoding: str = ""
    delimiter: str = ""
    rows_in: int = 0
    rows_out: int = 0
    columns_in: int = 0
    columns_out: int = 0
    renamed_headers: list[tuple[str, str]] = field(default_factory=list)
    header: list[str] = field(default_factory=list)
    cells_trimmed: int = 0
    empty_rows_removed: int = 0
    empty_columns_removed: list[str] = field(default_factory=list)
    duplicate_rows_removed: int = 0
    duplicate_records: list[int] = field(default_factory=list)
    ragged_rows: int = 0
    ragged_records: list[int] = field(default_factory=list)


def detect_encoding(path: Path) -> str:
    """Return the encoding: a byte order mark decides, then strict UTF-8, then Windows-1252."""
    with path.open("rb") as stream:
        head = stream.read(4)
        if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
            return "utf-32"
        if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16"
        stream.seek(0)
        decoder = codecs.getincrementaldecoder("utf-8")("strict")
        is_utf8, fits_windows = True, True
        while chunk := stream.read(CHUNK_BYTES):
            if b"\0" in chunk:
                raise TidyError("contains NUL bytes, so it is binary and not a text table")
            if any(byte in chunk for byte in (0x81, 0x8D, 0x8F, 0x90, 0x9D)):
                fits_windows = False
            if is_utf8:
                try:
                    decoder.decode(chunk)
                except UnicodeDecodeError:
                    is_utf8 = False
        if is_utf8:
            try:
                decoder.decode(b"", final=True)
            except UnicodeDecodeError:
                is_utf8 = False
    if is_utf8:
        return "utf-8-sig"
    return "cp1252" if fits_windows else "latin-1"


def open_text(path: Path, encoding: str) -> IO[str]:
    """Open a table for the csv module (line ends untouched)."""
    return path.open("r", encoding=encoding, newline="")


def detect_delimiter(path: Path, encoding: str) -> str:
    """Return the candidate that splits the sample into the most consistent rows."""
    with open_text(path, encoding) as stream:
        sample = stream.read(SAMPLE_BYTES)
        if stream.read(1):
            sample = sample[: sample.rfind("\n") + 1] or sample
    best, best_score = ",", (0.0, 0)
    for candidate in CANDIDATE_DELIMITERS:
        try:
            rows = list(csv.reader(io.StringIO(sample, newline=""), delimiter=candidate))
        except csv.Error:
            continue
        widths = Counter(len(row) for row in rows if any(cell.strip() for cell in row))
        if not widths:
            continue
        width, hits = max(widths.items(), key=lambda item: (item[1], item[0]))
        if width < 2:
            continue
        score = (round(hits / widths.total(), 2), width)
        if score > best_score:
            best, best_score = candidate, score
    return best


def clean_cell(cell: str) -> str:
    """Trim whitespace and invisible characters at both ends."""
    previous = None
    while previous != cell:
        previous = cell
        cell = cell.strip().strip(INVISIBLE)
    return cell


def snake_case(name: str) -> str:
    """Turn a heading into lower-case words joined by underscores."""
    text = unicodedata.normalize("NFKC", name)
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text)
    return re.sub(r"[\W_]+", "_", text.replace("%", " percent ").replace("#", " no ")).strip("_")


def normalise_header(cells: list[str], keep_names: bool) -> list[str]:
    """Name every column: snake_case, never empty, never twice the same."""
    names: list[str] = []
    for number, cell in enumerate(cells, start=1):
        base = cell if keep_names else snake_case(cell).lower()
        base = base or f"column_{number}"
        name, suffix = base, 2
        while name in names:
            name, suffix = f"{base}_{suffix}", suffix + 1
        names.append(name)
    return names


def read_records(path: Path, encoding: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (record number, cells); record numbers count from 1 and include blank lines."""
    with open_text(path, encoding) as stream:
        try:
            yield from enumerate(csv.reader(stream, delimiter=delimiter), start=1)
        except csv.Error as error:
            raise TidyError(f"cannot be parsed as a table: {error}") from error
        except UnicodeDecodeError as error:
            raise TidyError(f"is not valid {encoding}: {error.reason}") from error


def survey(path: Path, report: Report, has_header: bool) -> Layout:
    """First pass: find the header, the widest row and the columns that hold data."""
    header: list[str] | None = None if has_header else []
    used: list[bool] = []
    for _, raw in read_records(path, report.encoding, report.delimiter):
        cells = [clean_cell(cell) for cell in raw]
        if not any(cells):
            continue
        if header is None:
            header = cells
            continue
        used.extend([False] * (len(cells) - len(used)))
        for position, cell in enumerate(cells):
            used[position] = used[position] or bool(cell)
    if header is None or (not has_header and not used):
        raise TidyError("holds no rows")
    width = max(len(header), len(used))
    used.extend([False] * (width - len(used)))
    if any(used):
        kept = [position for position in range(width) if used[position]]
    else:
        kept = [position for position, cell in enumerate(header) if cell]
    return Layout(header + [""] * (width - len(header)), width, kept)


def tidy_rows(path: Path, report: Report, layout: Layout, options: Options) -> Iterator[list[str]]:
    """Second pass: yield the clean rows, counting what changes."""
    seen: set[bytes] = set()
    expected = len(layout.header) if not options.header else None
    for number, raw in read_records(path, report.encoding, report.delimiter):
        cells = [clean_cell(cell) for cell in raw]
        if not any(cells):
            report.rows_in += 1
            report.empty_rows_removed += 1
            continue
        report.cells_trimmed += sum(
            1 for before, after in zip(raw, cells, strict=True) if before != after
        )
        if expected is None:
            expected = len(cells)
            continue
        report.rows_in += 1
        if len(cells) != expected:
            report.ragged_rows += 1
            if len(report.ragged_records) < EXAMPLES:
                report.ragged_records.append(number)
        cells.extend([""] * (layout.width - len(cells)))
        row = [cells[position] for position in layout.kept_columns]
        if not options.keep_duplicates:
            digest = hashlib.blake2b(
                "\x1f".join(f"{len(cell)}:{cell}" for cell in row).encode("utf-8", "replace"),
                digest_size=16,
            ).digest()
            if digest in seen:
                report.duplicate_rows_removed += 1
                if len(report.duplicate_records) < EXAMPLES:
                    report.duplicate_records.append(number)
                continue
            seen.add(digest)
        report.rows_out += 1
        yield row


def target_path(path: Path, options: Options) -> Path:
    """Decide where the clean table goes, and refuse to replace what was not named."""
    if options.in_place:
        return path
    suffix = ".tsv" if path.suffix.lower() in {".tsv", ".tab"} else ".csv"
    target = options.output or path.with_name(f"{path.stem}.tidy{suffix}")
    if target.exists():
        if target.samefile(path):
            raise TidyError("would be overwritten; pass --in-place to allow that")
        if not options.force:
            raise TidyError(f"output {target} exists; pass --force to replace it")
    if not target.parent.is_dir():
        raise TidyError(f"output folder {target.parent} does not exist")
    return target


def write_table(target: Path, header: list[str], rows: Iterator[list[str]]) -> None:
    """Write to a temporary file in the same folder, then move it into place."""
    delimiter = "\t" if target.suffix.lower() in {".tsv", ".tab"} else ","
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
            if header:
                writer.writerow(header)
            writer.writerows(rows)
        Path(name).chmod(target.stat().st_mode & 0o777 if target.exists() else 0o644)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def tidy_file(path: Path, options: Options) -> Report:
    """Clean one file and return the report."""
    if not path.exists():
        raise TidyError("does not exist")
    if not path.is_file():
        raise TidyError("is not a regular file")
    target = None if options.dry_run else target_path(path, options)
    report = Report(input=str(path))
    report.encoding = options.encoding or detect_encoding(path)
    try:
        report.delimiter = options.delimiter or detect_delimiter(path, report.encoding)
    except UnicodeError as error:
        raise TidyError(f"is not valid {report.encoding}: {error}") from error
    layout = survey(path, report, options.header)
    names = normalise_header(layout.header, options.keep_header_names)
    dropped = [i for i in range(layout.width) if i not in set(layout.kept_columns)]
    report.columns_in, report.columns_out = layout.width, len(layout.kept_columns)
    report.empty_columns_removed = [names[i] for i in dropped]
    report.header = [names[i] for i in layout.kept_columns] if options.header else []
    if options.header:
        pairs = [(layout.header[i], names[i]) for i in layout.kept_columns]
        report.renamed_headers = [(old, new) for old, new in pairs if old != new]
    rows = tidy_rows(path, report, layout, options)
    if target is None:
        for _ in rows:
            pass
    else:
        write_table(target, report.header, rows)
        report.output = str(target)
    return report


def render(report: Report) -> str:
    """Return the report as text for people."""
    names = {value: word for word, value in DELIMITER_WORDS.items()}
    encoding = "utf-8" if report.encoding == "utf-8-sig" else report.encoding
    lines = [
        f"{report.input} -> {report.output or '(dry run, nothing written)'}",
        f"  read as:            {encoding}, "
        f"{names.get(report.delimiter, repr(report.delimiter))} delimited",
        f"  rows:               {report.rows_in} in, {report.rows_out} out",
        f"  columns:            {report.columns_in} in, {report.columns_out} out",
        f"  cells trimmed:      {report.cells_trimmed}",
        f"  empty rows:         {report.empty_rows_removed} removed",
        f"  duplicate rows:     {report.duplicate_rows_removed} removed"
        + examples(report.duplicate_records, report.duplicate_rows_removed),
        f"  ragged rows:        {report.ragged_rows} padded or widened"
        + examples(report.ragged_records, report.ragged_rows),
        f"  empty columns:      {', '.join(report.empty_columns_removed) or 'none'} removed",
    ]
    lines.extend(f"  renamed header:     {a!r} -> {b}" for a, b in report.renamed_headers)
    return "\n".join(lines)


def examples(numbers: list[int], total: int) -> str:
    """Return ' (records 3, 8, ...)' or nothing."""
    if not numbers:
        return ""
    more = f", and {total - len(numbers)} more" if total > len(numbers) else ""
    return f" (records {', '.join(map(str, numbers))}{more})"


def encoding_name(text: str) -> str:
    """Check a codec name given on the command line."""
    try:
        "".encode(text)
    except LookupError as error:
        raise argparse.ArgumentTypeError(f"unknown encoding {text!r}") from error
    return text


def delimiter_value(text: str) -> str:
    """Accept a single character or one of the words."""
    value = DELIMITER_WORDS.get(text.lower(), "\t" if text == "\\t" else text)
    if len(value) != 1 or value in '\r\n"':
        words = ", ".join(DELIMITER_WORDS)
        raise argparse.ArgumentTypeError(f"must be one character or one of {words}")
    return value


def build_parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    parser = argparse.ArgumentParser(
        description="Clean CSV/TSV files: encoding, delimiter, header, whitespace, "
        "empty rows and columns, duplicate rows. Writes NAME.tidy.csv beside each input.",
        epilog="Exit codes: 0 done, 2 bad input (other files are still processed).",
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="table to clean")
    parser.add_argument("--output", type=Path, help="where to write (one input only)")
    parser.add_argument("--in-place", action="store_true", help="replace the input file")
    parser.add_argument("--force", action="store_true", help="replace an existing output file")
    parser.add_argument("--dry-run", action="store_true", help="report only, write nothing")
    parser.add_argument("--encoding", type=encoding_name, help="skip detection of the encoding")
    parser.add_argument("--delimiter", type=delimiter_value, help="skip detection; e.g. semicolon")
    parser.add_argument("--no-header", action="store_true", help="the first row is data")
    parser.add_argument("--keep-header-names", action="store_true", help="no snake_case renaming")
    parser.add_argument("--keep-duplicates", action="store_true", help="keep repeated rows")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    return parser


def run(args: argparse.Namespace) -> int:
    """Clean every file named on the command line."""
    options = Options(
        encoding=args.encoding,
        delimiter=args.delimiter,
        header=not args.no_header,
        keep_header_names=args.keep_header_names,
        keep_duplicates=args.keep_duplicates,
        in_place=args.in_place,
        force=args.force,
        dry_run=args.dry_run,
        output=args.output,
    )
    reports: list[Report] = []
    failed = False
    for path in args.files:
        try:
            reports.append(tidy_file(path, options))
        except (TidyError, OSError) as error:
            reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
            print(f"tidy: {path}: {reason}", file=sys.stderr)
            failed = True
    if args.json:
        print(json.dumps([asdict(report) for report in reports], ensure_ascii=False, indent=2))
    elif reports:
        print("\n\n".join(render(report) for report in reports))
    return 2 if failed else 0


def main() -> int:
    """Entry point."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    csv.field_size_limit(FIELD_LIMIT)
    parser = build_parser()
    args = parser.parse_args()
    if args.output and (len(args.files) > 1 or args.in_place):
        parser.error("--output takes exactly one input file and excludes --in-place")
    try:
        return run(args)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0


if __name__ == "__main__":
    sys.exit(main())
