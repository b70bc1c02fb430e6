"""The command line as a whole: help, version, exit codes, and errors of every kind."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cli.kit import python, run, skill_md
from conftest import Write

from skilleval import __version__
from skilleval.cli import COMMANDS
from skilleval.errors import ExitCode

HEAVY = ("anthropic", "pandas", "jinja2", "pydantic", "rich")

IMPORTED = """
import sys
from skilleval.cli import run
code = run({words!r})
print(*[name for name in {heavy!r} if name in sys.modules], file=sys.stderr)
sys.exit(code)
"""

COMMAND = """
import os, signal, sys, types
import click
from skilleval import cli, errors

@click.command()
def command():
    {body}

module = types.ModuleType("skilleval.cli.extra")
module.command = command
sys.modules["skilleval.cli.extra"] = module
cli.COMMANDS["extra"] = "A command of a test."
cli.main(["extra"])
"""


@pytest.mark.parametrize("word", ["--help", "-h"])
def test_help_names_every_command(word: str) -> None:
    result = run(word)
    assert result.code == 0
    for name, line in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(line)}", result.out, re.MULTILINE)


def test_help_of_a_command_shows_its_options() -> None:
    result = run("lint", "--help")
    assert result.code == 0
    for option in ("--target", "--fix", "--baseline", "--changed-since", "--fail-on"):
        assert option in result.out


def test_version_is_the_one_of_the_package() -> None:
    assert run("--version").out == f"skilleval {__version__}\n"


def test_no_command_shows_the_help_and_fails() -> None:
    result = run()
    assert result.code == ExitCode.USAGE
    assert "Commands:" in result.out + result.err


def test_unknown_command_is_a_usage_error() -> None:
    result = run("lnt")
    assert result.code == ExitCode.USAGE
    assert result.out == ""
    assert "No such command 'lnt'" in result.err


def test_unknown_option_is_a_usage_error() -> None:
    result = run("lint", "--tarhet", "api")
    assert result.code == ExitCode.USAGE
    assert result.out == ""
    assert "--tarhet" in result.err and "--target" in result.err


@pytest.mark.parametrize("words", [["--help"], ["--version"]], ids=lambda words: words[0])
def test_help_and_version_import_nothing_heavy(words: list[str]) -> None:
    result = python(IMPORTED.format(words=words, heavy=HEAVY))
    assert result.code == 0
    assert "skilleval" in result.out
    assert result.err.split() == []


def test_linting_without_settings_imports_nothing_heavy(write: Write) -> None:
    write({"pdf-tools/SKILL.md": skill_md("pdf-tools")})
    result = python(IMPORTED.format(words=["lint", "pdf-tools"], heavy=HEAVY))
    assert "1 skill:" in result.out
    assert result.err.split() == []


def test_module_runs_as_the_command_skilleval() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "skilleval", "--help"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: skilleval [OPTIONS]")


@pytest.mark.parametrize(
    ("error", "code"),
    [("InputError", 2), ("NothingFound", 2), ("Unmeasured", 3), ("Interrupted", 130)],
)
def test_error_is_shown_with_its_remedy_and_its_exit_code(error: str, code: int) -> None:
    result = python(COMMAND.format(body=f"raise errors.{error}('it broke', remedy='Mend it.')"))
    assert result.code == code
    assert result.out == ""
    assert result.err == "error: it broke\nMend it.\n"


def test_internal_error_shows_no_traceback_and_is_no_finding() -> None:
    result = python(COMMAND.format(body="raise ZeroDivisionError('deep inside')"))
    assert "Traceback" not in result.err
    assert "deep inside" in result.err
    assert result.code not in (ExitCode.OK, ExitCode.FAILED)


def test_interrupt_ends_with_130_and_a_word() -> None:
    result = python(COMMAND.format(body="os.kill(os.getpid(), signal.SIGINT)"))
    assert result.code == ExitCode.INTERRUPTED
    assert result.err.strip() == "interrupted"


def test_error_messages_are_escaped() -> None:
    result = run("lint", "no\x1b[31mpe\u202e")
    assert result.code == ExitCode.USAGE
    assert "no\\u{1b}[31mpe\\u{202e}" in result.err


def test_error_message_stays_on_its_line() -> None:
    result = run("lint", "no\n::error::pwned")
    assert result.code == ExitCode.USAGE
    assert not any(line.startswith("::") for line in result.err.splitlines())


@pytest.mark.skipif(sys.platform == "win32", reason="a folder in use can't be removed there")
def test_a_working_directory_that_is_gone_is_an_error(tmp_path: Path) -> None:
    program = (
        "import os; from skilleval.cli import main; os.mkdir('gone'); os.chdir('gone');"
        "os.rmdir('../gone'); main(['lint', '.'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr
    assert done.returncode == ExitCode.USAGE


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_output_that_can_not_be_written_is_an_error(write: Write) -> None:
    write({"pdf-tools/SKILL.md": skill_md("pdf-tools")})
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "skilleval", "lint", "pdf-tools"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert "Traceback" not in done.stderr
    assert "No space left" in done.stderr
    assert done.returncode == ExitCode.USAGE


@pytest.mark.skipif(sys.platform == "win32", reason="closes a file descriptor")
def test_closed_output_is_an_error(write: Write) -> None:
    write({"pdf-tools/SKILL.md": skill_md("pdf-tools")})
    done = subprocess.run(
        ["sh", "-c", 'exec "$0" -m skilleval lint pdf-tools >&-', sys.executable],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr and "NoneType" not in done.stderr
    assert done.stderr.startswith("error: ")
    assert done.returncode == ExitCode.USAGE
