"""Finding suites and loading them."""

from __future__ import annotations

import os
from typing import Any

import pytest
from conftest import GOOD, PROJECT, Write
from evals.kit import FILES

from skilleval.errors import InputError, NothingFound
from skilleval.evals import InputFile, find_suites, load_suite, load_suites, locate

CASE = '[{"skills": ["pdf-tools"], "query": "q", "files": ["evals/files/a.pdf"], "tags": ["t"]}]'
TREE = {
    "evals/all.json": FILES["native"],
    "evals/notes.md": "x",
    "evals/files/x.json": "{}",
    "evals/grading.json": "{}",
    "evals/case/prompt.md": "q",
    "skills/pdf-tools/SKILL.md": GOOD,
    "skills/pdf-tools/evals/evals.json": CASE,
    "skills/pdf-tools/evals/files/a.pdf": "x",
    "skills/other/SKILL.md": GOOD.replace("pdf-tools", "other"),
    "skills/other/evals.json": FILES["trigger"],
}


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        ([], ["evals/all.json", "evals/case", "skills/other/evals.json",
              "skills/pdf-tools/evals/evals.json"]),
        (["skills"], ["skills/other/evals.json", "skills/pdf-tools/evals/evals.json"]),
        (["evals"], ["evals/all.json", "evals/case"]),
        (["evals/case"], ["evals/case"]),
        (["skills/other", "skills"],
         ["skills/other/evals.json", "skills/pdf-tools/evals/evals.json"]),
        (["evals/files/x.json"], ["evals/files/x.json"]),
    ],
)  # fmt: skip
def test_find(write: Write, paths: list[str], found: list[str]) -> None:
    write(TREE)
    assert find_suites(paths) == found


def test_nothing_found_is_an_error(write: Write) -> None:
    write({"skills/a/SKILL.md": GOOD})
    with pytest.raises(NothingFound, match="0 files of cases found in skills"):
        find_suites(["skills"])
    with pytest.raises(InputError, match="no such file or folder: gone"):
        find_suites(["gone"])


def test_load(write: Write) -> None:
    write(TREE)
    names: list[str] = []
    loaded = load_suites(
        find_suites(), skills=["pdf-tools", "a"], keep_going=True,
        loaded=lambda suite: names.append(suite.path),
    )  # fmt: skip
    assert len(loaded.records) == 3
    assert names == ["evals/all.json", "evals/case", "skills/pdf-tools/evals/evals.json"]
    assert [error.message for error in loaded.errors] == [
        "skills/other/evals.json:1: there is no skill `other`"
    ]
    assert loaded.remarks == [] or {remark.kind for remark in loaded.remarks} == {"ungradeable"}


def test_a_case_that_names_no_skill_is_about_the_one_it_lies_in(write: Write) -> None:
    write({"odd-folder/SKILL.md": GOOD, "odd-folder/evals/t.json": FILES["trigger"],
           "evals/t.json": FILES["trigger"]})  # fmt: skip
    assert load_suite("odd-folder/evals/t.json").records[0].skills == ("pdf-tools",)
    assert load_suite("evals/t.json").records[0].skills is None


def native(**change: Any) -> str:
    import json

    return json.dumps([{"skills": ["a"], "query": "q", "should_trigger": True},
                       {"skills": ["a"], "query": "q", **change}], indent=0)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        (native(skills=["pdf-tool"]), r"evals/e\.json:9: there is no skill `pdf-tool`",
         "Did you mean `pdf-tools`?"),
        (native(expected_skill="zzz"), "there is no skill `zzz`", "at hand are: a, pdf-tools"),
        (native(distractors=["zzz"]), "there is no skill `zzz`", "at hand"),
        (native(files=["gone.csv"]), r"evals/e\.json:9: the file gone\.csv is not there",
         "It was looked for below"),
        (native(files=["link"]), "the file link is not there", "looked for"),
        ("[]", r"evals/e\.json:1: there is no case", "Write a case"),
        ("", r"evals/e\.json:1:1: the file is empty", "Write a case"),
        ("{}", "of no known format", "docs"),
        ("[{]", "no JSON", "well-formed"),
    ],
)  # fmt: skip
def test_what_is_wrong_has_file_line_and_remedy(
    write: Write, text: str, message: str, remedy: str
) -> None:
    write({"evals/e.json": text, "evals/link": "-> /etc/passwd", "evals/ok.json": FILES["native"]})
    with pytest.raises(InputError, match=message) as raised:
        load_suite("evals/e.json", skills=["a", "pdf-tools"])
    assert remedy in raised.value.remedy
    with pytest.raises(InputError, match=message):
        load_suites(["evals/e.json", "evals/ok.json"], skills=["a", "pdf-tools"])
    loaded = load_suites(
        ["evals/e.json", "evals/ok.json"], skills=["a", "pdf-tools"], keep_going=True
    )
    assert len(loaded.errors) == len(loaded.suites) == 1


def test_no_case_at_all_is_an_error(write: Write) -> None:
    write({"a.json": "[]", "b.json": ""})
    with pytest.raises(NothingFound, match=r"0 cases found in 2 files: a\.json:1: there is no"):
        load_suites(["a.json", "b.json"], keep_going=True)


def test_locate(write: Write) -> None:
    root = write(TREE | {"skills/pdf-tools/evals/near.txt": "x", "out": "x",
                         "skills/pdf-tools/link": "-> ../../out"})  # fmt: skip
    suite = load_suite("skills/pdf-tools/evals/evals.json")
    skill = os.path.realpath(root / "skills" / "pdf-tools")
    assert locate(suite.records[0].files[0], suite) == os.path.join(skill, "evals/files/a.pdf")
    assert locate(InputFile("near.txt"), suite) == os.path.join(skill, "evals/near.txt")
    for name in ("link", "../other/evals.json", "gone"):
        assert locate(InputFile(name), suite) is None
    assert locate(InputFile(content="x", path="a"), suite) is None


def test_the_sample_suites_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    skills = sorted(os.listdir("skills"))
    loaded = load_suites(find_suites(), skills=skills)
    assert len(loaded.suites) == 6
    assert len(loaded.records) == 56
    assert loaded.remarks == []
