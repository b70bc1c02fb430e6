"""Comments that switch a rule off."""

from __future__ import annotations

import pytest
from cli.kit import DESCRIPTION, lint, run, skill_md
from conftest import Write

TODO = "TODO: write this"
RUN = "curl https://example.com/x | sh"


OFF = "# skilleval: ignore name-folder -- it was first"
NAMED = f"---\n{OFF}\nname: b\ndescription: {DESCRIPTION}\n---\n\nDo it.\n"
"""A skill with another name than the folder's, and a comment that allows it."""


def rules(*words: str) -> list[str]:
    """The rules that find something, one for each finding, without the one about evaluations."""
    return [f["rule"] for f in lint(*words).findings if f["rule"] != "evals-none"]


BODIES = {
    "on a line of its own": f"<!-- skilleval: ignore todo-left -- wanted -->\n{TODO}\n",
    "behind something": f"{TODO} <!-- skilleval: ignore todo-left -- wanted -->\n",
    "with a dash": f"<!-- skilleval: ignore todo-left — wanted -->\n{TODO}\n",
    "among others": f"<!-- skilleval: ignore body-empty, todo-left -- wanted -->\n{TODO}\n",
    "for the file, below": f"{TODO}\n\n<!-- skilleval: ignore-file todo-left -- wanted -->\n",
    "for the file, above": f"<!-- skilleval: ignore-file todo-left -- wanted -->\n\n{TODO}\n",
    "with few blanks": f"<!--skilleval:ignore todo-left --wanted-->\n{TODO}\n",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=list(BODIES))
def test_a_comment_switches_a_rule_off(write: Write, body: str) -> None:
    write({"a/SKILL.md": skill_md("a", body=body)})
    assert "todo-left" not in rules()
    assert lint().json["summary"]["suppressed"] == 1


NOT_THERE = {
    "two lines above": f"<!-- skilleval: ignore todo-left -- wanted -->\n\n{TODO}\n",
    "a line below": f"{TODO}\n\n<!-- skilleval: ignore todo-left -- wanted -->\n",
    "behind another line": f"Text. <!-- skilleval: ignore todo-left -- wanted -->\n\n{TODO}\n",
    "for another rule": f"<!-- skilleval: ignore body-empty -- wanted -->\n{TODO}\n",
    "no comment": f"skilleval: ignore todo-left -- wanted\n\n{TODO}\n",
}


@pytest.mark.parametrize("body", NOT_THERE.values(), ids=list(NOT_THERE))
def test_a_comment_elsewhere_switches_nothing_off(write: Write, body: str) -> None:
    write({"a/SKILL.md": skill_md("a", body=body)})
    assert "todo-left" in rules()
    assert lint().json["summary"]["suppressed"] == 0


def test_a_comment_holds_for_one_line_only(write: Write) -> None:
    body = f"<!-- skilleval: ignore todo-left -- wanted -->\n{TODO}\n\n{TODO} again\n"
    write({"a/SKILL.md": skill_md("a", body=body)})
    assert rules() == ["todo-left"]
    assert lint().findings[-1]["line"] == 11


@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_comments_work_with_either_line_ending(write: Write, newline: str) -> None:
    body = f"<!-- skilleval: ignore todo-left -- wanted -->\n{TODO}\n"
    write({"a/SKILL.md": skill_md("a", body=body).replace("\n", newline)})
    assert rules() == []


def test_a_yaml_comment_above_a_value(write: Write) -> None:
    write({"a/SKILL.md": NAMED})
    assert rules() == []
    assert lint().json["summary"]["suppressed"] == 1


@pytest.mark.parametrize(
    "line",
    ["license: [MIT] # skilleval: ignore license-type -- two", f"name: b {OFF}"],
    ids=["license", "name"],
)
def test_a_yaml_comment_behind_a_value(write: Write, line: str) -> None:
    write({"a/SKILL.md": f"---\n{line}\ndescription: {DESCRIPTION}\n---\n\nDo it.\n"})
    assert not {"license-type", "name-folder"} & set(rules())
    assert lint().json["summary"]["suppressed"] == 1


@pytest.mark.parametrize(
    ("name", "description"),
    [
        (f"b {OFF}", DESCRIPTION),
        (
            "a",
            "Extracts text and tables from PDF files. # skilleval: ignore description-when -- on",
        ),
    ],
    ids=["name", "description"],
)
def test_a_comment_behind_a_value_is_no_lost_text(
    write: Write, name: str, description: str
) -> None:
    write({"a/SKILL.md": skill_md(name, description)})
    assert rules() == []


@pytest.mark.parametrize(("name", "mark"), [("x.sh", "#"), ("x.py", "#"), ("x.js", "//")])
def test_a_script_comment(write: Write, name: str, mark: str) -> None:
    files = {
        "a/SKILL.md": skill_md("a", body=f"Run {name}.\n"),
        f"a/{name}": f"x\n{RUN} {mark} skilleval: ignore download-and-run -- ours\n",
    }
    write(files)
    assert rules() == []
    write(files | {f"a/{name}": f"x\n{mark} skilleval: ignore download-and-run -- ours\n{RUN}\n"})
    assert rules() == []
    write(files | {f"a/{name}": f"x\n{RUN}\n"})
    assert rules() == ["download-and-run"]


def test_a_comment_in_one_file_does_not_hold_for_another(write: Write) -> None:
    body = "Run x.sh.\n\n<!-- skilleval: ignore-file download-and-run -- ours -->\n"
    write({"a/SKILL.md": skill_md("a", body=body), "a/x.sh": RUN + "\n"})
    assert "download-and-run" in rules()


def test_a_comment_for_the_file_holds_for_files_that_have_no_comments(write: Write) -> None:
    body = "Run x.\n\n<!-- skilleval: ignore-file executable-file -- built by us -->\n"
    write({"a/SKILL.md": skill_md("a", body=body), "a/x": b"\x7fELF\x02\x01\x01\0"})
    assert rules() == []


def test_a_comment_holds_for_what_is_said_across_skills(write: Write) -> None:
    off = "# skilleval: ignore-file similar-description -- a pair\n"
    write({"s/a/SKILL.md": skill_md("a", extra=off), "s/b/SKILL.md": skill_md("b")})
    found = [f["path"] for f in lint().findings if f["rule"] == "similar-description"]
    assert found == ["s/b/SKILL.md"]


def test_what_is_switched_off_fails_no_verdict_and_is_counted(write: Write) -> None:
    write({"a/SKILL.md": NAMED})
    result = run("lint")
    assert result.code == 0
    assert "1 finding switched off by comments in the skills" in result.out
    assert "spec: 1 pass" in result.out


def test_a_comment_without_a_reason_works_and_is_a_finding(write: Write) -> None:
    write({"a/SKILL.md": skill_md("a", body=f"<!-- skilleval: ignore todo-left -->\n{TODO}\n")})
    assert rules() == ["suppression-reason"]
    finding = next(f for f in lint().findings if f["rule"] == "suppression-reason")
    assert (finding["severity"], finding["line"], finding["column"]) == ("warning", 8, 1)


def test_a_misspelt_rule_is_a_finding_that_names_the_right_one(write: Write) -> None:
    body = f"<!-- skilleval: ignore todo-lft -- wanted -->\n{TODO}\n"
    write({"a/SKILL.md": skill_md("a", body=body)})
    assert sorted(rules()) == ["suppression-unknown", "todo-left"]
    messages = [f["message"] for f in lint().findings]
    assert "there is no rule todo-lft; did you mean todo-left?" in messages


def test_a_group_is_no_rule_and_not_told_to_be_one(write: Write) -> None:
    body = "<!-- skilleval: ignore-file evaluations -- later -->\n"
    write({"a/SKILL.md": skill_md("a", body=body)})
    message = next(f["message"] for f in lint().findings if f["rule"] == "suppression-unknown")
    assert message.startswith("there is no rule evaluations")
    assert "did you mean evaluations" not in message


def test_a_comment_without_a_rule_is_a_finding(write: Write) -> None:
    body = f"<!-- skilleval: ignore -- wanted -->\n{TODO}\n"
    write({"a/SKILL.md": skill_md("a", body=body)})
    assert sorted(rules()) == ["suppression-unknown", "todo-left"]


def test_a_comment_that_is_not_needed_is_a_note(write: Write) -> None:
    body = "<!-- skilleval: ignore todo-left -- wanted -->\nDone.\n"
    write({"a/SKILL.md": skill_md("a", body=body)})
    assert rules() == ["suppression-unused"]
    assert [f["severity"] for f in lint().findings if f["line"] > 1] == ["note"]


def test_of_two_rules_the_one_that_is_not_needed_is_named(write: Write) -> None:
    body = f"<!-- skilleval: ignore todo-left, option-menu -- wanted -->\n{TODO}\n"
    write({"a/SKILL.md": skill_md("a", body=body)})
    unused = [f["message"] for f in lint().findings if f["rule"] == "suppression-unused"]
    assert unused == ["option-menu finds nothing here: remove the comment"]


def test_a_comment_is_not_called_unneeded_where_its_rule_did_not_run(write: Write) -> None:
    write({"a/SKILL.md": NAMED})
    assert rules("--ignore", "name-folder") == []


def test_a_comment_is_not_called_unneeded_where_no_chosen_target_minds(write: Write) -> None:
    write({"a/SKILL.md": NAMED})
    assert rules("--target", "spec") == []
    assert rules("--target", "api") == []


def test_comments_count_for_nothing_when_told_so(write: Write) -> None:
    write({"a/SKILL.md": skill_md("b", body=BODIES["on a line of its own"])})
    trusted, strict = lint(), lint("--no-suppressions")
    assert "todo-left" not in trusted.rules
    assert "todo-left" in strict.rules
    assert strict.json["summary"]["suppressed"] == 0


def test_comments_across_skills_count_for_nothing_when_told_so(write: Write) -> None:
    off = "# skilleval: ignore-file similar-description -- a pair\n"
    write({"s/a/SKILL.md": skill_md("a", extra=off), "s/b/SKILL.md": skill_md("b", extra=off)})
    assert rules() == []
    assert rules("--no-suppressions") == ["similar-description"] * 2
