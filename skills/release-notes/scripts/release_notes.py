#!/usr/bin/env python3
"""Write release notes in Markdown from git history or from a saved `git log`."""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SECTIONS = (
    "Breaking changes",
    "Security",
    "Added",
    "Changed",
    "Deprecated",
    "Removed",
    "Fixed",
    "Performance",
    "Documentation",
)
HOUSEKEEPING = "Housekeeping"
TYPES = {
    "feat": "Added",
    "feature": "Added",
    "fix": "Fixed",
    "bugfix": "Fixed",
    "perf": "Performance",
    "docs": "Documentation",
    "doc": "Documentation",
    "security": "Security",
    "sec": "Security",
    "deprecate": "Deprecated",
    "remove": "Removed",
    "revert": "Changed",
    "refactor": "Changed",
    "change": "Changed",
    "chore": HOUSEKEEPING,
    "ci": HOUSEKEEPING,
    "build": HOUSEKEEPING,
    "test": HOUSEKEEPING,
    "tests": HOUSEKEEPING,
    "style": HOUSEKEEPING,
}
VERBS = (
    (r"security\b|cve-\d", "Security"),
    (r"(?:fix|fixes|fixed|correct|corrects|repair|resolve|resolves|prevent|avoid)\b", "Fixed"),
    (r"(?:add|adds|added|introduce|introduces|implement|implements|support|allow)\b", "Added"),
    (r"(?:remove|removes|removed|drop|drops|dropped|delete|deletes)\b", "Removed"),
    (r"deprecat\w*\b", "Deprecated"),
    (r"(?:speed up|optimi[sz]e\w*|faster)\b", "Performance"),
    (r"(?:document|documents|docs?|readme|typo)\b", "Documentation"),
    (r"(?:bump|release|version|test|tests|ci|lint|format|merge|wip)\b", HOUSEKEEPING),
)
CONVENTIONAL = re.compile(
    r"^(?P<type>[A-Za-z]+)(?:\((?P<scope>[^()]+)\))?(?P<bang>!)?:\s+(?P<text>.+)$"
)
BREAKING = re.compile(r"^BREAKING[ -]CHANGE:\s*(.+?)(?=\n\s*\n|\n[A-Z][\w-]+: |\Z)", re.M | re.S)
REVERTED = re.compile(r"This reverts commit ([0-9a-f]{7,64})")
ISSUE = re.compile(r"(?:^|[\s(])#(\d+)\b")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
FORMAT = "%x1e%H%x1f%P%x1f%cs%x1f%B"
LOG_LIMIT = 268_435_456


class NotesError(Exception):
    """A problem that the user can act on; shown as one line."""


@dataclass
class Commit:
    """One commit as read from the history."""

    sha: str
    message: str
    date: str | None = None
    merge: bool = False


@dataclass
class Entry:
    """One line of the notes."""

    section: str
    text: str
    sha: str
    scope: str | None = None
    breaking: str | None = None
    issues: list[str] = field(default_factory=list)


@dataclass
class Notes:
    """The notes and what was left out of them."""

    source: str
    entries: list[Entry] = field(default_factory=list)
    commits: int = 0
    merges: int = 0
    reverted: int = 0
    repeated: int = 0
    newest: str | None = None

    def of(self, section: str) -> list[Entry]:
        """Return the entries of one section; breaking ones stand only in theirs."""
        if section == SECTIONS[0]:
            return [entry for entry in self.entries if entry.breaking]
        return [e for e in self.entries if e.section == section and not e.breaking]

    def bump(self) -> str:
        """Return the semantic version step that the changes call for."""
        if self.of(SECTIONS[0]):
            return "major"
        if any(self.of(name) for name in ("Added", "Deprecated", "Removed")):
            return "minor"
        return "patch" if any(self.of(name) for name in SECTIONS) else "none"


def git(repo: Path, *arguments: str) -> str:
    """Run git and return its output; its message becomes ours when it fails."""
    command = ["git", "--no-pager", "-c", "log.showSignature=false", "-C", str(repo), *arguments]
    environment = {**os.environ, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_PAGER": ""}
    try:
        done = subprocess.run(command, capture_output=True, check=False, env=environment)
    except FileNotFoundError as error:
        raise NotesError("git is not installed; save a log elsewhere and pass the file") from error
    if done.returncode != 0:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = lines[0].removeprefix("fatal: ") if lines else f"exit code {done.returncode}"
        raise NotesError(f"git {arguments[0]}: {reason}")
    return done.stdout.decode("utf-8", "replace")


def check_revision(repo: Path, revision: str) -> None:
    """Make sure that a name is a commit, and never an option."""
    if revision.startswith("-"):
        raise NotesError(f"bad revision {revision!r}")
    try:
        git(repo, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    except NotesError as error:
        raise NotesError(f"{revision!r} is neither a revision in {repo} nor a file") from error


def choose_range(repo: Path, names: list[str]) -> str:
    """Return the range to read: as given, or from the latest tag to HEAD."""
    git(repo, "rev-parse", "--git-dir")
    if len(names) == 1 and ".." in names[0]:
        names = re.split(r"\.{2,3}", names[0], maxsplit=1)
        names = [name or "HEAD" for name in names]
    for name in names:
        check_revision(repo, name)
    if len(names) == 2:
        return f"{names[0]}..{names[1]}"
    if names:
        return f"{names[0]}..HEAD"
    check_head(repo)
    try:
        tag = git(repo, "describe", "--tags", "--abbrev=0").strip()
        if git(repo, "rev-list", "-1", tag) == git(repo, "rev-list", "-1", "HEAD"):
            newest, tag = tag, git(repo, "describe", "--tags", "--abbrev=0", f"{tag}^").strip()
            return f"{tag}..{newest}"
    except NotesError:
        return "HEAD"
    return f"{tag}..HEAD"


def check_head(repo: Path) -> None:
    """Refuse a repository without commits."""
    try:
        git(repo, "rev-parse", "--verify", "--quiet", "HEAD")
    except NotesError as error:
        raise NotesError(f"{repo} has no commits yet") from error


def read_repository(repo: Path, revisions: str) -> list[Commit]:
    """Read the commits of a range, newest first."""
    text = git(repo, "log", "--no-color", f"--format={FORMAT}", revisions, "--")
    commits = []
    for block in text.split("\x1e")[1:]:
        sha, parents, date, message = block.split("\x1f", 3)
        commits.append(Commit(sha, message.strip(), date, " " in parents))
    return commits


def read_log(path: Path) -> list[Commit]:
    """Read a file with the output of `git log` or `git log --oneline`."""
    try:
        if path.stat().st_size > LOG_LIMIT:
            raise NotesError(f"{path}: larger than {LOG_LIMIT // 1_048_576} MiB")
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NotesError(f"{path}: not UTF-8 text") from error
    except OSError as error:
        raise NotesError(f"{path}: {error.strerror or error}") from error
    full = list(parse_full(text)) or list(parse_oneline(text))
    if not full:
        raise NotesError(f"{path}: holds no output of git log")
    return full


def parse_full(text: str) -> Iterator[Commit]:
    """Split the default format of `git log`."""
    for block in re.split(r"^commit (?=[0-9a-f]{7,64}\b)", text, flags=re.M)[1:]:
        head, _, body = block.partition("\n\n")
        message = "\n".join(
            line.removeprefix("    ") for line in body.splitlines() if line[:4].strip() == ""
        )
        date = re.search(r"^Date:.*?(\d{4}-\d\d-\d\d)", head, re.M)
        merge = re.search(r"^Merge: ", head, re.M) is not None
        yield Commit(block.split(maxsplit=1)[0], message.strip(), date[1] if date else None, merge)


def parse_oneline(text: str) -> Iterator[Commit]:
    """Split the format of `git log --oneline`; give up at the first line of another shape."""
    commits = []
    for line in filter(str.strip, text.splitlines()):
        found = re.match(r"([0-9a-f]{7,64}) (?:\([^)]*\) )?(\S.*)$", line)
        if found is None:
            return
        merge = found[2].startswith(("Merge branch ", "Merge pull request ", "Merge tag "))
        commits.append(Commit(found[1], found[2], None, merge))
    yield from commits


def drop_reverted(commits: list[Commit]) -> tuple[list[Commit], int]:
    """Remove pairs of a commit and its revert if both are in the range."""
    gone: set[str] = set()
    for commit in commits:
        found = REVERTED.search(commit.message)
        if found is None or commit.sha in gone:
            continue
        original = next((c for c in commits if c.sha.startswith(found[1])), None)
        if original is not None and original.sha not in gone:
            gone.update((commit.sha, original.sha))
    return [commit for commit in commits if commit.sha not in gone], len(gone)


def classify(commit: Commit) -> Entry:
    """Turn a commit into an entry of one section."""
    message = CONTROL.sub("", commit.message)
    subject, _, body = message.partition("\n")
    subject = subject.strip() or "(no message)"
    found = CONVENTIONAL.match(subject)
    kind = found["type"].lower() if found else None
    note = BREAKING.search(body)
    breaking = " ".join(note[1].split()) if note else None
    issues = list(dict.fromkeys(ISSUE.findall(message)))
    if found and kind in TYPES:
        section, text = TYPES[kind], found["text"].strip()
        if found["bang"] and not breaking:
            breaking = text
        return Entry(section, text, commit.sha, found["scope"], breaking, issues)
    lowered = subject.lower()
    section = next((name for pattern, name in VERBS if re.match(pattern, lowered)), "Changed")
    return Entry(section, subject, commit.sha, None, breaking, issues)


def collect(commits: list[Commit], source: str) -> Notes:
    """Build the notes: no merges, no reverted pairs, no repeated subjects."""
    notes = Notes(source, commits=len(commits))
    notes.newest = max((commit.date for commit in commits if commit.date), default=None)
    plain = [commit for commit in commits if not commit.merge]
    notes.merges = len(commits) - len(plain)
    kept, notes.reverted = drop_reverted(plain)
    seen: set[tuple[str, str | None, str]] = set()
    for commit in kept:
        entry = classify(commit)
        mark = (entry.section, entry.scope, entry.text.lower())
        if mark in seen and not entry.breaking:
            notes.repeated += 1
            continue
        seen.add(mark)
        notes.entries.append(entry)
    return notes


def line_of(entry: Entry, url: str | None) -> str:
    """Return one Markdown bullet."""
    text = entry.text[:1].upper() + entry.text[1:]
    text = text.rstrip(".").replace("<", "&lt;")
    scope = f"**{entry.scope}:** " if entry.scope else ""
    short = entry.sha[:7]
    commit = f"[{short}]({url.rstrip('/')}/commit/{entry.sha})" if url else short
    line = f"- {scope}{text} ({commit})"
    if entry.breaking and entry.breaking != entry.text:
        line += f"\n  {entry.breaking.replace('<', '&lt;')}"
    return line


def render(notes: Notes, args: argparse.Namespace) -> str:
    """Return the section in Markdown."""
    title = f"## {args.title}" + (f" - {args.date}" if args.date else "")
    lines = [title]
    for section in (*SECTIONS, HOUSEKEEPING):
        if section == HOUSEKEEPING and not args.all:
            continue
        entries = notes.of(section)
        if entries:
            lines += ["", f"### {section}", ""]
            lines += [line_of(entry, args.url) for entry in entries]
    if len(lines) == 1:
        lines += ["", "No changes that concern users."]
    return "\n".join(lines) + "\n"


def summary(notes: Notes, args: argparse.Namespace) -> str:
    """Return one line about what was read and what was left out."""
    hidden = 0 if args.all else len(notes.of(HOUSEKEEPING))
    return (
        f"release_notes: {notes.source}: {notes.commits} commits, "
        f"{len(notes.entries) - hidden} entries; left out: {hidden} housekeeping, "
        f"{notes.merges} merges, {notes.reverted} reverted, {notes.repeated} repeated; "
        f"suggested step: {notes.bump()}"
    )


def as_data(notes: Notes) -> dict[str, Any]:
    """Return everything as plain data."""
    return {
        "source": notes.source,
        "commits": notes.commits,
        "merges": notes.merges,
        "reverted": notes.reverted,
        "repeated": notes.repeated,
        "newest": notes.newest,
        "suggested_step": notes.bump(),
        "sections": {
            section: [vars(entry) for entry in notes.of(section)]
            for section in (*SECTIONS, HOUSEKEEPING)
            if notes.of(section)
        },
    }


def write_output(target: Path, text: str, force: bool) -> None:
    """Write to a temporary file in the same folder, then move it into place."""
    if target.exists() and not force:
        raise NotesError(f"output {target} exists; pass --force to replace it")
    if not target.parent.is_dir():
        raise NotesError(f"output folder {target.parent} does not exist")
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        Path(name).chmod(target.stat().st_mode & 0o777 if target.exists() else 0o644)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def build_parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    parser = argparse.ArgumentParser(
        description="Write release notes in Markdown from git history: breaking changes first, "
        "then grouped by kind. Understands conventional commits and plain subjects.",
        epilog="The notes go to stdout, one line about what was left out to stderr. "
        "Exit codes: 0 done, 2 bad input.",
    )
    parser.add_argument(
        "source",
        nargs="*",
        help="FROM..TO, FROM TO, FROM, or a file with the output of `git log` "
        "(default: from the latest tag to HEAD)",
    )
    parser.add_argument("--repo", type=Path, default=Path(), help="repository (default: here)")
    parser.add_argument("--title", default="Unreleased", help="heading (default: Unreleased)")
    parser.add_argument("--date", help="date in the heading, e.g. 2024-05-01")
    parser.add_argument("--url", help="web address of the repository, to link commits")
    parser.add_argument("--all", action="store_true", help="with chores, tests, CI and builds")
    parser.add_argument("--output", type=Path, help="write here instead of stdout")
    parser.add_argument("--force", action="store_true", help="replace an existing output file")
    parser.add_argument("--json", action="store_true", help="print JSON instead of Markdown")
    return parser


def run(args: argparse.Namespace) -> None:
    """Read, group and print."""
    names: list[str] = args.source
    if len(names) > 2:
        raise NotesError("give FROM..TO, FROM TO, or one log file")
    if len(names) == 1 and Path(names[0]).is_file():
        source = names[0]
        commits = read_log(Path(source))
    else:
        if not args.repo.is_dir():
            raise NotesError(f"{args.repo} is not a folder")
        source = choose_range(args.repo, names)
        commits = read_repository(args.repo, source)
    if not commits:
        raise NotesError(f"{source}: no commits in this range")
    notes = collect(commits, source)
    if args.json:
        text = json.dumps(as_data(notes), ensure_ascii=False, indent=2) + "\n"
    else:
        text = render(notes, args)
    if args.output:
        write_output(args.output, text, args.force)
    else:
        sys.stdout.write(text)
        sys.stdout.flush()
    print(summary(notes, args), file=sys.stderr)


def main() -> int:
    """Entry point."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    args = build_parser().parse_args()
    try:
        run(args)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except (NotesError, OSError, ValueError) as error:
        print(f"release_notes: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
