"""What the tests of the command line and of linting share: samples, and ways to run."""

from __future__ import annotations

import contextlib
import io
import json
import os
import stat
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skilleval import cli
from skilleval.errors import ExitCode

DESCRIPTION = "Extracts tables from PDF files. Use when the user asks about a PDF."
POOR = "I can read PDF files and merge several of them into one file."
"""A description with two faults: description-person and description-when."""
FORMATS = ("text", "json", "sarif", "junit", "github", "markdown")
NAMED_OTHERWISE = {"spec": "fail", "api": "pass", "package": "pass", "claude-code": "pass"}
"""The verdicts on a skill whose name is not that of its folder."""


@dataclass(frozen=True)
class Result:
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The standard output as JSON."""
        return json.loads(self.out)

    @property
    def findings(self) -> list[dict[str, Any]]:
        """The findings of a JSON report."""
        found: list[dict[str, Any]] = self.json["findings"]
        return found

    @property
    def rules(self) -> set[str]:
        """The rules that found something, from a JSON report."""
        return {finding["rule"] for finding in self.findings}

    @property
    def skills(self) -> list[str]:
        """The paths of the skills in a JSON report."""
        return [skill["path"] for skill in self.json["skills"]]


def skill_md(
    name: str, description: str = DESCRIPTION, *, extra: str = "", body: str = "Do it.\n"
) -> str:
    """A SKILL.md with the values as written; ``extra`` goes into the frontmatter."""
    return f"---\nname: {name}\ndescription: {description}\n{extra}---\n\n# Title\n\n{body}"


def run(*words: str) -> Result:
    """Run the command line in this process."""
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", newline="")
    err = io.TextIOWrapper(io.BytesIO(), "utf-8", newline="")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.run(list(words))
        out.flush()
        err.flush()
    return Result(int(code), _written(out), _written(err))


def _written(stream: io.TextIOWrapper) -> str:
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8")


def lint(*words: str) -> Result:
    """``skilleval lint --format json`` in this process."""
    return run("lint", "--format", "json", *words)


def process(
    *words: str | bytes, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> Result:
    """Run the command line in a process of its own; its output must be UTF-8."""
    done = subprocess.run(
        [sys.executable, "-m", "skilleval", *words],
        capture_output=True,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        check=False,
    )
    return Result(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))


def python(program: str) -> Result:
    """Run a program in a process of its own, in the working directory."""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=False
    )
    return Result(done.returncode, done.stdout, done.stderr)


def snapshot(folder: Path) -> dict[str, tuple[int, bytes | str]]:
    """Every file below a folder: its mode, and its bytes or where it links to."""
    found: dict[str, tuple[int, bytes | str]] = {}
    for path in sorted(folder.rglob("*")):
        mode = stat.S_IMODE(path.lstat().st_mode)
        if path.is_symlink():
            found[str(path.relative_to(folder))] = (mode, os.readlink(path))
        elif path.is_file():
            found[str(path.relative_to(folder))] = (mode, path.read_bytes())
    return found


def assert_one_clear_error(result: Result, *words: str) -> None:
    """Exit code 2, nothing on standard output, one sentence and at most one remedy."""
    assert result.code == ExitCode.USAGE
    assert result.out == ""
    first, *more = result.err.splitlines()
    assert first.startswith("error: ")
    assert all(word in first for word in words), first
    assert len(more) <= 1
    assert "pydantic" not in result.err
