"""Estimates of tokens, block by block."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from models.offline.kit import BASH, assistant, call, request, result, user
from models.offline.kit import text as block

from skilleval.models.offline.tokens import canonical, estimate, pieces_of, tokens

MARK = {"type": "ephemeral"}


@pytest.mark.parametrize(("size", "count"), [(0, 0), (1, 1), (4, 1), (5, 2), (400, 100)])
def test_four_bytes_a_token(size: int, count: int) -> None:
    assert tokens(size) == count
    assert estimate(request("x" * size)) == count


def test_order_and_kinds() -> None:
    body = request(
        "hi", assistant(call("Bash")), user(result("out")), tools=[BASH], system="be kind"
    )
    assert [piece.kind for piece in pieces_of(body)] == [
        "tool", "text", "text", "tool_use", "tool_result",
    ]  # fmt: skip


def test_bytes_count_not_characters() -> None:
    assert estimate(request("ä" * 8)) == 4


def test_images_and_documents_have_a_flat_size() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "A" * 1_000_000}
    image = {"type": "image", "source": source}
    assert estimate(request(user(image))) == 1_600
    assert estimate(request(user(result([image, block("x" * 4)])))) == 1_601


def test_one_form_for_equal_content() -> None:
    marked = block("hi") | {"cache_control": MARK}
    plain, listed = pieces_of(request("hi")), pieces_of(request(user(marked)))
    assert plain[0].data == listed[0].data
    assert (plain[0].lifetime, listed[0].lifetime) == (None, 300)
    assert canonical({"a": 1, "b": 2}) == canonical({"b": 2, "a": 1})


def test_roles_differ() -> None:
    one, two = pieces_of(request("hi", {"role": "assistant", "content": "hi"}))
    assert one.data != two.data


def test_lifetimes_and_the_mark_of_the_request() -> None:
    hour = block("a") | {"cache_control": MARK | {"ttl": "1h"}}
    body = request(user(hour, block("b")), assistant({"type": "thinking", "thinking": "t"}))
    assert [p.lifetime for p in pieces_of(body)] == [3600, None, None]
    body["cache_control"] = MARK
    assert [p.lifetime for p in pieces_of(body)] == [3600, 300, None]


@pytest.mark.parametrize("value", [{1: 2, "a": 3}, {"x": object()}, {"x": "\ud800"}, [[]] * 3])
def test_odd_values(value: Any) -> None:
    assert isinstance(canonical(value), bytes)


def test_very_deep_values() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert canonical(deep) == b"<list>"


@given(st.lists(st.text(), min_size=1, max_size=5))
def test_a_prefix_is_never_more_than_the_whole(texts: list[str]) -> None:
    sizes = [estimate(request(*texts[: end + 1])) for end in range(len(texts))]
    assert sizes == sorted(sizes)
