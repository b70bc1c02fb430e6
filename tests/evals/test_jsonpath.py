"""The small part of JSONPath."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skilleval.evals.jsonpath import find, is_definite, problem

DATA = {"rows": [{"id": 1}, {"id": 2}, {"no": 3}], "odd key": {"it's": True}, "a-b": None}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$", [DATA]),
        ("$.rows[0].id", [1]),
        ("$.rows[-1].no", [3]),
        ("$.rows[*].id", [1, 2]),
        ("$.rows.*.id", [1, 2]),
        ("$['odd key']['it\\'s']", [True]),
        ('$["odd key"]["it\'s"]', [True]),
        ("$.a-b", [None]),
        ("$.rows[9]", []),
        ("$.rows.id", []),
        ("$.missing.more", []),
    ],
)
def test_find(path: str, found: list[Any]) -> None:
    assert problem(path) is None
    assert find(path, DATA) == found
    assert is_definite(path) == ("*" not in path)


@pytest.mark.parametrize(
    "path", ["", "rows", "$..id", "$[?@.a]", "$[1:2]", "$.", "$[01]", "$['a]", "$" + ".a" * 600]
)
def test_what_is_no_path(path: str) -> None:
    assert problem(path)
    with pytest.raises(ValueError):
        find(path, DATA)


def test_it_can_not_explode() -> None:
    data: Any = list(range(400))
    with pytest.raises(ValueError, match="more than"):
        find("$[*][*]", [data] * 400)


@given(st.text("$.[]*'\"\\a0-", max_size=20))
def test_any_text(path: str) -> None:
    if problem(path) is None:
        find(path, DATA)
