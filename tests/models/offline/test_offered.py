"""What a request offers: listings of both styles, tools, and the input that they want."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from conftest import PROJECT
from models.offline.kit import BASH, DOCUMENTED_LISTING, HEADER, LISTING, request, result, user
from models.offline.kit import text as block

from skilleval.models.offline.offered import (
    Listed,
    listing_of,
    reminders,
    tool_input,
    tools_of,
    without_reminders,
)
from skilleval.prompt.catalog import Style, build_listing
from skilleval.skill import Skill, discover

WRAPPED = f"<system-reminder>\n{LISTING}\n</system-reminder>"
PLACES = [
    request("hi", system=LISTING),
    request("hi", system=[block("Identity"), block(f"# Skills\n\n{LISTING}\n\n# More\n\n- x")]),
    request(WRAPPED + "hi"),
    request(user(block(WRAPPED), block("hi"))),
    request("hi", {"role": "system", "content": f"# Environment\n\n{LISTING}\n\nToday"}),
    request("hi", {"role": "system", "content": [block(LISTING)]}),
    request(user(result(f"done\n\n{WRAPPED}"))),
]


@pytest.mark.parametrize("body", PLACES)
def test_places(body: dict[str, Any]) -> None:
    assert [skill.name for skill in listing_of(body)] == ["csv-tidy", "log-triage"]


def test_a_user_who_quotes_a_listing_offers_nothing() -> None:
    assert listing_of(request(LISTING)) == ()
    assert listing_of(request("hi", {"role": "assistant", "content": LISTING})) == ()


@pytest.mark.parametrize(
    ("line", "name", "text"),
    [
        ("- csv-tidy: Cleans CSV: well", "csv-tidy", "Cleans CSV: well"),
        ("- folder (other-name): Text", "folder", "Text"),
        ("- plugin:skill: Text", "plugin:skill", "Text"),
        ("- plugin:folder (plugin:skill): Text", "plugin:folder", "Text"),
        ("- bare", "bare", ""),
        ("- odd name: Text", "odd name", "Text"),
        ("- html: Makes &lt;b&gt; bold", "html", "Makes <b> bold"),
        ("- ", "", ""),
    ],
)
def test_lines(line: str, name: str, text: str) -> None:
    assert listing_of(request("hi", system=f"{HEADER}\n\n{line}")) == (Listed(name, text, ""),)


def test_documented_lines_name_the_folder() -> None:
    first, second = listing_of(request("hi", system=DOCUMENTED_LISTING))
    assert (first.name, first.folder) == ("csv-tidy", "/s/csv-tidy/")
    assert second.text.startswith("Groups the errors") and "(" not in second.text


@pytest.mark.parametrize("style", list(Style))
def test_every_listing_that_we_build_is_read(style: Style) -> None:
    skills = [Skill(found) for found in discover([str(PROJECT / "skills")]).skills]
    found = listing_of(request("hi", system=build_listing(skills, style).text))
    assert [skill.name for skill in found] == sorted(skill.name for skill in skills)
    for skill, listed in zip(sorted(skills, key=lambda s: s.name), found, strict=True):
        assert listed.text == skill.description
        assert not listed.folder or Path(listed.folder) == Path(skill.folder)


def test_the_later_of_two_listings_counts() -> None:
    body = request("hi", {"role": "system", "content": f"{HEADER}\n- a: new\n- b: x"})
    body["system"] = f"{HEADER}\n- a: old"
    assert [(s.name, s.text) for s in listing_of(body)] == [("a", "new"), ("b", "x")]


def test_reminders() -> None:
    text = "a<system-reminder>b</system-reminder>c<system-reminder>d"
    assert without_reminders(text) == "ac"
    assert list(reminders(text)) == ["b", "d"]


@pytest.mark.parametrize(
    "text",
    [
        "<system-reminder>" * 60_000,
        f"{HEADER}\n" * 20_000,
        f"{HEADER}\n" + f"- {HEADER}\n" * 20_000,
    ],
)
def test_hostile_texts_take_linear_time(text: str) -> None:
    began = time.perf_counter()
    listing_of(request(text, system=text))
    assert time.perf_counter() - began < 2


def test_tools_by_name() -> None:
    deferred = {"name": "Later", "defer_loading": True}
    assert set(tools_of(request("hi", tools=[BASH, deferred, {"type": "x"}]))) == {"bash"}
    assert tools_of(request("hi", tools=[BASH], tool_choice={"type": "none"})) == {}


def test_input_is_what_the_schema_wants() -> None:
    properties = {
        "command": {"type": "string"}, "note": {"type": "string"}, "count": {"type": "integer"},
        "from": {"type": "integer", "minimum": 0}, "mode": {"enum": ["fast", "slow"]},
        "kind": {"const": 7}, "list": {"type": "array"}, "map": {"type": "object"},
        "yes": {"type": "boolean"}, "any": {}, "either": {"type": ["null", "string"]},
    }  # fmt: skip
    schema = {"properties": properties, "required": [*properties, "ghost"]}
    found = tool_input({"input_schema": schema}, {"command": "ls"}, {"note": "n", "odd": "x"})
    assert found == {
        "command": "ls", "note": "n", "count": 1, "from": 0, "mode": "fast", "kind": 7,
        "list": [], "map": {}, "yes": False, "any": "any", "either": None, "ghost": "ghost",
    }  # fmt: skip


@pytest.mark.parametrize("schema", [None, 3, {"properties": 3, "required": "x"}, {"required": [3]}])
def test_odd_schemas(schema: object) -> None:
    assert tool_input({"input_schema": schema}, {"command": "ls"}, {"note": "n"}) == {
        "command": "ls"
    }
