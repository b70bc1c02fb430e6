"""A catalog as a model sees it, and what became of each skill in it."""

from __future__ import annotations

import json

from conftest import Write

from skilleval.prompt.catalog import Listing, State, Style, _collation, build_listing
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


def named(write: Write, folders: dict[str, str], plugin: str = "") -> dict[str, str | bytes]:
    """Skill files by folder, each with the name in its frontmatter."""
    where = f"{plugin}/skills" if plugin else "own"
    files: dict[str, str | bytes] = {
        f"{where}/{folder}/SKILL.md": f"---\nname: {name}\ndescription: d\n---\n"
        for folder, name in folders.items()
    }
    if plugin:
        files[f"{plugin}/.claude-plugin/plugin.json"] = json.dumps({"name": plugin.rstrip("0")})
    return files


def test_plugins_follow_in_the_order_in_which_they_are_given(write: Write) -> None:
    write(named(write, {"z": "z"}) | named(write, {"b": "b", "A": "A"}, "kit"))
    write(named(write, {"c": "c"}, "art"))
    skills = [Skill(found) for found in discover(["kit", "art", "own"]).skills]
    names = [entry.name for entry in build_listing(skills).entries]
    assert names == ["z", "kit:A", "kit:b", "art:c"]


def test_of_two_skills_of_one_name_the_first_is_listed(write: Write) -> None:
    write(named(write, {"a": "a"}, "kit") | named(write, {"a": "a", "b": "b"}, "kit0"))
    write(named(write, {"a": "a"}))
    skills = [Skill(found) for found in discover(["kit", "kit0", "own"]).skills]
    listing = build_listing(skills)
    assert listing.lines == ["- a: d", "- kit:a: d", "- kit:b: d"]
    [hidden] = [entry for entry in listing.entries if entry.state is State.HIDDEN]
    assert hidden.path.endswith("kit0/skills/a") and hidden.why.startswith("a skill of the same")


def test_no_two_skills_show_one_other_name(write: Write) -> None:
    folders = {"a": "same", "b": "same", "c": "d", "d": "c", "e": "f"}
    write(named(write, folders) | named(write, folders, "kit"))
    skills = [Skill(found) for found in discover(["own", "kit"]).skills]
    assert [line.removesuffix(": d") for line in build_listing(skills).lines] == [
        "- a (same)", "- b", "- c", "- d", "- e (f)",
        "- kit:a (kit:same)", "- kit:b", "- kit:c", "- kit:d", "- kit:e (kit:f)",
    ]  # fmt: skip


def test_a_hidden_skill_keeps_its_names_and_a_waiting_one_does_not(write: Write) -> None:
    files = named(write, {"a": "hidden", "b": "alias", "c": "waits"})
    hidden = "name: alias\ndisable-model-invocation: true"
    files["own/hidden/SKILL.md"] = f"---\n{hidden}\n---\n"
    files["own/waits/SKILL.md"] = "---\nname: waits\npaths: src/**\n---\n"
    write(files)
    skills = [Skill(found) for found in discover(["own"]).skills]
    lines = build_listing(skills).lines
    assert lines == ["- a: d", "- b (alias): d", "- c (waits): d"]


def test_names_are_in_the_order_that_people_expect() -> None:
    measured = [
        "_u", "01", "ä", "aa", "aA", "Aa", "AA", "éa", "n1x", "zz", "zz b", "zz_a", "zz-10",
        "zz-9", "ZZ-B", "zz.c", "zz+c", "zz~c", "zzb", "技",
    ]  # fmt: skip
    assert sorted(reversed(measured), key=_collation) == measured
