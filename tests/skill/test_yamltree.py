"""The tree says what a YAML reader says, knows where it says it, and can't be made to explode."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from fuzz_skill import cpu_limit
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from skilleval.skill.yamltree import (
    MAX_DEPTH,
    MAX_NODES,
    Alias,
    Mapping,
    Node,
    Scalar,
    Sequence,
    YamlProblem,
    parse,
    walk,
)

KINDS: dict[type, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
    str: "string",
    datetime.date: "date",
    datetime.datetime: "date",
}

WORDS = st.sampled_from(
    "name a b-c yes no on off true False null ~ 12 -7 0x1f 0o17 017 1_000 1.5 1. .5 1e3 1.5e+3 "
    ".inf .NaN 12:30 12:30:45 2026-01-01 2026-13-41 2026-01-01T10:00:00Z y n = é 技能 😀 e\u0301 "
    "a:b a#b it's a\\b 'x' \"y\" '1' \"null\" '' \"\" \"\\u00e9\\n\" '😀' 'it''s'".split()
)
VALUES = WORDS | st.lists(WORDS, min_size=2, max_size=3).map(" ".join)
SHAPES = st.sampled_from(
    "{k}: {v}|{k}:|- {v}|- {k}: {v}|-|{v}|{k}: [{v}, {v}]|{k}: {{{k}: {v}}}|# {v}|{k}: &a {v}|"
    "{k}: *a|{k}: |-|{k}: >|? {k}|{k}: !!str {v}|{k}: !!int 7||'{k}': {v}|{k}: {v} # {v}|"
    "{k}: '{k}\n\n  {k}'".split("|")
)
LINES = st.lists(st.tuples(st.integers(0, 2), SHAPES, WORDS, VALUES), min_size=1, max_size=7)


def as_text(lines: list[tuple[int, str, str, str]], line_break: str) -> str:
    """Lines of keys and items at changing depth, which is often YAML."""
    return line_break.join("  " * n + shape.format(k=k, v=v) for n, shape, k, v in lines)


BLOCK_YAML = st.builds(as_text, LINES, st.sampled_from(["\n", "\r\n", "\r"]))

PLAIN_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**6), 10**6)
    | st.floats(allow_nan=False, width=32)
    | st.dates()
    | st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=12)
    | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)


def agrees(node: Node | None, value: Any) -> bool:
    """Whether a tree says what the plain value says."""
    if isinstance(node, Alias):
        return agrees(node.target, value)
    if isinstance(node, Sequence):
        return isinstance(value, list) and all(
            agrees(item, other) for item, other in zip(node.items, value, strict=True)
        )
    if isinstance(node, Mapping):
        last = {
            key.value: (key, child)
            for key, child in node.pairs
            if isinstance(key, Scalar) and key.kind == "string"
        }
        texts = {key: child for key, child in value.items() if isinstance(key, str)}
        return set(last) == set(texts) and all(
            agrees(last[key][1], child) for key, child in texts.items()
        )
    if node is None:
        return value is None
    if KINDS[type(value)] != node.kind:
        return False
    return not isinstance(value, str) or node.value == value


def tree(text: str) -> Node:
    root = parse(text)
    assert root is not None
    return root


def problem(text: str) -> YamlProblem:
    with pytest.raises(YamlProblem) as caught:
        parse(text)
    return caught.value


@settings(max_examples=200, deadline=None)
@given(BLOCK_YAML)
@example("a: 1\na: two\n'a': three")
@example("a: &a [1, 2]\nb: *a\nc: [*a, *a]")
@example("? a\n: b\n? c")
def test_values_and_kinds_are_those_of_safe_load(text: str) -> None:
    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, TypeError, ValueError):
        assume(False)
        return
    assert agrees(parse(text), value)


@settings(max_examples=100, deadline=None)
@given(
    PLAIN_VALUES,
    st.sampled_from([True, False, None]),
    st.sampled_from([None, '"', "'", "|", ">"]),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.booleans(),
)
def test_what_is_written_by_a_yaml_library_is_read_back(
    value: Any, flow: bool | None, style: str | None, line_break: str, unicode: bool
) -> None:
    text = yaml.safe_dump(
        value,
        default_flow_style=flow,
        default_style=style,
        line_break=line_break,
        allow_unicode=unicode,
    )
    assert agrees(parse(text), yaml.safe_load(text))


def safe_load_refuses(text: str) -> bool:
    try:
        yaml.safe_load(text)
    except yaml.YAMLError:
        return True
    return False


@pytest.mark.parametrize(
    "text",
    [
        "a: b: c",
        "a: [1, 2",
        "a: {b: 1",
        'a: "open',
        "a: 'open",
        "a: [x] y",
        "a: @x",
        "a: `x`",
        "a: %x",
        "a:\n\tb: 1",
        "- a\nb: 1",
        "a: b\n c: d",
        "a: !<x b",
        'a: "\\q"',
        "a: *gone",
        "a: [*gone]",
        "a: *b\nb: &b 1",
        "a: 1\n--- b: 2\n",
        "a: 1\n...\nb: 2\n",
        "--- a\n--- b\n",
    ],
)
def test_what_safe_load_refuses_is_a_problem(text: str) -> None:
    assert safe_load_refuses(text), "the example is wrong"
    assert problem(text).kind == "syntax"


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("a: 1\nb: c: d", 9),
        ("é: 😀\nb: c: d", 9),
        ("a: 1\r\nb: c: d", 10),
        ("a: @x", 3),
        ("a: 1\n  b: 2", 8),
    ],
)
def test_a_problem_knows_its_place(text: str, offset: int) -> None:
    assert problem(text).offset == offset


@settings(max_examples=300, deadline=None)
@given(BLOCK_YAML, st.integers(0, 50))
@example("é: 😀x\n技: e\u0301 y", 3)
@example("a: b\r\n\r\nc: [d,\r\n e]", 0)
@example("\ufeffname: x", 4)
@example("\ufeffname: x", 0)
def test_offsets_lead_to_what_is_written(text: str, shift: int) -> None:
    try:
        root = parse(text, shift)
    except YamlProblem as found:
        assert shift <= found.offset <= shift + len(text)
        return
    for node in walk(root) if root else ():
        written = text[node.start - shift : node.end - shift]
        assert shift <= node.start <= node.end <= shift + len(text)
        if isinstance(node, Alias):
            assert written == f"*{node.name}"
        elif isinstance(node, Scalar):
            bare = written.removeprefix(f"&{node.anchor} ")
            bare = bare.removeprefix("!!str ").removeprefix("!!int ").strip()
            if node.style == "plain" and not set(written) & set("\r\n"):
                assert bare == node.value
            elif node.style in ("'", '"'):
                assert bare[0] == bare[-1] == node.style and len(bare) > 1
        elif node.flow:
            assert written[-1] in "]}"


def test_a_tree_knows_styles_tags_anchors_and_flow() -> None:
    root = tree("a: &x 'q'\nb: !!str 7\nc: |\n  l\nd: >\n  f\ne: [*x, {f: \"d\"}]\n")
    assert isinstance(root, Mapping)
    values = {key.value: value for key, value in root.pairs if isinstance(key, Scalar)}
    styles = {name: v.style for name, v in values.items() if isinstance(v, Scalar)}
    assert styles == {"a": "'", "b": "plain", "c": "|", "d": ">"}
    quoted, tagged, listed = values["a"], values["b"], values["e"]
    assert isinstance(quoted, Scalar) and (quoted.anchor, quoted.tag) == ("x", None)
    assert isinstance(tagged, Scalar) and (tagged.kind, tagged.value) == ("string", "7")
    assert tagged.tag == "tag:yaml.org,2002:str"
    assert isinstance(listed, Sequence) and listed.flow and not root.flow
    alias, inner = listed.items
    assert isinstance(alias, Alias) and alias.target == quoted
    assert isinstance(inner, Mapping) and inner.flow


def test_quotes_keep_a_word_text() -> None:
    root = tree("- 'yes'\n- \"12\"\n- |\n  null\n- yes\n")
    assert isinstance(root, Sequence)
    kinds = [item.kind for item in root.items if isinstance(item, Scalar)]
    assert kinds == ["string", "string", "string", "boolean"]


def test_duplicate_keys_are_all_there_in_order() -> None:
    root = tree("b: 1\na: 2\n'b': 3\n")
    assert isinstance(root, Mapping)
    assert [key.value for key, _ in root.pairs if isinstance(key, Scalar)] == ["b", "a", "b"]


def test_walk_visits_keys_and_values_in_the_order_of_the_file() -> None:
    root = tree("a: [1, {b: 2}]\n? [c]\n: d\n")
    visited = [node for node in walk(root) if isinstance(node, Scalar)]
    assert [node.value for node in visited] == ["a", "1", "b", "2", "c", "d"]
    assert [node.start for node in visited] == sorted(node.start for node in visited)


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "\ufeff", "---\n...\n"])
def test_nothing_in_it_is_no_value(text: str) -> None:
    root = parse(text)
    assert root is None or (isinstance(root, Scalar) and root.kind == "null")


def nested(depth: int, opening: str, closing: str) -> str:
    return opening * depth + "x" + closing * depth


@pytest.mark.parametrize(
    ("opening", "closing"), [("[", "]"), ("{a: ", "}"), ("- ", ""), ("? ", "")]
)
def test_nesting_is_bounded(opening: str, closing: str) -> None:
    deepest = sum(
        isinstance(n, Sequence | Mapping) for n in walk(tree(nested(20, opening, closing)))
    )
    assert deepest == 20
    found = problem(nested(MAX_DEPTH + 1, opening, closing))
    assert (found.kind, str(MAX_DEPTH) in found.message) == ("depth", True)
    assert found.offset == len(opening) * MAX_DEPTH


HOSTILE: dict[str, Callable[[int], str]] = {
    "open brackets": lambda n: "[" * n,
    "brackets": lambda n: "[" * n + "]" * n,
    "open braces": lambda n: "{" * n,
    "braces": lambda n: "{a: " * n + "}" * n,
    "dashes": lambda n: "- " * n,
    "question marks": lambda n: "? " * n,
    "items": lambda n: "- x\n" * n,
    "flow items": lambda n: "[" + "x," * n + "]",
    "anchors": lambda n: "- &a x\n" * n,
    "aliases": lambda n: "- &a x\n" + "- *a\n" * n,
    "one long word": lambda n: "x" * n,
    "quotes": lambda n: "''" * n,
    "backslashes": lambda n: '"' + "\\\\" * n,
    "colons": lambda n: ":" * n,
    "colons and spaces": lambda n: "a: " * n,
    "comments": lambda n: " #\n" * n,
    "blank lines in a block": lambda n: "a: |\n" + "\n" * n + " x",
    "indentation": lambda n: "".join(f"{' ' * i}a:\n" for i in range(min(n, 400))),
    "directives": lambda n: "%A b\n" * n,
    "a long tag": lambda n: "!" + "x" * n + " y",
    "a long anchor": lambda n: "&" + "x" * n + " y",
    "documents": lambda n: "---\n" * n,
    "folded lines": lambda n: "a: " + "x\n " * n,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_costs_no_more_than_its_length(name: str) -> None:
    text = HOSTILE[name](60_000)
    with cpu_limit(1.0):
        try:
            root = parse(text)
        except YamlProblem as found:
            assert found.kind in ("depth", "size", "syntax")
            assert len(found.message) < 200
        else:
            assert root is None or len(list(walk(root))) <= MAX_NODES


def test_the_number_of_values_is_bounded() -> None:
    assert len(list(walk(tree("- x\n" * (MAX_NODES - 1))))) == MAX_NODES
    found = problem("- x\n" * MAX_NODES)
    assert found.kind == "size" and f"{MAX_NODES:,}" in found.message
    assert len(list(walk(parse("- x\n" * MAX_NODES, max_nodes=2 * MAX_NODES) or tree("x")))) == (
        MAX_NODES + 1
    )


def test_an_alias_bomb_stays_as_small_as_it_is_written() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 20)]
    root = tree("\n".join(lines))
    assert len(list(walk(root))) == 1 + 20 * 2 + 20 * 9
    last = list(walk(root))[-1]
    assert isinstance(last, Alias) and isinstance(last.target, Sequence)
    assert last.target.anchor == "a18"


def test_a_list_that_holds_itself_ends() -> None:
    root = tree("&a [*a, x]")
    assert [type(node) for node in walk(root)] == [Sequence, Alias, Scalar]


@pytest.mark.parametrize(
    "tag",
    [
        "!!python/object/apply:os.mkdir",
        "!!python/object/new:os.mkdir",
        "!!python/name:os.mkdir",
        "!<tag:yaml.org,2002:python/object/apply:os.mkdir>",
    ],
)
def test_a_tag_is_told_and_never_obeyed(tag: str, tmp_path: Path) -> None:
    target = tmp_path / "made-by-yaml"
    text = f"description: {tag} [{str(target)!r}]"
    node = list(walk(tree(text)))[2]
    assert isinstance(node, Sequence) and node.tag and "os.mkdir" in node.tag
    assert not target.exists()


def test_the_same_tag_would_work_on_a_careless_reader(tmp_path: Path) -> None:
    target = tmp_path / "made-by-yaml"
    yaml.unsafe_load(f"!!python/object/apply:os.mkdir [{str(target)!r}]")
    assert target.exists()


@pytest.mark.parametrize("character", "\0\x01\x08\x0b\x0c\x1b\x1f\x7f\x80\x84\x86\x9f\ufffe\uffff")
def test_control_characters_are_named_with_their_place(character: str) -> None:
    found = problem(f"é: x{character}y")
    assert (found.kind, found.offset) == ("control", 4)
    assert f"U+{ord(character):04X}" in found.message


@pytest.mark.parametrize("character", "\t\xa0\u200b\ufffd😀")
def test_other_characters_are_allowed(character: str) -> None:
    node = list(walk(tree(f"a: x{character}y")))[2]
    assert isinstance(node, Scalar) and node.value[0] == "x" and node.value[-1] == "y"
