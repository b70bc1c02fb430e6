"""What can be written as what."""

from __future__ import annotations

import json

import pytest
from evals.kit import FILES, read

from skilleval.errors import InputError
from skilleval.evals import convert, dump
from skilleval.evals.registry import formats
from skilleval.evals.writing import TARGETS


@pytest.mark.parametrize("target", ["native", "skill-creator", "trigger"])
@pytest.mark.parametrize("name", sorted(FILES))
def test_cases_can_be_written_in_three_formats(name: str, target: str) -> None:
    before = read(FILES[name])
    written = convert(before, target)
    after = read(dump(written.data)) if written.data else None
    if after is not None and name != "native":
        assert [r.query for r in after.records] == [r.query for r in before.records]
    if target == "native":
        assert not written.lost
        assert after.records == before.records


@pytest.mark.parametrize(
    ("name", "target", "remedy"),
    [
        ("native", "grading", "It can be written as native, skill-creator, trigger."),
        ("native", "benchmark", "It can be written as"),
        ("trigger", "waza", "These can: native"),
        ("trigger", "zzz", "These can: native"),
    ],
)
def test_what_can_not_be_written(name: str, target: str, remedy: str) -> None:
    with pytest.raises(InputError) as raised:
        convert(read(FILES[name]), target)
    assert remedy in raised.value.remedy


def test_results_are_no_cases() -> None:
    grading = read('{"expectations": [], "summary": {}}')
    with pytest.raises(InputError, match="holds results that can't be written as native"):
        convert(grading, "native")


def test_dump_is_utf_8_with_a_last_line_break() -> None:
    assert dump(["ä"]) == '[\n  "ä"\n]\n'.encode()
    assert json.loads(dump({"a": 1})) == {"a": 1}
    assert set(TARGETS) <= set(formats())
