"""``skilleval models``"""

from __future__ import annotations

import json

import click

from skilleval.models.settings import DEFAULT_KEY, Model, find_model, read_models
from skilleval.models.tiers import ALIASES, TIERS
from skilleval.terminal import escape, write_out

__all__ = ["command"]

_WIDE = 1_000
"""Columns; the table takes what it needs, and no name is cut short."""


@click.command("models")
@click.option(
    "--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True
)
def command(format_: str) -> None:
    """List the models that can be asked, with prices and limits.

    Those that are known, those of your settings, and those that need no key. Any other name is
    accepted, too: its price, and so the cost, is unknown then.
    """
    from skilleval.models.offline import OFFLINE_MODELS

    settings = read_models()
    names = [*(tier.id for tier in TIERS if tier.id not in settings), *settings]
    models = [find_model(name, settings) for name in names]
    if format_ == "json":
        free = [{"name": name, "about": about} for name, about in OFFLINE_MODELS.items()]
        listed = {"version": 1, "models": [_as_json(model) for model in models], "offline": free}
        write_out(json.dumps(listed, indent=2) + "\n")
        return
    write_out(_table(models))
    write_out(_notes(OFFLINE_MODELS))


def _as_json(model: Model) -> dict[str, object]:
    tier = model.tier
    return {
        "name": model.name,
        "aliases": [alias for alias, name in ALIASES.items() if name == model.name],
        "id": tier.id,
        "provider": model.provider,
        "known": model.known,
        "context_window": tier.context_window,
        "max_output": tier.max_output,
        "prices": tier.prices._asdict() if tier.prices else None,
        "thinking": tier.thinking,
        "effort": tier.effort,
        "limits": model.limits._asdict(),
    }


def _table(models: list[Model]) -> str:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for title in ("model", "provider"):
        table.add_column(title, no_wrap=True)
    for title in ("window", "output", "$ in", "$ out", "$ read", "$ write"):
        table.add_column(title, justify="right", no_wrap=True)
    for title in ("thinking", "effort"):
        table.add_column(title, no_wrap=True)
    for model in models:
        table.add_row(*(escape(cell) for cell in _row(model)))
    console = Console(width=_WIDE, color_system=None, markup=False, emoji=False, highlight=False)
    with console.capture() as capture:
        console.print(table)
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"


def _row(model: Model) -> list[str]:
    tier, prices = model.tier, model.tier.prices
    sizes = [f"{size:,}" + ("" if model.known else "?") for size in tier[1:3]]
    costs = [f"{price:g}" for price in prices[:4]] if prices else ["unknown"] * 4
    if prices and prices.long_input is not None:
        costs[0] += f" ({prices.long_input:g})"
    return [model.name, model.provider, *sizes, *costs, tier.thinking, tier.effort or "-"]


def _notes(offline: dict[str, str]) -> str:
    families = ", ".join(f"{alias} = {name}" for alias, name in ALIASES.items())
    width = max(map(len, offline))
    lines = [
        "Prices: dollars per million tokens; in brackets, for requests over 200,000 tokens.",
        f"Short names: {families}.",
        "",
        f"Without a key ({DEFAULT_KEY}); these follow rules and are no language models:",
        *(f"  {name:<{width}}  {about}" for name, about in offline.items()),
        f"  {'local/PATH.gguf':<{width}}  a language model in a file, on this machine "
        "(pip install 'skilleval[local]')",
    ]
    return "\n".join(lines) + "\n"
