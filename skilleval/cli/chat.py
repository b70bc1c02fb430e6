"""``skilleval chat``"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from skilleval.errors import InputError, Unmeasured
from skilleval.redaction import redact, redact_json
from skilleval.terminal import escape, write_out

if TYPE_CHECKING:
    from skilleval.harness.opening import Setup
    from skilleval.harness.permissions import Answer, Call, Capability
    from skilleval.harness.resume import Resumed
    from skilleval.harness.session import Ended
    from skilleval.trace.events import Event

__all__ = ["command"]

_SHOWN = 400
"""Characters of a call or a result that are shown while it runs."""
_MODES = ("default", "dontAsk", "acceptEdits", "bypassPermissions", "plan", "auto")


@click.command("chat")
@click.argument("query", required=False)
@click.option("--skills", multiple=True, metavar="PATH", help="Skills to offer; repeatable.")
@click.option("--model", help="Who answers.  [default: sonnet with a key, else offline/literal]")
@click.option(
    "--workspace", default=".", show_default=True, type=click.Path(exists=True, file_okay=False)
)
@click.option("--style", type=click.Choice(["documented", "claude-code"]), default="claude-code")
@click.option("--mode", type=click.Choice(_MODES), default="default", show_default=True)
@click.option("--allow", multiple=True, metavar="RULE", help="As Bash(git diff:*); repeatable.")
@click.option("--ask", multiple=True, metavar="RULE", help="Ask for these; repeatable.")
@click.option("--deny", multiple=True, metavar="RULE", help="Never these; repeatable.")
@click.option("--settings", multiple=True, metavar="FILE", help="Hooks and rules; repeatable.")
@click.option("--mcp", metavar="FILE", help="MCP servers, as in .mcp.json.")
@click.option(
    "--sandbox",
    type=click.Choice(["auto", "bubblewrap", "landlock", "none"]),
    default="auto",
    show_default=True,
)
@click.option("--network", is_flag=True, help="Let commands reach the network.")
@click.option("--max-turns", type=click.IntRange(min=1), default=50, show_default=True)
@click.option("--max-cost", type=click.FloatRange(min=0, min_open=True), help="In dollars.")
@click.option("--max-seconds", type=click.FloatRange(min=0, min_open=True))
@click.option("--trace", metavar="FILE", help="Where to write the events.")
@click.option("--resume", metavar="TRACE", help="Go on with the session of a trace.")
@click.option("--record", metavar="FOLDER", help="Keep every exchange with the model.")
@click.option("--replay", metavar="FOLDER", help="Answer from what --record kept.")
@click.option(
    "--format", "format_", type=click.Choice(["text", "jsonl"]), default="text", show_default=True
)
def command(query: str | None, **options: Any) -> int:
    """Work on one query through the full harness, and show it live.

    The answer goes to standard output, what happens on the way to standard error; with
    --format jsonl the events of the trace go to standard output instead. Commands of the model
    run in a sandbox; what the mode leaves open is asked for on the terminal, and refused where
    there is none.
    """
    if not query or not query.strip():
        raise click.UsageError("there is no QUERY")
    ended = asyncio.run(_chat(query, options))
    return int(ended.exit_code)


async def _chat(query: str, options: dict[str, Any]) -> Ended:
    from skilleval.harness.loop import State, work
    from skilleval.harness.opening import open_session
    from skilleval.harness.resume import resume
    from skilleval.models.opening import Models

    if options["resume"] and options["trace"]:
        raise InputError("--resume writes on in its own trace: leave --trace out")
    resumed = resume(options["resume"]) if options["resume"] else None
    path = options["resume"] or _new_trace(options["trace"])
    show = _Display(options["format_"] == "jsonl")
    last, began = State(resumed.history) if resumed else State(), False
    try:
        async with (
            Models(record=options["record"], replay=options["replay"]) as models,
            open_session(
                _setup(options, resumed),
                models,
                path,
                callback=_Person() if sys.stdin is not None and sys.stdin.isatty() else None,
                watch=show.event,
                stream=show.delta if show.live else None,
                resumed=resumed,
            ) as session,
        ):
            began = True
            async for item in work(session, query, last):
                if isinstance(item, State):
                    last = item
    except OSError as error:
        if not began:
            raise
        raise Unmeasured(
            f"the session broke off: {error.strerror or error}; its trace is {path}",
            remedy="Where there is room again, --resume goes on with it.",
        ) from None
    finally:
        if not (began or options["resume"] or options["trace"]):
            with contextlib.suppress(OSError):
                os.rmdir(os.path.dirname(path))
    if last.ended is None:
        raise InputError("the session never began")
    show.end(last.ended, path)
    return last.ended


def _new_trace(wanted: str | None) -> str:
    """Where a new session writes its events: never on behind those of another."""
    if not wanted:
        return os.path.join(tempfile.mkdtemp(prefix="skilleval-chat-"), "trace.jsonl")
    if os.path.isfile(wanted) and os.path.getsize(wanted):
        raise InputError(
            f"{wanted} is there already",
            remedy=f"Name another file, or go on with its session: --resume {wanted}",
        )
    return wanted


def _setup(options: dict[str, Any], resumed: Resumed | None) -> Setup:
    from skilleval.harness.opening import Setup, read_mcp
    from skilleval.harness.permissions import Mode, Rules
    from skilleval.harness.session import SessionLimits
    from skilleval.harness.settings import read_harness
    from skilleval.models.opening import default_model
    from skilleval.prompt.catalog import Style
    from skilleval.skill import Skill, discover

    found = discover(options["skills"]).skills if options["skills"] else []
    model = options["model"] or (resumed.start.get("model") if resumed else "") or default_model()
    setup = Setup(
        model=str(model),
        workspace=options["workspace"],
        skills=[Skill(skill) for skill in found],
        style=Style(options["style"]),
        mode=Mode(options["mode"]),
        rules=Rules.parse(options["deny"], options["ask"], options["allow"]),
        settings=options["settings"],
        sandbox=options["sandbox"],
        network=options["network"],
        limits=SessionLimits(
            turns=options["max_turns"],
            dollars=options["max_cost"],
            seconds=options["max_seconds"],
        ),
        mcp=read_mcp(options["mcp"]) if options["mcp"] else {},
    )
    return read_harness().applied(setup)


class _Person:
    """Whoever sits at the terminal; asked one thing at a time."""

    def __init__(self) -> None:
        self._free = asyncio.Lock()

    async def __call__(self, call: Call, capabilities: Sequence[Capability], reason: str) -> Answer:
        """Ask whether a call may be carried out."""
        from skilleval.harness.permissions import Answer

        needs = "".join(f"\n  needs to {c.kind} {escape(c.target)}" for c in capabilities[:20])
        what = escape(f"{call.tool}: {_line(call.input)}")
        async with self._free:
            click.echo(f"\n{redact(what)}\n  {escape(reason)}{needs}", err=True)
            said = await _typed("Allow it? [y/N] ")
        allowed = said.strip().lower() in ("y", "yes")
        return Answer(allowed, "the user allowed it" if allowed else "the user refused it")


async def _typed(question: str) -> str:
    """A line that is typed after a question; waiting for it can be broken off at any time."""
    import termios

    loop, terminal = asyncio.get_running_loop(), sys.stdin.fileno()
    line: asyncio.Future[bytes] = loop.create_future()

    def read() -> None:
        try:
            data = os.read(terminal, 4096)
        except OSError:
            data = b""
        if not line.done():
            line.set_result(data)

    termios.tcflush(terminal, termios.TCIFLUSH)  # what was typed before is no answer to this
    click.echo(question, nl=False, err=True)
    loop.add_reader(terminal, read)
    try:
        data = await line
    finally:
        loop.remove_reader(terminal)
    return data.decode("utf-8", "replace")


class _Display:
    """Shows a session while it runs.

    On a terminal the words of the model come as it says them; elsewhere standard output gets
    the answer alone, in the end.
    """

    def __init__(self, as_json: bool) -> None:
        self._json = as_json
        self._streaming = False
        self.live = not as_json and sys.stdout is not None and sys.stdout.isatty()

    def delta(self, event: dict[str, Any]) -> None:
        """Show the words of the model as they come."""
        if event.get("type") == "content_block_delta" and "text" in event["delta"]:
            self._streaming = True
            lines = redact(event["delta"]["text"]).split("\n")
            write_out("\n".join(escape(line) for line in lines))
        elif event.get("type") == "restart":
            self._break()
            _err("(the answer broke off and begins anew)")

    def event(self, event: Event) -> None:
        """Show an event of the trace."""
        if self._json:
            write_out(redact_json(json.dumps(event, ensure_ascii=False)) + "\n")
            return
        text = _told(event)
        if text:
            self._break()
            agent = event.get("agent")
            _err(redact(f"[{agent}] {text}" if agent else text))

    def end(self, ended: Ended, path: str) -> None:
        """Show how it ended."""
        self._break()
        if not self._json and not self.live:
            write_out(redact(ended.text).rstrip("\n") + "\n" if ended.text else "")
        why = f": {escape(ended.reason)}" if ended.reason else ""
        _err(f"{ended.outcome}{why}; trace: {escape(path)}")
        if ended.error is not None and ended.error.remedy:
            _err(escape(ended.error.remedy))

    def _break(self) -> None:
        if self._streaming:
            write_out("\n")
            self._streaming = False


def _told(event: Event) -> str:
    kind = event["type"]
    if kind == "start" and event.get("agent"):
        return escape(f"{event['agent_type']}, {event['model']}")
    if kind == "start":
        sandbox = event["sandbox"]
        weak = sandbox != "bubblewrap"
        gaps = "".join(f"\n  it can't stop: {gap}" for gap in event["gaps"] if weak)
        return escape(f"{event['model']}, {event['mode']}, sandbox {sandbox}") + gaps
    if kind == "resume":
        return escape(f"going on: {event['model']}, {event['mode']}, sandbox {event['sandbox']}")
    if kind == "tool":
        return escape(f"> {event['name']} {_line(event['input'])}")
    if kind == "permission" and not event["allowed"]:
        return escape(f"  denied by {event['step']}: {event['reason']}")
    if kind == "result":
        return escape(f"  {'failed: ' if event['is_error'] else ''}{_line(event['content'])}")
    if kind == "activation":
        return escape(f"  skill loaded: {event['skill']}")
    if kind == "warning":
        return escape(f"  {event['about']}: {event['message']}")
    if kind == "shaped":
        return f"  context: {event['shaper']}, {event['before']:,} to {event['after']:,} tokens"
    return ""


def _line(data: Any) -> str:
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    flat = " ".join(text[: _SHOWN * 2].split())
    return flat if len(flat) <= _SHOWN else flat[:_SHOWN] + "…"


def _err(text: str) -> None:
    click.echo(text, err=True)
