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
from skilleval.trace.reader import read_with_agents

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

    TRACE is the file of one session; those of its subagents are looked up beside it. Every
    decision is shown with what the call needed, which step decided it, and why; calls that no
    rule covered are marked. Exit codes: 0 shown, 1 with --require-covered where a call was
    covered by no rule, or a subagent's trace is missing, 2 could not be read.
    """
    audit = Audit()
    missing: list[str] = []
    events = _permissions(trace, missing)
    if format_ == "json":
        _write_json(events, audit, missing)
    else:
        for line in audit_lines(events, audit):
            write_out(escape(line) + "\n")
    for path in missing:
        click.echo(escape(f"{path} is missing: what that subagent did is not known"), err=True)
    failed = require_covered and (audit.uncovered or missing)
    return ExitCode.FAILED if failed else ExitCode.OK


def _permissions(trace: str, missing: list[str]) -> Iterator[dict[str, Any]]:
    """The events about permissions, checked; at least one.

    Raises:
        NothingFound: there is none.
    """
    found, number = False, 0
    for event in read_with_agents(trace, missing.append):
        agent = event.get("agent")
        number += not agent
        if event["type"] != "permission":
            continue
        found = True
        try:
            Decision.from_event(event)
        except InputError as error:
            whose = f" (agent {agent})" if agent else ""
            raise InputError(f"{trace}: event {number}{whose}: {error.message}") from None
        yield event
    if not found:
        raise NothingFound(
            f"{trace}: there are no decisions about permissions in it",
            remedy="Either no tool was called, or it is not the trace of a whole session.",
        )


def _write_json(events: Iterator[dict[str, Any]], audit: Audit, missing: list[str]) -> None:
    """One document, written as it is read."""
    begun = False
    for event in events:
        audit.add(Decision.from_event(event))
        head = ",\n" if begun else '{"version": 1, "decisions": [\n'
        begun = True
        write_out(head + json.dumps(event))
    summary = {**audit.as_dict(), "missing": missing}
    write_out(f'\n], "summary": {json.dumps(summary)}}}\n')
