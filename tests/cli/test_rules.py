"""``skilleval rules``"""

from __future__ import annotations

import pytest
from cli.kit import process, run

from skilleval.errors import ExitCode
from skilleval.lint.model import Rule
from skilleval.lint.registry import all_rules

HARMFUL = set("\x1b\x07\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\ufeff")


def test_every_rule_has_one_line_in_the_list() -> None:
    result = run("rules")
    assert result.code == 0
    listed = [line.split()[0] for line in result.out.splitlines() if line.startswith("  ")]
    assert sorted(listed) == sorted(rule.id for rule in all_rules())


def test_list_shows_how_bad_a_rule_is_for_whom() -> None:
    lines = {
        line.split()[0]: line.split(maxsplit=1)[1]
        for line in run("rules").out.splitlines()
        if line.startswith("  ")
    }
    assert lines["yaml-error"] == "error"
    assert lines["name-folder"] == "error for spec; warning for package; note for claude-code"
    assert lines["name-reserved"] == "error for api"


def test_list_groups_the_rules() -> None:
    groups = [line.rstrip(":") for line in run("rules").out.splitlines() if line.endswith(":")]
    assert len(groups) == len(set(groups))
    assert set(groups) == {rule.group for rule in all_rules()}


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.id)
def test_a_rule_says_why_and_who_says_so(rule: Rule) -> None:
    result = run("rules", rule.id)
    assert result.code == 0
    assert result.out.startswith(f"{rule.id} ({rule.group}): ")
    assert rule.why in result.out
    assert all(source in result.out for source in rule.sources)
    assert HARMFUL & set(result.out) == set()


def test_a_rule_shows_a_bad_and_a_good_example() -> None:
    out = run("rules", "name-folder").out
    bad, good = out.split("  Bad:\n")[1].split("  Good:\n")
    assert "name: pdf-kit" in bad
    assert "name: pdf-tools" in good


def test_harmful_characters_of_an_example_are_shown_by_their_code() -> None:
    assert "\\u{202e}" in run("rules", "bidirectional-text").out


def test_a_group_explains_all_its_rules() -> None:
    out = run("rules", "name").out
    for rule in all_rules():
        assert (f"{rule.id} ({rule.group}): " in out) == (rule.group == "name")


def test_a_rule_named_twice_is_explained_once() -> None:
    assert run("rules", "name-folder", "name-folder").out == run("rules", "name-folder").out


def test_misspelt_rule_is_an_error_that_names_the_right_one() -> None:
    result = run("rules", "nam-missing")
    assert result.code == ExitCode.USAGE
    assert result.out == ""
    assert "there is no rule nam-missing; did you mean name-missing?" in result.err


def test_misspelt_group_is_an_error_that_names_the_right_one() -> None:
    result = run("rules", "descripton")
    assert result.code == ExitCode.USAGE
    assert "did you mean description?" in result.err


def test_a_name_like_no_rule_is_an_error_that_says_where_they_are_listed() -> None:
    result = run("rules", "qqqqqq")
    assert result.code == ExitCode.USAGE
    assert "`skilleval rules` lists them" in result.err


def test_every_explanation_is_utf8_on_every_locale() -> None:
    groups = sorted({rule.group for rule in all_rules()})
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    result = process("rules", *groups, env=plain)
    assert result.code == 0
    assert result.out == run("rules", *groups).out
    assert not result.out.isascii()
