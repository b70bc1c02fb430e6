"""Frontmatter is found where every reader finds it, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import frontmatter
import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from skilleval.skill import Frontmatter, State, read_frontmatter
from skilleval.skill.frontmatter import MAX_FRONTMATTER
from skilleval.skill.yamltree import Mapping, Scalar

GOOD = "---\nname: pdf-tools\ndescription: Reads PDF files.\n---\n\nBody\n"


def state_of(text: str) -> State:
    return read_frontmatter(text).state


def block_of(text: str) -> str:
    front = read_frontmatter(text)
    return text[front.block.start : front.block.end]


def body_of(text: str) -> str:
    return text[read_frontmatter(text).body :]


def test_block_and_body_are_taken_apart() -> None:
    front = read_frontmatter(GOOD)
    assert front.state is State.OK and front.readable
    assert block_of(GOOD) == "name: pdf-tools\ndescription: Reads PDF files.\n"
    assert body_of(GOOD) == "\nBody\n"
    assert front.string("name") == "pdf-tools"
    assert front.string("description") == "Reads PDF files."


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("\n", "\r"),
        "\ufeff" + GOOD,
        GOOD.replace("---\n", "---  \t\n"),
        GOOD.removesuffix("\n\nBody\n"),
        GOOD + "\n---\n\nmore\n\n---\nname: other\n---\n",
        GOOD.replace("files.", "files --- and more."),
        GOOD.replace("description: Reads PDF files.", "description: |\n  Reads\n  ---\n  files."),
        GOOD.replace("description: Reads PDF files.", "description: >\n  Reads\n\n  --- files."),
        GOOD.replace("\ndescription", "\n----\ndescription", 1).replace("\n----\n", "\n# ----\n"),
    ],
)
def test_well_delimited(text: str) -> None:
    front = read_frontmatter(text)
    assert front.state is State.OK and front.problem is None
    assert front.string("name") == "pdf-tools"
    assert "Reads" in (front.string("description") or "")
    assert "name: pdf-tools" not in body_of(text)


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("", State.MISSING),
        ("\ufeff", State.MISSING),
        ("# PDF tools\n\nBody\n", State.MISSING),
        ("----\nname: a\n----\n", State.MISSING),
        ("--\nname: a\n--\n", State.MISSING),
        ("—\nname: a\n—\n", State.MISSING),
        (" ---\nname: a\n ---\n", State.MISSING),
        ("--- name: a\n---\n", State.MISSING),
        ("+++\nname = 'a'\n+++\n", State.MISSING),
        ("---", State.MISSING),
        ("---\n", State.UNCLOSED),
        ("---\nname: a\n\n# Body\n", State.UNCLOSED),
        ("---\nname: a\n...\n\nBody\n", State.UNCLOSED),
        ("---\nname: a\n----\n\nBody\n", State.UNCLOSED),
        ("---\nname: a\n ---\n\nBody\n", State.UNCLOSED),
        ("---\nname: a\n---x\n\nBody\n", State.UNCLOSED),
        ("\n" + GOOD, State.LATE),
        ("\r\n\r\n" + GOOD.replace("\n", "\r\n"), State.LATE),
        ("\ufeff\n" + GOOD, State.LATE),
        ("# PDF tools\n\n" + GOOD, State.LATE),
        ("<!-- licence -->\n" + GOOD, State.LATE),
        ("\n---\n'name': a\n---\n", State.LATE),
        ("```yaml\n" + GOOD + "```\n", State.FENCED),
        ("```\n" + GOOD + "```\n", State.FENCED),
        ("~~~yaml\r\n" + GOOD.replace("\n", "\r\n"), State.FENCED),
        ("\n\n```yaml\nname: a\ndescription: b\n```\n", State.FENCED),
        ("Text\n\n---\n\nmore text\n\n---\n\nend\n", State.MISSING),
        ("| a |\n|---|\n| b |\n", State.MISSING),
    ],
)
def test_badly_delimited(text: str, state: State) -> None:
    front = read_frontmatter(text)
    assert front.state is state
    assert front.readable == (state in (State.OK, State.LATE))
    assert bool(front.fields) == (state is State.LATE)


def test_late_frontmatter_is_read_all_the_same() -> None:
    front = read_frontmatter("# Title\n\n" + GOOD)
    assert front.string("name") == "pdf-tools"
    assert body_of("# Title\n\n" + GOOD) == "\nBody\n"


@pytest.mark.parametrize("text", ["---\n---\n\nBody\n", "---\n\n# nothing\n\n---\n\nBody\n"])
def test_empty_frontmatter_is_found_and_empty(text: str) -> None:
    front = read_frontmatter(text)
    assert (front.state, front.problem, front.fields) == (State.OK, None, {})
    assert body_of(text) == "\nBody\n"


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
def test_the_body_begins_behind_the_closing_line(line_break: str) -> None:
    text = GOOD.replace("\n", line_break)
    assert body_of(text) == f"{line_break}Body{line_break}"
    assert body_of(text.replace(f"---{line_break}{line_break}", f"--- \t{line_break}")) == (
        f"Body{line_break}"
    )


def test_without_frontmatter_everything_is_body() -> None:
    assert body_of("# Title\n") == "# Title\n"
    assert body_of("\ufeff# Title\n") == "# Title\n"


def front_of(yaml_text: str) -> Frontmatter:
    return read_frontmatter(f"---\n{yaml_text}\n---\n\nBody\n")


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("text", "string"),
        ("'12'", "string"),
        ("12", "integer"),
        ("1.5", "number"),
        ("yes", "boolean"),
        ("2026-01-01", "date"),
        ("", "null"),
        ("~", "null"),
        ("[a, b]", "list"),
        ("\n  - a", "list"),
        ("{a: b}", "map"),
        ("\n  a: b", "map"),
        ("|\n  12", "string"),
    ],
)
def test_the_kind_of_a_value(value: str, kind: str) -> None:
    front = front_of(f"license: {value}")
    assert front.fields["license"].kind == kind
    assert (front.string("license") is not None) == (kind == "string")


def test_an_alias_counts_as_what_it_stands_for() -> None:
    front = front_of("name: &n pdf-tools\nlicense: *n\nmetadata: &m {a: 1}\nhooks: *m")
    assert front.string("license") == "pdf-tools"
    assert front.fields["hooks"].kind == "map"
    assert front.fields["license"].text == "pdf-tools"
    assert front.fields["hooks"].text is None


def test_an_alias_to_nothing_is_a_yaml_problem() -> None:
    front = front_of("name: *gone")
    assert front.problem is not None and front.problem.kind == "syntax"
    assert not front.readable


def test_the_last_of_two_keys_counts_and_both_are_known() -> None:
    text = "---\nname: one\n'name': two\nlicense: a\nname: three\n---\n"
    front = read_frontmatter(text)
    assert front.string("name") == "three"
    assert [text[key.start : key.end] for key in front.duplicates] == ["'name'", "name"]
    assert [key.start for key in front.duplicates] == [text.index("'name'"), text.rindex("name")]


def test_keys_that_are_no_text_are_passed_over() -> None:
    front = front_of("? [a, b]\n: c\n? {d: e}\n: f\nname: g")
    assert list(front.fields) == ["name"] and front.string("name") == "g"


@pytest.mark.parametrize("text", ["- a\n- b", "just text", "12", "[a, b]"])
def test_frontmatter_that_is_no_map_has_no_fields(text: str) -> None:
    front = front_of(text)
    assert front.problem is None and front.root is not None
    assert not isinstance(front.root, Mapping) and not front.fields


@pytest.mark.parametrize(
    ("yaml_text", "kind", "at"),
    [
        ("name: a: b", "syntax", ": b"),
        ("name: a\x07b", "control", "\x07"),
        ("a: " + "[" * 60 + "]" * 60, "depth", "[" * 36),
        ("a: [" + "x, " * 6_000 + "]", "size", None),
    ],
)
def test_a_problem_is_kept_with_its_place_in_the_file(
    yaml_text: str, kind: str, at: str | None
) -> None:
    text = f"---\n# é 😀\n{yaml_text}\n---\n\nBody\n"
    front = read_frontmatter(text)
    assert front.problem is not None and front.problem.kind == kind
    assert not front.readable and not front.fields
    assert body_of(text) == "\nBody\n"
    if at:
        assert text[front.problem.offset :].startswith(at)


def test_very_long_frontmatter_is_not_parsed() -> None:
    front = front_of("name: a\nlicense: " + "x" * MAX_FRONTMATTER)
    assert front.problem is not None and front.problem.kind == "size"
    assert f"{MAX_FRONTMATTER:,}" in front.problem.message


@pytest.mark.parametrize("prefix", ["", "\ufeff", "é😀\n\n", "\r\n"])
@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
def test_spans_lead_to_keys_and_values(prefix: str, line_break: str) -> None:
    lines = ["---", "name: pdf-tools", "description: 'Liest PDF — 技能 😀'", "license:", "---", ""]
    text = prefix + line_break.join(lines)
    fields = read_frontmatter(text).fields
    written = {name: text[field.span.start : field.span.end] for name, field in fields.items()}
    assert written == {
        "name": "pdf-tools",
        "description": "'Liest PDF — 技能 😀'",
        "license": "license",  # no value: the key
    }
    assert {text[field.key.start : field.key.end] for field in fields.values()} == set(fields)


def test_spans_are_right_behind_a_byte_order_mark_inside_the_block() -> None:
    text = "---\n\ufeffname: pdf-tools\nlicense: MIT\n---\n"
    for name, field in read_frontmatter(text).fields.items():
        assert name in ("name", "\ufeffname", "license")
        assert text[field.span.start : field.span.end] in ("pdf-tools", "MIT")


PIECES = st.lists(
    st.sampled_from(
        "---|----|--- |...|name: a|description: b: c|- x|# T|```|~~~yaml|| |\t|'|\"|{|[|&a|*a|!!x|"
        ">|?|\ufeff|é😀|\0|a: \\|".split("|")
    ),
    max_size=12,
)


@settings(max_examples=200, deadline=None)
@given(PIECES, st.sampled_from(["\n", "\r\n", "\r", ""]))
@example(["\ufeff---", "\ufeffname: a", "---"], "\n")
def test_any_text_is_taken_apart_without_an_error(pieces: list[str], line_break: str) -> None:
    text = line_break.join(pieces)
    front = read_frontmatter(text)
    assert 0 <= front.block.start <= front.block.end <= front.body <= len(text)
    for field in front.fields.values():
        assert front.block.start <= field.key.start <= field.value.end <= front.block.end
    if front.state is State.OK:
        assert text[front.block.end :].startswith("---")
    if front.problem:
        assert front.block.start <= front.problem.offset <= len(text)


@settings(max_examples=80, deadline=None)
@given(
    st.dictionaries(
        st.from_regex(r"[a-z][a-z-]{0,9}", fullmatch=True),
        st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufeff"))
        | st.integers()
        | st.booleans()
        | st.lists(st.text("ab: #'", max_size=5), max_size=3),
        max_size=5,
    ),
    st.sampled_from(["\n", "\r\n"]),
)
def test_written_values_are_read_back(values: dict[str, object], line_break: str) -> None:
    block = yaml.safe_dump(values, allow_unicode=True, sort_keys=False, line_break=line_break)
    text = f"---{line_break}{block}---{line_break}Body"
    front = read_frontmatter(text)
    assert list(front.fields) == list(values)
    texts = {name: value for name, value in values.items() if isinstance(value, str)}
    assert {name: front.string(name) for name in texts} == texts


def well_formed(path: Path) -> frontmatter.Post | None:
    """What python-frontmatter makes of a file, where it makes anything of it."""
    try:
        post = frontmatter.loads(path.read_text("utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError):
        return None
    return post if isinstance(post.metadata, dict) and post.metadata else None


def test_the_corpus_is_read_as_python_frontmatter_reads_it(corpus: Path) -> None:
    compared = 0
    for path in sorted(corpus.rglob("SKILL.md")):
        if not path.is_file():
            continue
        post = well_formed(path)
        if post is None:
            continue
        text = path.read_bytes().decode("utf-8")
        front = read_frontmatter(text)
        for key in ("name", "description"):
            other = post.metadata.get(key)
            ours = front.string(key) if isinstance(other, str) else None
            assert ours == (other if isinstance(other, str) else None), f"{key} in {path}"
        assert text[front.body :].strip() == post.content.strip(), path
        compared += 1
    assert compared > 300


def test_the_corpus_keys_have_right_places(corpus: Path) -> None:
    for path in sorted(corpus.rglob("SKILL.md")):
        if not path.is_file():
            continue
        text = path.read_bytes().decode("utf-8", "replace")
        for name, field in read_frontmatter(text).fields.items():
            assert text[field.key.start : field.key.end].strip("\"'") == name, path
            value = field.value
            if isinstance(value, Scalar) and value.style == "plain" and "\n" not in value.value:
                written = text[value.start : value.end]
                assert " ".join(written.split()) == " ".join(value.value.split()), path
