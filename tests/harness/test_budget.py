"""A limit in dollars, with models that have a price, over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from harness.kit import World, call, calls, of, say
from models.offline.served import Served

from skilleval.errors import InputError
from skilleval.harness.permissions import Mode
from skilleval.harness.session import SessionLimits
from skilleval.models.settings import ModelSettings

USAGE = {
    "input_tokens": 1_000,
    "output_tokens": 100,
    "cache_read_input_tokens": 0,
    "cache_creation_input_tokens": 0,
}
"""At the prices below: 0.002 dollars an answer."""
LOOK = {**call("Bash", command="echo hi"), "usage": USAGE, "repeat": "forever"}


class Priced:
    """A script behind an address, and what a model costs that answers from there."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.running: list[Served] = []

    def known(self, script: object) -> dict[str, ModelSettings]:
        path = self.world.folder / "served.json"
        path.write_text(json.dumps(script))
        served = Served(f"offline/script:{path}", "--port", "0")
        self.running.append(served)
        priced = ModelSettings(base_url=served.url, key_env="", input=1.0, output=10.0)
        return {"team": priced}


@pytest.fixture
def priced(world: World) -> Iterator[Priced]:
    """Served until the test ends."""
    it = Priced(world)
    yield it
    for served in it.running:
        served.stop()


def test_the_budget_ends_a_session(world: World, priced: Priced) -> None:
    known = priced.known({"turns": [LOOK]})
    events = world.run([], model="team", known=known, limits=SessionLimits(dollars=0.009))
    costs = [event["cost"] for event in of(events, "reply")]
    assert costs == pytest.approx([0.002] * 5)  # four leave something, the fifth is too much
    end = of(events, "end")[0]
    assert (end["outcome"], end["reason"]) == ("budget", "the budget of $0.009 is spent")
    assert end["cost"] == pytest.approx(0.01)
    assert world.purse.spent == pytest.approx(0.01)
    assert len(of(events, "result")) == 5  # what was asked for before is still carried out


def test_subagents_spend_of_the_same_budget(world: World, priced: Priced) -> None:
    task = ("Agent", {"description": "look", "prompt": "Look."})
    known = priced.known(
        {
            "turns": [{**calls(task), "usage": USAGE}, say("done", usage=USAGE)],
            "conversations": [{"when": "Objective:", "turns": [LOOK]}],
        }
    )
    events = world.run([], model="team", known=known, limits=SessionLimits(dollars=0.007))
    assert world.last.ended and world.last.ended.outcome == "budget"
    assert len(of(events, "reply")) == 1
    result = of(events, "result")[0]
    assert result["is_error"] and "did not finish (budget" in result["content"]
    assert world.purse.spent == pytest.approx(0.008)


def test_the_classifier_spends_of_it_too(world: World, priced: Priced) -> None:
    known = priced.known(
        {
            "turns": [LOOK],
            "conversations": [
                {"when": "What happened before", "turns": [say("SAFE", usage=USAGE)]}
            ],
        }
    )
    limits = SessionLimits(dollars=0.007)
    events = world.run([], model="team", known=known, limits=limits, mode=Mode.AUTO)
    assert world.last.ended and world.last.ended.outcome == "budget"
    assert len(of(events, "reply")) == 2
    assert world.purse.spent == pytest.approx(0.008)


def test_a_resumed_session_has_spent_what_it_spent(world: World, priced: Priced) -> None:
    known = priced.known({"turns": [LOOK]})
    limits = SessionLimits(dollars=0.009, turns=2)
    world.run([], model="team", known=known, limits=limits)
    events = world.run([], model="team", known=known, limits=limits, resuming=True)
    events = world.run([], model="team", known=known, limits=limits, resuming=True)
    assert [event["outcome"] for event in of(events, "end")] == ["max turns"] * 2 + ["budget"]
    assert len(of(events, "reply")) == 5


def test_a_limit_needs_a_price(world: World) -> None:
    known = {"team": ModelSettings(base_url="http://127.0.0.1:9", key_env="")}
    with pytest.raises(InputError, match="the price of team is not known"):
        world.run([], model="team", known=known, limits=SessionLimits(dollars=1))
