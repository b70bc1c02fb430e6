"""The command line: one module a command, loaded when it is called."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import click

from skilleval import __version__
from skilleval.errors import ExitCode, SkillevalError

__all__ = ["main"]

COMMANDS = {
    "lint": "Check skill folders against the SKILL.md contract.",
    "rules": "List the lint rules, or explain some of them.",
    "prompt": "Show what a model is told about a catalog of skills.",
    "models": "List the models that can be asked, with prices and limits.",
    "serve": "Serve an offline model as the Messages API on this machine.",
    "chat": "Work on one query through the full harness, and show it live.",
    "audit": "Show who allowed what in a trace, for a person who signs it off.",
    "doctor": "Say which sandbox commands run in here, and try to get out of it.",
    "convert": "Convert evaluation cases and results into another format.",
}
"""Every command with its line in the help; its module is loaded only when it runs."""


class _LazyGroup(click.Group):
    """A group whose help needs none of its commands' modules."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"skilleval.cli.{name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="skilleval", message="%(prog)s %(version)s")
def cli() -> None:
    """Lint, evaluate, compare and publish Agent Skills."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and end the process with its exit code."""
    if arguments is None and sys.getfilesystemencoding() != "utf-8" and not sys.flags.utf8_mode:
        # File names are UTF-8 here on every locale: start again in Python's UTF-8 mode.
        os.environ["PYTHONUTF8"] = "1"
        os.execv(sys.executable, sys.orig_argv)  # noqa: S606 - our own words again, no shell
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run the command line; the exit code. No exception gets past this."""
    try:
        result: Any = cli.main(arguments, prog_name="skilleval", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
        return int(result) if isinstance(result, int) else ExitCode.OK
    except SkillevalError as error:
        _say(f"error: {error.message}", error.remedy)
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return ExitCode.USAGE
    except (click.Abort, KeyboardInterrupt):
        _say("interrupted")
        return ExitCode.INTERRUPTED
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        _say(f"error: {error.strerror or error}{where}")
        return ExitCode.USAGE
    except Exception as error:
        # The last line of defence: whatever we got wrong, a user gets a sentence.
        if os.environ.get("SKILLEVAL_DEBUG"):
            raise
        _say(
            f"internal error: {type(error).__name__}: {error}",
            "This is a mistake in skilleval. SKILLEVAL_DEBUG=1 shows where it happened.",
        )
        return ExitCode.UNMEASURED


def _say(message: str, remedy: str = "") -> None:
    from skilleval.terminal import escape

    for line in (message, remedy):
        if line:
            click.echo(escape(line), err=True)
