"""The tiers: found by name, priced as measured, and honest about what is not known."""

from __future__ import annotations

import re
from typing import Any

import pytest
from conftest import SHARED
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from models.fake_api import REQUEST
from models.valid_requests import problems

from skilleval.models.messages import Usage
from skilleval.models.tiers import ALIASES, TIERS, Prices, Tier, find_tier, nearest
from skilleval.prompt.listing import budget

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

HAIKU = TIERS[0]
tiers = pytest.mark.parametrize("tier", TIERS, ids=lambda tier: tier.id)


def test_ids_are_unique() -> None:
    assert len({tier.id for tier in TIERS}) == len(TIERS)


def test_a_tier_is_found_with_and_without_its_family_name() -> None:
    assert find_tier("haiku-4-5") is find_tier("claude-haiku-4-5")


@tiers
def test_a_tier_is_found_by_its_id_and_by_a_dated_one(tier: Tier) -> None:
    assert find_tier(tier.id) is tier
    assert find_tier(f"{tier.id}-20260901") == tier._replace(id=f"{tier.id}-20260901")


def test_a_family_is_its_current_model() -> None:
    for alias, name in ALIASES.items():
        assert find_tier(alias) is find_tier(name)
        assert find_tier(name)


@pytest.mark.parametrize(
    "name", ["", "claude", "claude-", "claude-haiku-4-6", "Haiku", "gpt", "claude-haiku-5-5-2026"]
)
def test_an_unknown_model_is_none(name: str) -> None:
    assert find_tier(name) is None


def test_the_nearest_model() -> None:
    assert nearest("claude-haiku-4-6") == "claude-haiku-4-5"
    assert nearest("zzz") == ""


@tiers
def test_the_listing_gets_what_was_measured(tier: Tier) -> None:
    size = budget(tier.context_window, tier.characters_per_token)
    assert size == (8_000 if tier.context_window == 200_000 else 30_000)


def test_prices_and_limits_are_those_that_were_measured() -> None:
    path = SHARED / "claude-code" / "models.md"
    if not path.is_file():
        pytest.skip("the measurements are not here")
    measured: dict[str, tuple[Any, ...]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        names, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        if not names.startswith("claude-"):
            continue
        long = re.search(r"\((\d[\d.]*) for requests over 200k\)", cells[0])
        numbers = [float(cell.split("(")[0].replace(",", "")) for cell in cells]
        for name in names.split(", "):
            measured[name] = (*numbers, float(long[1]) if long else None)
    ours = {
        tier.id: (
            *(tier.prices or ())[:4],
            tier.context_window,
            tier.max_output,
            tier.prices and tier.prices.long_input,
        )
        for tier in TIERS
    }
    assert ours == measured


# Costs


def test_a_cost_is_the_sum_of_its_parts() -> None:
    prices = Prices(1, 10, 0.1, 2)
    assert prices.cost(Usage(1_000, 100, 10_000, 500, 50)) == pytest.approx(
        (1_000 + 1_000 + 1_000 + 1_000) / 1e6
    )
    assert prices.cost(Usage()) == 0


def test_an_unknown_price_is_an_unknown_cost() -> None:
    assert Tier("x", 1, 1, None).cost(Usage(1, 1)) is None


@pytest.mark.parametrize(
    ("usage", "input_price"),
    [
        (Usage(200_000, 10), 0.10),
        (Usage(200_001, 10), 0.50),
        (Usage(1, 10, 199_999, 0), 0.10),
        (Usage(1, 10, 200_000, 0), 0.50),
        (Usage(1, 10, 0, 200_000), 0.50),
        (Usage(100_000, 900_000), 0.10),
    ],
)
def test_long_requests_cost_more_where_they_do(usage: Usage, input_price: float) -> None:
    rest = usage.output * 0.50 + usage.cache_read * 0.01 + usage.cache_write * 0.125
    assert HAIKU.cost(usage) == pytest.approx((usage.input * input_price + rest) / 1e6)


@tiers
def test_no_other_model_costs_more_for_long_requests(tier: Tier) -> None:
    assert tier.prices
    assert (tier.prices.long_input is not None) == (tier.id == "claude-haiku-5-5")
    if tier is not HAIKU:
        assert tier.cost(Usage(900_000)) == pytest.approx(0.9 * tier.prices.input)


counts = st.integers(0, 10**9)


@patient
@given(st.builds(Usage, counts, counts, counts, counts))
def test_costs_are_never_negative_and_grow(usage: Usage) -> None:
    cost, more = HAIKU.cost(usage), HAIKU.cost(usage.plus(Usage(1, 1, 1, 1)))
    assert cost is not None and more is not None
    assert 0 <= cost < more


# What a request starts from


@tiers
@pytest.mark.parametrize("most", [None, 1, 1_024, 1_025, 2_000, 10**9])
def test_a_request_starts_valid_and_within_the_limits(tier: Tier, most: int | None) -> None:
    request = {**REQUEST, **tier.parameters(most)}
    assert problems(request) == []
    assert request["max_tokens"] == min(most or tier.max_output, tier.max_output)
    budget_ = request.get("thinking", {}).get("budget_tokens")
    assert budget_ is None or 1_024 <= budget_ < request["max_tokens"]
    assert ("output_config" in request) == (tier.effort is not None)
