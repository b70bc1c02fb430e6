"""A catalog as a model sees it, and what became of each skill in it."""

from __future__ import annotations

from conftest import Write

from skilleval.prompt.catalog import Listing, State, Style, build_listing
from skilleval.skill import Skill, discover

USE = "Use when asked."


def catalog(write: Write, descriptions: dict[str, str], **extra: str) -> list[Skill]:
    write(
        {
            f"s/{name}/SKILL.md": f"---\nname: {name}\ndescription: {text}\n{extra.get(name, '')}"
            "---\n\nBody\n"
            for name, text in descriptions.items()
        }
    )
    return [Skill(found) for found in discover(["s"]).skills]


def states(listing: Listing) -> dict[str, State]:
    return {entry.name: entry.state for entry in listing.entries}


def test_skills_are_listed_by_name_below_a_header(write: Write) -> None:
    listing = build_listing(catalog(write, {"b": "Does b.", "a": "Does a."}))
    assert listing.text.splitlines() == [
        "The following skills are available for use with the Skill tool:",
        "",
        "- a: Does a.",
        "- b: Does b.",
    ]


def test_every_state_is_told_with_its_reason(write: Write) -> None:
    texts = {"a": "x" * 1_600, "b": "y" * 900, "c": "Does c.", "d": "Does d."}
    skills = catalog(write, texts, d="disable-model-invocation: true\n")
    listing = build_listing(skills, budget=1_600)
    assert states(listing) == {
        "a": State.CUT,
        "b": State.NAME_ONLY,
        "c": State.WHOLE,
        "d": State.HIDDEN,
    }
    by_name = {entry.name: entry for entry in listing.entries}
    assert by_name["a"].lost == 65 and by_name["a"].line.endswith("x…")
    assert by_name["b"].lost == 900 and by_name["b"].line == "- b"
    assert by_name["d"].line == "" and "disable-model-invocation" in by_name["d"].why


def test_what_is_used_counts_lines_and_the_breaks_between(write: Write) -> None:
    listing = build_listing(catalog(write, {"a": "1234", "b": "5678"}), budget=100)
    assert listing.characters == len("- a: 1234\n- b: 5678")
    exact = build_listing(catalog(write, {"c": "x"}), budget=listing.characters + 7)
    assert set(states(exact).values()) == {State.WHOLE}


def test_nothing_to_list_is_no_text(write: Write) -> None:
    skills = catalog(write, {"a": "x"}, a="disable-model-invocation: yes\n")
    listing = build_listing(skills)
    assert listing.text == "" and listing.characters == 0


def test_the_documented_style_names_the_folder(write: Write) -> None:
    skills = catalog(write, {"a": "Does   a."})
    listing = build_listing(skills, Style.DOCUMENTED)
    assert listing.lines == [f"- a - Does a. ({skills[0].folder}/)"]
    assert "SKILL.md" in listing.text.splitlines()[0]
