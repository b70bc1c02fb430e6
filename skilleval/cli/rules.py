"""``skilleval rules``"""

from __future__ import annotations

import click

from skilleval.lint.describe import describe, table
from skilleval.lint.registry import all_rules
from skilleval.lint.settings import choose_rules

__all__ = ["command"]


@click.command("rules")
@click.argument("ids", nargs=-1, metavar="[ID]...")
def command(ids: tuple[str, ...]) -> None:
    """List the lint rules, or explain some of them (by id or group) with examples."""
    if not ids:
        click.echo(table(all_rules()), nl=False)
        return
    chosen = choose_rules(ids)
    click.echo("\n".join(describe(rule) for rule in all_rules() if rule.id in chosen), nl=False)
