"""Whatever the bytes of a skill's files are, they give a report: never an error, never a hang.

The property is `fuzz_skill.check`: linting, every output, every place, both kinds of fixes.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import GOOD
from fuzz_skill import LIMIT, TOKENS, WHOLE, check, cpu_limit, mutate
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from skilleval.lint.engine import Options, lint
from skilleval.skill import discover

few = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
GOOD_BYTES = GOOD.encode()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("any")
    check(folder, WHOLE)  # so that no example pays for what is loaded when first used
    return folder


ANY_BYTES = st.binary(max_size=400)
NASTY_TEXT = st.lists(st.sampled_from(TOKENS), max_size=25).map(b"".join)
KEYS = st.sampled_from(
    b"name description license compatibility metadata allowed-tools when_to_use hooks paths "
    b"argument-hint disable-model-invocation effort descriptoin x".split()
)
VALUES = st.lists(st.sampled_from((*TOKENS, b"pdf-tools", b"Reads PDF files")), max_size=4)
COLONS = st.sampled_from([b": ", b":", b": |\n  ", b":\n  - ", b":\n  a: "])
ENTRIES = st.tuples(KEYS, COLONS, VALUES.map(b"".join)).map(b"".join)
OPENINGS = st.sampled_from(
    [b"---\n", b"---\r\n", b"---\r", b"\n---\n", b"\xef\xbb\xbf---\n", b"```\n---\n", b"--- \n"]
)
FRONT_LIKE = st.builds(
    lambda opening, entries, closing, body, line_break: (
        opening + line_break.join([*entries, closing, body])
    ),
    OPENINGS,
    st.lists(ENTRIES, max_size=5),
    st.sampled_from([b"---", b"---\t", b"----", b"...", b"", b"--- x"]),
    NASTY_TEXT,
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
)


@few
@given(ANY_BYTES | NASTY_TEXT)
@example(b"")
@example(b"\xef\xbb\xbf")
@example(b"\xff\xfe-\0-\0-\0\n\0")
@example(b"\0" * 50)
def test_any_bytes_as_skill_md(root: Path, data: bytes) -> None:
    check(root, {"SKILL.md": data})


@few
@given(FRONT_LIKE)
def test_anything_like_frontmatter(root: Path, data: bytes) -> None:
    check(root, {"SKILL.md": data})


FOUND_BEFORE = {
    "crlf without a name": "---\r\n$: \r\ndescription:\r\n---",
    "alias to nothing": "---\nname: *gone\ndescription: &a [*a]\n---\n",
    "mark inside": "---\n\ufeffname: a\ndescription: 1\n---\n",
    "mark before a wrong name": "---\n\ufeffname: PDF_tools\ndescription: x\n---\n",
    "literal name": "---\nname: |\n  a\n---\n\nBody\n",
    "folded name": "---\nname: >-\n  PDF_tools\ndescription: x\n---\n",
    "literal name of capitals": "---\nname: |-\n  PDF_tools\nlicense: MIT\n---\n",
    "name with an anchor in use": "---\nname: &n wrong\nmetadata:\n  a: *n\n---\n",
    "hidden character before a quote": "---\nname: a\ndescription: \u200b'\n---\n",
    "far text and crlf": "\n" * 61 + "do this and that\r\n",
    "far right and crlf": " " * 160 + "do this and that\r\n",
    "second document": "---\nname: pdf-tools\n--- x\ndescription: y\n---\n",
    "end of document": "---\nname: pdf-tools\n...\ndescription: y\n---\n",
}


@pytest.mark.parametrize("name", FOUND_BEFORE)
def test_what_went_wrong_before(root: Path, name: str) -> None:
    check(root, {"SKILL.md": FOUND_BEFORE[name].encode()})


@few
@given(ANY_BYTES | NASTY_TEXT, ANY_BYTES | NASTY_TEXT, ANY_BYTES | NASTY_TEXT)
def test_any_bytes_as_bundled_files(root: Path, text: bytes, evals: bytes, other: bytes) -> None:
    files = {"references/a.md": text, "evals/evals.json": evals, "evals/more.yaml": other}
    check(root, {**WHOLE, **files})


@few
@given(st.integers(0, 2**32))
def test_good_skills_gone_wrong(root: Path, seed: int) -> None:
    check(root, mutate(random.Random(seed), [WHOLE], 20_000))


JSON_LIKE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("aé\ud800", max_size=3).map(repr),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                "evals cases query prompt should_trigger expected skills graders positive "
                "assertions should_trigger_prompts expected_skill turns".split()
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)


@few
@given(JSON_LIKE)
def test_any_shape_of_evaluations(root: Path, shape: object) -> None:
    text = repr(shape).replace("'", '"')
    for old, new in (("None", "null"), ("True", "true"), ("False", "false")):
        text = text.replace(old, new)
    data = text.encode("utf-8", "surrogatepass")
    check(root, {"SKILL.md": GOOD_BYTES, "evals/evals.json": data, "evals/more.yaml": data})


def body(unit: str, size: int = 100_000, before: str = "", after: str = "") -> bytes:
    """A good skill with a text that repeats itself."""
    return (GOOD + "\n" + before + unit * (size // len(unit)) + after).encode()


HOSTILE: dict[str, Callable[[], bytes]] = {
    "spaces": lambda: body(" "),
    "spaces and a word": lambda: body(" ", after="x"),
    "no-break spaces": lambda: body("\u00a0"),
    "blank lines": lambda: body("\n"),
    "blank lines with spaces": lambda: body(" \n\t\n"),
    "blank lines, CRLF": lambda: body("\r\n"),
    "carriage returns": lambda: body("\r"),
    "one word": lambda: body("x"),
    "one line of hyphens": lambda: body("-"),
    "one line of dots": lambda: body("."),
    "slashes": lambda: body("a/"),
    "back slashes": lambda: body("a\\"),
    "hyphens and a back slash": lambda: body("a-", after="\\x"),
    "stars": lambda: body("a*/"),
    "base64": lambda: body("aGVsbG8gd29ybGQh", before="eval(atob("),
    "base64 in lines": lambda: body("aGVsbG8g" * 10 + "\n", before="base64 -d\n"),
    "suppression and spaces": lambda: body(" ", 4_000, "# skilleval: ignore", "!"),
    "suppression and tabs": lambda: body("\t", 4_000, "<!-- skilleval: ignore a --", "!"),
    "suppression and rules": lambda: body("a , ", 4_000, "# skilleval: ignore ", "!"),
    "suppressions": lambda: body("<!-- skilleval: ignore todo-left -- x -->\n"),
    "comments": lambda: body("<!-- x "),
    "closed comments": lambda: body("<!-- do not tell the user -->\n"),
    "invisible elements": lambda: body('<b style="display:none">x'),
    "tags with style": lambda: body("<b style "),
    "links": lambda: body("[a](b.md) "),
    "links to headings": lambda: body("[a](#b) "),
    "links outside": lambda: body("[a](../b.md) "),
    "a long link": lambda: body("a/", 200_000, "[a](", ")"),
    "a long link up": lambda: body("../", before="[a](", after=")"),
    "images": lambda: body("![x](y.png)\n"),
    "reference links": lambda: body("[a]\n\n[a]: b.md\n\n"),
    "equal headings": lambda: body("# a\n", before="[x](#y)\n\n"),
    "empty headings": lambda: body("#\n", before="[x](#y)\n\n"),
    "nested lists": lambda: body("- "),
    "nested quotes": lambda: body(">"),
    "brackets": lambda: body("["),
    "code spans": lambda: body("`MCP_a` "),
    "tools": lambda: body("MCP tool `a_b` "),
    "menus": lambda: body("use A, or B, or C "),
    "menus in one paragraph": lambda: body("use A, or B, or C\n", 200_000),
    "menus in one line": lambda: body("A, ", before="You can use "),
    "dates": lambda: body("until May 2026 "),
    "todos": lambda: body("TODO: x\n"),
    "todos in one line": lambda: body("TODO: x [insert "),
    "downloads": lambda: body("curl "),
    "downloads in pipes": lambda: body("curl x | "),
    "eval and downloads": lambda: body("eval $(curl "),
    "credentials": lambda: body("~/.ssh/id "),
    "credentials and cat": lambda: body("cat "),
    "credentials with dots": lambda: body("cat x.env"),
    "decoders": lambda: body("base64 -d "),
    "powershell": lambda: body("powershell -e "),
    "keys": lambda: body("sk-ant-"),
    "key heads": lambda: body("-----BEGIN PRIVATE KEY-----\n"),
    "invisible characters": lambda: body("a\u200b", 300_000),
    "tag characters": lambda: body("a\U000e0041"),
    "selectors": lambda: body("a\ufe0f\ufe0f"),
    "directions": lambda: body("a\u202e"),
    "control characters": lambda: body("a\x07\x1b"),
    "paths of the skill": lambda: body("scripts\\run.sh "),
    "paths that exist": lambda: body("scripts/run.sh ", 200_000),
    "paths that do not": lambda: body("`scripts/x.sh` ", 200_000),
    "emoji": lambda: body("😀`x`"),
    "fences": lambda: body("```\n"),
    "words with hyphens": lambda: body("marketing-strategy-", after="\\x"),
    "tables": lambda: body("|a", after="\n" + "|-" * 2_000 + "\n"),
    "many keys": lambda: b"---\n%s---\n" % b"".join(b"k%d: x\n" % n for n in range(2_400)),
    "equal keys": lambda: b"---\n" + b"name: x\n" * 2_400 + b"---\n",
    "a long description": lambda: b"---\nname: a\ndescription: " + b"use A, " * 30_000 + b"\n---\n",
    "spaces in a broken value": lambda: b"---\nname: a" + b" " * 200_000 + b"b: c\n---\n",
    "open quotes": lambda: "---\ndescription: I {}\n---\n".format("“" * 60_000).encode(),
    "a long unquoted value": lambda: b"---\ndescription: " + b"a: b " * 30_000 + b"\n---\n",
    "a long name": lambda: b"---\nname: " + b"a-" * 30_000 + b"\n---\n",
    "a long foreign name": lambda: "---\nname: {}\n---\n".format("é" * 60_000).encode(),
    "long tools": lambda: b"---\nallowed-tools: " + b"Bash(" * 30_000 + b"\n---\n",
    "openings": lambda: b"---\n" * 30_000,
    "late openings": lambda: b"\n---\n" + b"a: b\n" * 30_000,
    "a quoted value without end": lambda: b'---\nname: "' + b"x\n\n" * 30_000,
    "anchors": lambda: b"---\na: [" + b"&a x, *a, " * 2_000 + b"]\n---\n",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_repetition_is_no_trap(root: Path, name: str) -> None:
    files = {"SKILL.md": HOSTILE[name](), "scripts/run.sh": b"ls\n", "references/a.md": b"# A\n"}
    check(root, files)


HOSTILE_EVALS = {
    "lists": b"[" * 100_000,
    "maps": b'{"a":' * 50_000,
    "cases": b"[" + b'{"query": "x"},' * 8_000 + b"{}]",
    "a number": b"[" + b"9" * 100_000 + b"]",
    "text": b'["' + b"x" * 100_000,
    "spaces": b" " * 100_000 + b"x",
    "keys": b"{" + b",".join(b'"k%d": 1' % n for n in range(10_000)) + b"}",
}


@pytest.mark.parametrize("ending", ["json", "yaml"])
@pytest.mark.parametrize("name", HOSTILE_EVALS)
def test_hostile_evaluations_are_no_trap(root: Path, name: str, ending: str) -> None:
    check(root, {"SKILL.md": GOOD_BYTES, f"evals/evals.{ending}": HOSTILE_EVALS[name]})


@pytest.mark.parametrize(
    "name",
    ["a" * 200 + "_", "a-" * 100 + "_", "-" * 200, "a" * 40 + "!", "é" * 80, "aA" * 100, "." * 200],
)
def test_any_name_of_a_folder_is_no_trap(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\ndescription: x\n---\n\nBody\n")
    with cpu_limit(LIMIT):
        report = lint(discover([str(tmp_path)]), Options())
    assert "name-missing" in {finding.rule for finding in report.findings}


@pytest.mark.parametrize(
    "name",
    ["a" * 200, "/".join("ab" * 18), "test_" * 40, "requirements" * 16, ".a" * 100, "a.b-" * 50],
)
def test_any_name_of_a_file_is_no_trap(root: Path, name: str) -> None:
    check(root, {"SKILL.md": GOOD_BYTES, name: b"x", f"references/{name}.md": b"# A\n"})
