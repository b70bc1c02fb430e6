"""``skilleval prompt``"""

from __future__ import annotations

import json

import click

from skilleval.lint.wording import plural
from skilleval.models.tiers import Tier, find_tier
from skilleval.prompt.catalog import Listing, State, Style, build_listing
from skilleval.prompt.listing import budget as listing_budget
from skilleval.skill import Skill, discover
from skilleval.terminal import escape, write_out

__all__ = ["command"]


@click.command("prompt")
@click.argument("skills", nargs=-1, metavar="[SKILLS]...")
@click.option("--model", default="claude-sonnet-5-5", show_default=True, help="Sizes the listing.")
@click.option(
    "--style",
    type=click.Choice([style.value for style in Style]),
    default=Style.CLAUDE_CODE.value,
    show_default=True,
    help="How skills are listed.",
)
@click.option("--budget", type=click.IntRange(min=0), help="Characters for the listing.")
@click.option(
    "--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True
)
def command(
    skills: tuple[str, ...], model: str, style: str, budget: int | None, format_: str
) -> None:
    """Show what a model is told about a catalog of skills.

    SKILLS are named as for lint; all of them count as visible together. The listing goes to
    standard output, to the character; what became of each skill goes to standard error.
    """
    tier = find_tier(model)
    chosen = Style(style)
    if budget is not None and chosen is not Style.CLAUDE_CODE:
        raise click.UsageError("--budget goes with --style claude-code")
    if budget is None and chosen is Style.CLAUDE_CODE:
        budget = listing_budget(tier.context_window, tier.characters_per_token)
    catalog = [Skill(found) for found in discover(skills or ["."]).skills]
    listing = build_listing(catalog, chosen, budget)
    if format_ == "json":
        write_out(_as_json(listing, tier))
        return
    write_out(listing.text + "\n" if listing.text else "")
    _account(listing, tier)


def _as_json(listing: Listing, tier: Tier) -> str:
    data = {
        "version": 1,
        "style": listing.style,
        "model": tier.id,
        "budget": listing.budget,
        "characters": listing.characters,
        "tokens": _tokens(listing, tier),
        "text": listing.text,
        "skills": [entry._asdict() for entry in listing.entries],
    }
    return json.dumps(data) + "\n"


def _tokens(listing: Listing, tier: Tier) -> int:
    """About how many tokens the lines are, at the client's own rate."""
    return -(-listing.characters // tier.characters_per_token)


def _account(listing: Listing, tier: Tier) -> None:
    """Say on standard error what became of each skill that is not listed whole."""
    counts = ", ".join(
        f"{count:,} {state}"
        for state in State
        if (count := sum(entry.state is state for entry in listing.entries))
    )
    used = f"{listing.characters:,}"
    if listing.budget is not None:
        used += f" of {listing.budget:,}"
    click.echo(
        f"{plural(len(listing.entries), 'skill')} on {tier.id}: {counts}; {used} characters, "
        f"about {_tokens(listing, tier):,} tokens",
        err=True,
    )
    for entry in listing.entries:
        if entry.state is not State.WHOLE:
            lost = f", {entry.lost:,} characters not shown" if entry.lost else ""
            click.echo(escape(f"{entry.state:>10}  {entry.name}: {entry.why}{lost}"), err=True)
