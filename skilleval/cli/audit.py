"""``skilleval audit``"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click

from skilleval.errors import ExitCode, InputError, NothingFound
from skilleval.harness.permissions.audit import Audit, audit_lines
from skilleval.harness.permissions.model import Decision
from skilleval.terminal import escape, write_out
from skilleval.trace.reader import read_events

__all__ = ["command"]


@click.command("audit")
@click.argument("trace", metavar="TRACE", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True
)
@click.option(
    "--require-covered", is_flag=True, help="Fail if a call was allowed or denied without any rule."
)
def command(trace: str, format_: str, require_covered: bool) -> int:
    """Show who allowed what in a trace, for a person who signs it off.

    TRACE is the file of one session. Every decision is shown with what the call needed, which
    step decided it, and why; calls that no rule covered are marked. Exit codes: 0 shown, 1 a
    call was covered by no rule and --require-covered, 2 could not be read.
    """
    audit = Audit()
    if format_ == "json":
        _write_json(trace, audit)
    else:
        for line in audit_lines(_permissions(trace), audit):
            write_out(escape(line) + "\n")
    failed = require_covered and audit.uncovered
    return ExitCode.FAILED if failed else ExitCode.OK


def _permissions(trace: str) -> Iterator[dict[str, Any]]:
    """The events about permissions, checked; at least one.

    Raises:
        NothingFound: there is none.
    """
    found = False
    for number, event in enumerate(read_events(trace), 1):
        if event["type"] != "permission":
            continue
        found = True
        try:
            Decision.from_event(event)
        except InputError as error:
            raise InputError(f"{trace}: event {number}: {error.message}") from None
        yield event
    if not found:
        raise NothingFound(f"{trace}: there are no decisions about permissions in it")


def _write_json(trace: str, audit: Audit) -> None:
    """One document, written as it is read."""
    begun = False
    for event in _permissions(trace):
        audit.add(Decision.from_event(event))
        head = ",\n" if begun else '{"version": 1, "decisions": [\n'
        begun = True
        write_out(head + json.dumps(event))
    write_out(f'\n], "summary": {json.dumps(audit.as_dict())}}}\n')
