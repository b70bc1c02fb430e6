"""The tiers: found by name, and honest about what is not known."""

from __future__ import annotations

import pytest

from skilleval.errors import InputError
from skilleval.models.tiers import TIERS, find_tier
from skilleval.prompt.listing import budget


def test_ids_are_unique() -> None:
    assert len({tier.id for tier in TIERS}) == len(TIERS)


def test_a_tier_is_found_with_and_without_its_family_name() -> None:
    assert find_tier("haiku-4-5") is find_tier("claude-haiku-4-5")


def test_an_unknown_model_is_named_with_the_nearest_one() -> None:
    with pytest.raises(InputError, match="did you mean claude-haiku-4-5") as error:
        find_tier("claude-haiku-4-6")
    assert all(tier.id in error.value.remedy for tier in TIERS)


@pytest.mark.parametrize("tier", TIERS, ids=lambda tier: tier.id)
def test_the_listing_gets_what_was_measured(tier: object) -> None:
    found = find_tier(getattr(tier, "id", ""))
    size = budget(found.context_window, found.characters_per_token)
    assert size == (8_000 if found.context_window == 200_000 else 30_000)
