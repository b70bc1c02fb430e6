"""``skilleval prompt``"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from skilleval.lint.wording import plural
from skilleval.models.settings import find_model, read_models
from skilleval.models.tiers import Tier, nearest
from skilleval.prompt.catalog import Listing, State, Style, build_listing
from skilleval.prompt.listing import budget as listing_budget
from skilleval.skill import Skill, discover
from skilleval.terminal import escape, write_out

if TYPE_CHECKING:
    from skilleval.prompt.system import Prompt

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
@click.option("--full", is_flag=True, help="The whole system prompt, not the listing alone.")
@click.option(
    "--workspace",
    type=click.Path(exists=True, file_okay=False),
    help="The working directory that --full tells of.  [default: this one]",
)
@click.option(
    "--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True
)
def command(
    skills: tuple[str, ...],
    model: str,
    style: str,
    budget: int | None,
    full: bool,
    workspace: str | None,
    format_: str,
) -> None:
    """Show what a model is told about a catalog of skills.

    SKILLS are named as for lint; all of them count as visible together. The listing, or the
    whole system prompt, goes to standard output, to the character; what became of each skill
    goes to standard error.
    """
    found = find_model(model, read_models())
    tier, chosen = found.tier, Style(style)
    if workspace and not full:
        raise click.UsageError("--workspace goes with --full")
    if not found.known:
        close = nearest(model)
        hint = f"; did you mean {close}?" if close else ""
        click.echo(
            f"unknown model {model}: a window of {tier.context_window:,} tokens is assumed{hint}",
            err=True,
        )
    if budget is not None and chosen is not Style.CLAUDE_CODE:
        raise click.UsageError("--budget goes with --style claude-code")
    if budget is None and chosen is Style.CLAUDE_CODE:
        budget = listing_budget(tier.context_window, tier.characters_per_token)
    catalog = [Skill(found) for found in discover(skills or ["."]).skills]
    listing = build_listing(catalog, chosen, budget)
    prompt = None
    if full:
        from skilleval.harness.agents import read_agents
        from skilleval.harness.session import SessionLimits
        from skilleval.harness.tools.registry import standard_tools
        from skilleval.prompt.system import build_prompt
        from skilleval.prompt.workspace import read_workspace

        kinds = {agent.name: agent.description for agent in read_agents(workspace or ".")}
        tools = standard_tools(skills=chosen is Style.CLAUDE_CODE, agents=kinds)
        prompt = build_prompt(
            listing,
            style=chosen,
            tools=[tool.definition for tool in tools],
            workspace=read_workspace(workspace or "."),
            limits=SessionLimits().told(),
        )
    if format_ == "json":
        write_out(_as_json(listing, tier, prompt))
        return
    text = prompt.text if prompt else listing.text
    write_out(text + "\n" if text else "")
    _account(listing, tier)
    if prompt:
        _sections(prompt)


def _as_json(listing: Listing, tier: Tier, prompt: Prompt | None) -> str:
    data: dict[str, object] = {
        "version": 1,
        "style": listing.style,
        "model": tier.id,
        "budget": listing.budget,
        "characters": listing.characters,
        "tokens": _tokens(listing, tier),
        "text": listing.text,
        "skills": [entry._asdict() for entry in listing.entries],
    }
    if prompt:
        from skilleval.prompt.system import Share

        data["system"] = prompt.system
        data["tools"] = prompt.tools
        data["prefix_sha256"] = {share.name.lower(): prompt.prefix_hash(share) for share in Share}
    return json.dumps(data) + "\n"


def _sections(prompt: Prompt) -> None:
    """Say on standard error what the prompt is made of, and where the cache may part it."""
    shares = {1: "model and tools", 2: "catalog", 3: "trial"}
    for section in prompt.sections:
        size = f"{len(section.text):,} characters, about {-(-len(section.text) // 4):,} tokens"
        stays = f"the same for each {shares[section.share]}"
        click.echo(f"{section.name:>17}  {size}, {stays}", err=True)
    click.echo(f"{'prefix':>17}  sha256 {prompt.prefix_hash()}", err=True)


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
