"""Links, code and headings are what CommonMark and GitHub make of them, with right places."""

from __future__ import annotations

import pytest
from fuzz_skill import cpu_limit
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from skilleval.skill import Markdown


def targets(text: str) -> list[str]:
    return [link.target for link in Markdown(text).links]


def anchors(text: str) -> set[str]:
    return set(Markdown(text).anchors)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a](b.md)", ["b.md"]),
        ("[a](b.md#c)", ["b.md#c"]),
        ('[a](b.md "title")', ["b.md"]),
        ("[a](<b c.md>)", ["b c.md"]),
        ("[a](b\\_c.md)", ["b_c.md"]),
        ("[a](b%20c.md)", ["b%20c.md"]),
        ("[a][r]\n\n[r]: b.md", ["b.md"]),
        ("[r]\n\n[r]: b.md", ["b.md"]),
        ("[a]()", [""]),
        ("[![x](y.png)](z.md)", ["z.md", "y.png"]),
        ("[a\nb](c.md)", ["c.md"]),
        ("| [a](b.md) |\n| --- |\n| [c](d.md) |", ["b.md", "d.md"]),
        ("- [a](b.md)\n  - [c](d.md)", ["b.md", "d.md"]),
        ("> [a](b.md)", ["b.md"]),
        ("# [a](b.md)", ["b.md"]),
        ("**[a](b.md)**", ["b.md"]),
        ("<https://example.com>", ["https://example.com"]),
        ("[a] (b.md)", []),
        ("\\[a](b.md)", []),
        ("`[a](b.md)`", []),
        ("```\n[a](b.md)\n```", []),
        ("    [a](b.md)", []),
        ("~~~\n```\n[a](b.md)\n~~~", []),
        ("<!-- [a](b.md) -->", []),
        ("`List[T](x: int)`", []),
        ("[r]: b.md", []),
        ("[a](b c.md)", []),
        ("[a](b.md", []),
    ],
)
def test_links(text: str, expected: list[str]) -> None:
    assert targets(text) == expected


def test_an_image_is_told_from_a_link() -> None:
    links = Markdown("![a](b.png) and [c](d.md)").links
    assert [(link.target, link.image) for link in links] == [("b.png", True), ("d.md", False)]


def test_code_blocks_with_their_language() -> None:
    text = "a\n\n```python title=x\ncode\n```\n\n~~~\nmore\n~~~\n\n    indented\n\n- ```sh\n  ls\n"
    markdown = Markdown(text)
    assert [block.info for block in markdown.blocks] == ["python title=x", "", "", "sh"]
    assert "code" in text[slice(*markdown.blocks[0].span)]
    assert markdown.in_code(text.index("code")) and markdown.in_code(text.index("indented"))
    assert not markdown.in_code(0)


def test_an_unclosed_fence_runs_to_the_end() -> None:
    markdown = Markdown("a\n\n```\n# no heading\n[a](b.md)\n")
    assert (markdown.headings, markdown.links) == ([], [])


def test_code_spans_and_what_is_inside() -> None:
    text = "a `b` ``c ` d`` `e\nf` \\`g\\` <b>`h`</b>"
    markdown = Markdown(text)
    assert [span.text for span in markdown.code_spans] == ["b", "c ` d", "e f", "h"]
    inside = [text[at] for at in range(len(text)) if markdown.in_code(at) and text[at].isalpha()]
    assert inside == list("bcdefh")


def test_headings_of_every_kind() -> None:
    text = "# One\n\nTwo\n===\n\nThree\n---\n\n###### Six ######\n\n#hash\n\n> # Quoted `code`\n"
    headings = Markdown(text).headings
    assert [(heading.level, heading.text) for heading in headings] == [
        (1, "One"),
        (1, "Two"),
        (2, "Three"),
        (6, "Six"),
        (1, "Quoted code"),
    ]
    assert text[slice(*headings[0].span)].startswith("# One")


def test_the_headings_over_a_place() -> None:
    text = "x\n\n# A\n\na\n\n## B\n\nb\n\n## C\n\nc\n\n# D\n\nd\n"
    over = Markdown(text).headings_over
    assert over(0) == []
    assert over(text.index("b\n")) == ["A", "B"]
    assert over(text.index("c\n")) == ["A", "C"]
    assert over(text.index("d\n")) == ["D"]


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("Getting started", "getting-started"),
        ("What's new?", "whats-new"),
        ("C++ & C#", "c--c"),
        ("a.b/c_d", "abc_d"),
        ("1. First step", "1-first-step"),
        ("`code` and *emphasis*", "code-and-emphasis"),
        ("[link](x.md) text", "link-text"),
        ("Ünïcode ÄÖ", "ünïcode-äö"),
        ("技能 说明", "技能-说明"),
        ("🚀 Launch", "-launch"),
        ("Launch 🚀", "launch-"),
        ("a - b", "a---b"),
        ("a  b", "a--b"),
        ("--flag", "--flag"),
        ("A — B", "a--b"),
        ("Cafe\u0301", "cafe\u0301"),
        ("हिन्दी में", "हिन्दी-में"),
        ("ภาษาไทยที่นี่", "ภาษาไทยที่นี่"),
        ("x² and ½", "x-and-"),
        ("<b>bold</b> move", "bold-move"),
        ("a<br>b", "ab"),
        ("ends with colon:", "ends-with-colon"),
        ("`--fix` &amp; more", "--fix--more"),
        ("foo_bar **__init__**", "foo_bar-init"),
    ],
)
def test_anchors_are_those_of_github(heading: str, anchor: str) -> None:
    assert anchors(f"# {heading}\n") == {anchor}


@pytest.mark.parametrize(
    ("headings", "expected"),
    [
        (["A", "A", "A"], {"a", "a-1", "a-2"}),
        (["A", "A-1", "A"], {"a", "a-1", "a-2"}),
        (["A-1", "A", "A"], {"a-1", "a", "a-2"}),
        (["!", "?"], {"", "-1"}),
        (["A", "a", "Ä"], {"a", "a-1", "ä"}),
    ],
)
def test_repeated_headings_are_numbered(headings: list[str], expected: set[str]) -> None:
    assert anchors("\n\n".join(f"# {heading}" for heading in headings)) == expected


def test_anchors_set_by_hand() -> None:
    text = '<a id="One"></a>\n\n<a name=two>x</a> <b class="c" id=\'three\'>y</b>\n\n## B {#four}\n'
    assert {"one", "two", "three", "four"} <= anchors(text)


def test_ids_in_code_and_other_attributes_are_no_anchors() -> None:
    text = '`<a id="one">`\n\n```\n<a id="two">\n```\n\n<a data-id="three" href="#four">x</a>\n'
    assert anchors(text) == set()


def test_headings_in_code_are_no_anchors() -> None:
    assert anchors("```\n# One\n```\n\n    # Two\n") == set()


WORDS = st.text(
    st.sampled_from("ab é技😀\u0301\u200d🏴ß\u2028\x85\ufeff-_.!#*[]()<>`\\|~\t"),
    min_size=1,
    max_size=8,
)
MARKUP = st.sampled_from(
    "\n;\r\n;\n\n;`x`;`é😀`;[a](b.md);[技](é.md#ü);![x](y);# ;## é\n;```\n;é```;    ;> ;- ;"
    "<b id=é>;<!-- 😀 -->;| a | b |\n| - | - |\n".split(";")
)
PIECES = st.lists(WORDS | MARKUP, max_size=14).map("".join)


@settings(max_examples=200, deadline=None)
@given(PIECES, st.text("aé😀\n", max_size=5))
@example("é😀 `x` 技 `y`", "😀")
@example("> `a\n> b`\n", "")
def test_places_lead_to_what_is_there(body: str, above: str) -> None:
    text, start = above + body, len(above)
    markdown = Markdown(text, start)
    for span, code in markdown.code_spans:
        written = text[span.start : span.end]
        assert written[0] == written[-1] == "`"
        if not set(written) & set("\r\n|>\\"):  # nothing of what stands around it
            assert written.strip("`").strip(" ") == code.strip(" ")
        assert markdown.in_code(span.start) and markdown.in_code(span.end - 1)
    for link in markdown.links:
        assert text[link.span.start] in "[<!"
        assert (text[link.span.start] == "!") == link.image
    for heading in markdown.headings:
        assert start <= heading.span.start < heading.span.end <= len(text)
    for block in markdown.blocks:
        assert start <= block.span.start <= block.span.end <= len(text)


@settings(max_examples=200, deadline=None)
@given(PIECES.filter(lambda text: not any(mark in text for mark in ("{", "[^", "|"))))
def test_another_parser_finds_the_same(text: str) -> None:
    tokens = MarkdownIt("commonmark").parse(text)  # tables end differently in every dialect
    inline = [child for token in tokens for child in token.children or ()]
    markdown = Markdown(text)
    assert len(markdown.code_spans) == sum(child.type == "code_inline" for child in inline)
    assert len(markdown.headings) == sum(token.type == "heading_open" for token in tokens)
    assert len(markdown.blocks) == sum(token.type in ("fence", "code_block") for token in tokens)


HOSTILE = {
    "brackets": "[" * 50_000,
    "links in links": "[a](" * 20_000,
    "images": "![" * 20_000,
    "backticks": "".join("`" * n + " " for n in range(400)),
    "emphasis": "*a_" * 20_000,
    "quotes": ">" * 5_000 + "a",
    "lists": "".join("  " * n + "- a\n" for n in range(300)),
    "references": "[a]: b\n" * 10_000 + "[a]\n" * 10_000,
    "tables": "|a" * 5_000 + "\n" + "|-" * 5_000 + "\n" + "|b\n" * 2_000,
    "angle brackets": "<" * 50_000,
    "comments": "<!--" * 10_000,
    "ids": "<a " * 20_000,
    "ids in one tag": "<a" + " id=x" * 20_000 + ">",
    "spaces in a tag": "<a" + " " * 50_000 + ">",
    "the same heading": "# a\n" * 20_000,
    "headings without text": "#\n" * 20_000,
    "entities": "&amp;" * 20_000,
    "footnotes": "[^a]" * 10_000 + "\n\n[^a]: b\n",
    "emoji": "😀`x` " * 20_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_takes_no_longer_than_a_moment(name: str) -> None:
    with cpu_limit(2.0):
        markdown = Markdown(HOSTILE[name])
        assert len(markdown.anchors) <= len(HOSTILE[name])
        assert not markdown.in_code(len(HOSTILE[name]) + 1)
