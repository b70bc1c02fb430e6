"""``skilleval serve``"""

from __future__ import annotations

import signal

import click

from skilleval.errors import ExitCode
from skilleval.terminal import escape, write_out

__all__ = ["command"]


@click.command("serve")
@click.argument("model", metavar="MODEL")
@click.option("--host", default="127.0.0.1", show_default=True, help="An address of loopback.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=0, help="Where to listen (default: any free)."
)
def command(model: str, host: str, port: int) -> int:
    """Serve an offline model as the Messages API on this machine.

    MODEL is one of the offline models that `skilleval models` lists. Clients that speak the
    Messages API can be pointed to the address that goes to standard output, with any key; the
    model answers whatever model they name. Ctrl-C ends it.
    """
    from skilleval.models.offline import open_offline
    from skilleval.models.offline.serving import listen, serve

    answers = open_offline(model, context_window=None)
    taken = listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{taken.getsockname()[1]}"

    def ready() -> None:
        write_out(f"{address}\n")
        for line in _use(model, address):
            click.echo(escape(line), err=True)

    if serve(answers, taken, ready) == signal.SIGINT:
        raise KeyboardInterrupt
    return ExitCode.OK


def _use(model: str, address: str) -> list[str]:
    return [
        f"{model} answers every model name; it is no language model.",
        f"For a client: ANTHROPIC_BASE_URL={address} ANTHROPIC_API_KEY=any",
        "Ctrl-C ends it.",
    ]
