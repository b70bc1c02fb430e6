"""The page on records says everything, and its example can be read."""

from __future__ import annotations

import re
from dataclasses import fields

from evals.kit import read

from skilleval.evals import KINDS, Record
from skilleval.evals.describe import attributes, markdown
from skilleval.evals.registry import formats


def test_every_field_check_and_format_is_there() -> None:
    page = markdown()
    about = attributes(Record)
    assert set(about) == {field.name for field in fields(Record)}
    for name in [*about, *KINDS, *formats()]:
        assert name == "origin" or f"| `{name}` |" in page or f"| {name} |" in page, name
    assert "Mapping[" not in page and "tuple[" not in page


def test_the_example_can_be_read() -> None:
    example = re.search(r"```json\n(.*?)```", markdown(), re.DOTALL)
    assert example
    found = read(example[1])
    assert found.format == "native"
    assert found.remarks == ()
