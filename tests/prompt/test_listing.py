"""The listing is, to the character, what Claude Code shows to a model."""

from __future__ import annotations

import json
import unicodedata

import pytest
from conftest import GOOD, Write
from hypothesis import given, settings
from hypothesis import strategies as st

from skilleval.prompt.listing import (
    _ODD,
    Line,
    budget,
    is_hidden,
    line_of,
    listing_text,
    without_description,
)
from skilleval.skill import Skill, discover


def skill(write: Write, text: str, folder: str = "pdf-tools") -> Skill:
    write({f"{folder}/SKILL.md": text})
    return Skill(discover([folder]).skills[0])


def front(*lines: str, body: str = "Body") -> str:
    return "\n".join(("---", *lines, "---", "", body, ""))


def line(write: Write, *lines: str) -> str:
    shown = line_of(skill(write, front(*lines)))
    assert shown is not None
    return shown.whole


def test_name_and_description_make_a_line(write: Write) -> None:
    shown = line_of(skill(write, GOOD))
    assert shown is not None
    assert shown.whole == (
        "- pdf-tools: Extracts text and tables from PDF files. Use when the user asks about a PDF."
    )
    assert shown.bare == "- pdf-tools"


def test_when_to_use_follows_behind_a_dash(write: Write) -> None:
    shown = line(write, "name: pdf-tools", "description: Reads PDFs.", "when_to_use: For a PDF.")
    assert shown == "- pdf-tools: Reads PDFs. - For a PDF."


MEASURED = {
    "a\nb": "a b",
    "a\n\nb": "a b",
    "a  b": "a  b",
    "a\t\tb": "a b",
    "a \n b": "a   b",
    "a\r\nb": "a b",
    "a\u2028b": "a b",
    "a\x0bb": "a b",
    "a\u200b\u200bb": "a b",
    "a\u202eb": "a b",
    "a\ue000b": "a b",
    "a\ufe0fb": "a b",
    "a\u2066b\u2069": "a b ",
    "a\u0301": "a\u0301",
    "a\u00a0\u3000b": "a\u00a0\u3000b",
    "a\x1b[31mb": "ab",
    " a ": "a",
    "a&amp;b<c": "a&amp;b&lt;c",
}
"""Descriptions, and how the client (2.1.332) listed them."""


@pytest.mark.parametrize("text", MEASURED, ids=ascii)
def test_odd_characters_are_listed_as_measured(write: Write, text: str) -> None:
    assert line(write, f"description: {json.dumps(text)}") == f"- pdf-tools: {MEASURED[text]}"


VALUES = {
    "1.0": "1", "0x10": "16", "0o17": "15", "012": "12", ".5": "0.5", "+2": "2", "1e3": "1000",
    "1_000": "1_000", "1.10": "1.1", "-0": "0", "1.": "1", ".inf": "Infinity", "1e400": "Infinity",
    "12345678901234567890": "12345678901234567000", "True": "true", "FALSE": "false",
    "no": "no", "on": "on", "2024-01-01": "2024-01-01", "~": "Body", "Null": "Body",
}  # fmt: skip


@pytest.mark.parametrize("value", VALUES)
def test_values_that_are_no_text_are_listed_as_measured(write: Write, value: str) -> None:
    assert line(write, f"description: {value}") == f"- pdf-tools: {VALUES[value]}"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Other", " (Other)"),
        ("Ünï", " (Ünï)"),
        ("x:y", " (x:y)"),
        ("a.x", " (a.x)"),
        ("other name", ""),
        ("a<b", ""),
        ("x/y", ""),
        ("pdf-tools ", ""),
        ("  Other ", ""),
    ],
)
def test_only_a_name_of_one_word_is_listed(write: Write, name: str, shown: str) -> None:
    assert line(write, f"name: {json.dumps(name)}", "description: d") == f"- pdf-tools{shown}: d"


@pytest.mark.parametrize(
    ("paths", "hidden"), [("src/**", True), ("[a]", True), ("[]", False), ("", False)]
)
def test_a_skill_for_some_paths_waits_for_them(write: Write, paths: str, hidden: bool) -> None:
    text = front("description: x", f"paths: {paths}")
    assert (line_of(skill(write, text)) is None) is hidden


def test_late_frontmatter_is_no_frontmatter(write: Write) -> None:
    shown = line_of(skill(write, "\n" + GOOD))
    assert shown is not None and shown.whole == "- pdf-tools: ---"


def test_angle_brackets_are_escaped_and_nothing_else(write: Write) -> None:
    shown = line(write, "description: Reads <pdf> & 'more' \"text\" -> out")
    assert shown == "- pdf-tools: Reads &lt;pdf&gt; & 'more' \"text\" -&gt; out"


def test_a_name_that_differs_stands_behind_the_folder(write: Write) -> None:
    assert line(write, "name: pdf-kit", "description: x") == "- pdf-tools (pdf-kit): x"
    assert line(write, "name: 2024", "description: x") == "- pdf-tools (2024): x"


@pytest.mark.parametrize("name", ["name: pdf-tools", "name:", "name: ''", "license: MIT"])
def test_a_name_that_does_not_differ_is_not_repeated(write: Write, name: str) -> None:
    assert line(write, name, "description: x") == "- pdf-tools: x"


def test_a_plugin_stands_before_its_skills(write: Write) -> None:
    write(
        {
            "kit/.claude-plugin/plugin.json": '{"name": "office"}',
            "kit/skills/pdf-tools/SKILL.md": front("name: pdf-tools", "description: x"),
        }
    )
    shown = line_of(Skill(discover(["kit"]).skills[0]))
    assert shown is not None and shown.whole == "- office:pdf-tools: x"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("pdf-kit", "office:pdf-tools (office:pdf-kit)"),
        ("office:pdf-kit", "office:pdf-tools (office:pdf-kit)"),
        ("other:pdf-kit", "office:pdf-tools (office:other:pdf-kit)"),
        ("office:pdf-tools", "office:pdf-tools"),
        ("PDF tools", "office:pdf-tools"),
        ("01", "office:pdf-tools (office:1)"),
    ],
)
def test_a_plugin_stands_before_the_other_name_too(write: Write, name: str, shown: str) -> None:
    write(
        {
            "kit/.claude-plugin/plugin.json": '{"name": "office"}',
            "kit/skills/pdf-tools/SKILL.md": front(f"name: {name}", "description: x"),
        }
    )
    found = line_of(Skill(discover(["kit"]).skills[0]))
    assert found is not None and found.whole == f"- {shown}: x"


def test_a_skill_that_is_a_plugin_goes_by_its_own_name(write: Write) -> None:
    write(
        {
            "kit/.claude-plugin/plugin.json": '{"name": "office"}',
            "kit/SKILL.md": front("name: pdf-tools", "description: x"),
        }
    )
    found = line_of(Skill(discover(["kit"]).skills[0]))
    assert found is not None and found.whole == "- office:pdf-tools: x"


def test_a_name_that_is_taken_is_not_shown_as_an_other_one(write: Write) -> None:
    found = line_of(skill(write, front("name: pdf-kit", "description: x")), {"pdf-kit"})
    assert found is not None and found.whole == "- pdf-tools: x"


@pytest.mark.parametrize("value", ["true", "yes", "on", "1", "True", "YES", "'true'", '"on"'])
def test_a_skill_that_only_people_may_call_is_hidden(write: Write, value: str) -> None:
    hidden = skill(write, front("description: x", f"disable-model-invocation: {value}"))
    assert is_hidden(hidden) and line_of(hidden) is None


@pytest.mark.parametrize(
    "entry",
    [
        "disable-model-invocation: false",
        "disable-model-invocation: no",
        "disable-model-invocation: 0",
        "disable-model-invocation:",
        "disable-model-invocation: [true]",
        "user-invocable: false",
        "allowed-tools: Read",
    ],
)
def test_a_skill_that_is_listed_all_the_same(write: Write, entry: str) -> None:
    shown = skill(write, front("description: x", entry))
    assert not is_hidden(shown)
    assert line(write, "description: x", entry) == "- pdf-tools: x"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Title\n\nFirst paragraph.\n", "Title"),
        ("\r\n\r\n###   Title ##\r\n", "Title ##"),
        ("#hash\n", "#hash"),
        ("First line\nof two.\n", "First line"),
        ("  Text <b>.\n", "Text &lt;b&gt;."),
        (front("name: pdf-tools", body="# T\n\nText."), "T"),
        (front('description: ""', body="Text."), "Text."),
        (front("description:", body="Text."), "Text."),
        (front("description: [a]", body="Text."), "Text."),
        (front("description: a: b", body="Text."), "Text."),
        ("x" * 100, "x" * 100),
        ("x" * 101, "x" * 97 + "..."),
        ("# " + "x" * 101, "x" * 97 + "..."),
        ("", "Skill"),
    ],
)
def test_without_a_description_the_first_line_is_listed(
    write: Write, text: str, expected: str
) -> None:
    shown = line_of(skill(write, text))
    assert shown is not None and shown.text == expected
    assert shown.whole == f"- pdf-tools: {expected}"


def test_when_to_use_follows_the_first_line_too(write: Write) -> None:
    assert line(write, "when_to_use: For a PDF.") == "- pdf-tools: Body - For a PDF."


def test_a_line_without_a_text_is_a_bare_name() -> None:
    assert Line("pdf-tools", "").whole == Line("pdf-tools", "").bare == "- pdf-tools"


@pytest.mark.parametrize(("length", "cut"), [(1_535, False), (1_536, False), (1_537, True)])
@pytest.mark.parametrize("character", ["x", "技"])
def test_a_text_is_cut_at_1536_characters(
    write: Write, character: str, length: int, cut: bool
) -> None:
    text = line(write, f"description: {character * length}").removeprefix("- pdf-tools: ")
    assert text == (character * 1_535 + "…" if cut else character * length)


def test_the_cut_counts_utf16_units_and_may_halve_a_character(write: Write) -> None:
    text = line(write, f"description: {'😀' * 800}").removeprefix("- pdf-tools: ")
    assert text == "😀" * 767 + "\ufffd…"


def test_description_and_when_to_use_are_cut_together(write: Write) -> None:
    text = front(f"description: {'d' * 1_000}", f"when_to_use: {'w' * 1_000}")
    shown = line_of(skill(write, text))
    assert shown is not None
    assert shown.text == "d" * 1_000 + " - " + "w" * 532 + "…"
    assert len(listing_text(skill(write, text))) == 2_003


def test_escapes_count_towards_the_cut(write: Write) -> None:
    shown = line(write, f"description: {'x' * 1530} <b>abcdef")
    assert shown == f"- pdf-tools: {'x' * 1530} &lt;…"


@pytest.mark.parametrize(
    ("window", "characters_per_token", "characters"),
    [(200_000, 4, 8_000), (1_000_000, 4, 40_000), (1_000_000, 3, 30_000)],
)
def test_the_budget_is_a_hundredth_of_the_window(
    window: int, characters_per_token: int, characters: int
) -> None:
    assert budget(window, characters_per_token) == characters
    assert characters_per_token != 4 or budget(window) == characters


def lines(count: int, length: int) -> list[Line]:
    return [Line(f"skill-{number:03}", "x" * length) for number in range(count)]


def kept(all_lines: list[Line], characters: int) -> list[str]:
    lost = without_description(all_lines, characters)
    return [line.name for line in all_lines if line not in lost]


def test_everything_is_kept_where_there_is_room_to_the_last_character() -> None:
    three = lines(3, 10)
    size = len("\n".join(line.whole for line in three))
    assert without_description(three, size) == []
    assert without_description(three, size - 1) == [three[2]]


@pytest.mark.parametrize(
    ("window", "skills", "whole"),
    [
        (200_000, 5, 5),
        (200_000, 100, 6),
        (200_000, 300, 4),
        (1_000_000, 5, 5),
    ],
)
def test_as_many_descriptions_of_1000_characters_are_kept_as_was_measured(
    window: int, skills: int, whole: int
) -> None:
    assert len(kept(lines(skills, 1_000), budget(window))) == whole


def test_120_skills_lose_descriptions_on_a_small_window_and_none_on_a_large_one() -> None:
    many = lines(120, 230)
    assert 0 < len(kept(many, budget(200_000))) < 40
    assert without_description(many, budget(1_000_000)) == []


def test_a_long_description_makes_room_for_a_shorter_one_behind_it() -> None:
    mixed = [Line("a", "x" * 50), Line("b", "y" * 500), Line("c", "z" * 50)]
    assert kept(mixed, 150) == ["a", "c"]


def test_a_skill_without_a_text_has_none_to_lose() -> None:
    mixed = [Line("a", ""), Line("b", "x" * 500), Line("c", "")]
    assert without_description(mixed, 10) == [mixed[1]]


def test_an_empty_catalog_fits_any_budget() -> None:
    assert without_description([], 0) == []


LINES = st.lists(
    st.builds(Line, st.text("ab", min_size=1, max_size=9), st.text("x", max_size=60)), max_size=12
)


@settings(max_examples=200, deadline=None)
@given(LINES, st.integers(0, 600))
def test_what_is_shown_fits_the_budget_or_is_names_only(
    all_lines: list[Line], characters: int
) -> None:
    lost = [id(line) for line in without_description(all_lines, characters)]
    assert all(line.text for line in all_lines if id(line) in lost)
    shown = "\n".join(line.bare if id(line) in lost else line.whole for line in all_lines)
    names_only = "\n".join(line.bare for line in all_lines)
    assert len(shown) <= characters or shown == names_only
    if len("\n".join(line.whole for line in all_lines)) <= characters:
        assert not lost


def test_odd_characters_are_those_of_their_categories() -> None:
    odd = {"Cc", "Cf", "Co", "Zl", "Zp"}
    for code in range(0x110000):
        category = unicodedata.category(chr(code))
        if category == "Cn":
            continue  # not assigned in this Python's Unicode
        expected = category in odd or 0xFE00 <= code <= 0xFE0F
        assert bool(_ODD.match(chr(code))) is expected, hex(code)
