"""Shell blocks of instructions, and files of a query."""

from __future__ import annotations

import shlex
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skilleval.models.offline.shell import commands_in, files_in, quoted, substitute


@pytest.mark.parametrize("language", ["bash", "sh", "shell", "zsh", "console", "Bash title=x"])
def test_languages(language: str) -> None:
    assert commands_in(f"```{language}\nls\n```") == ["ls"]


@pytest.mark.parametrize("block", ["```python\nls\n```", "```\nls\n```", "    ls", "`ls`", ""])
def test_what_is_no_shell_block(block: str) -> None:
    assert commands_in(block) == []


def test_order_repeats_and_lists() -> None:
    body = (
        "1. First\n\n   ```bash\n   one\n     two\n   ```\n\n~~~sh\nthree\n~~~\n\n```sh\nthree\n```"
    )
    assert commands_in(body) == ["one\n  two", "three"]


@pytest.mark.parametrize(
    ("block", "command"),
    [
        ("$ ls\na.csv\n$ cat a.csv\n1", "ls\ncat a.csv"),
        ("$ python x.py \\\n>   --all\nout", "python x.py \\\n  --all"),
        ("ls\n$ no prompt here", "ls\n$ no prompt here"),
    ],
)
def test_prompts(block: str, command: str) -> None:
    assert commands_in(f"```console\n{block}\n```") == [command]


@pytest.mark.parametrize(
    ("query", "files"),
    [
        ("Tidy orders.csv and logs/app.log.gz.", ["orders.csv", "logs/app.log.gz"]),
        ("Is (a.json) equal to `b.json`, or a.json?", ["a.json", "b.json"]),
        ("Open \"my sales.csv\" and 'the other.tsv'.", ["my sales.csv", "the other.tsv"]),
        ("don't touch x.csv, it's fine", ["x.csv"]),
        ("../data/x.csv and ~/y.db", ["../data/x.csv", "~/y.db"]),
        ("v1.4.0..v1.5.0, 3.1.0 and 17.5, e.g. i.e. U.S. law", []),
        ("https://example.org/a.csv or a@example.org", []),
        ("no file at all. None", []),
        ("résumé.pdf", ["résumé.pdf"]),
    ],
)
def test_files(query: str, files: list[str]) -> None:
    assert files_in(query) == files


def test_files_are_words_for_a_shell() -> None:
    odd = ["a b.csv", "$(rm -rf x).csv", "it's.csv"]
    assert shlex.split(quoted(odd)) == odd


def test_placeholders() -> None:
    text = "${CLAUDE_SKILL_DIR}/run $ARGUMENTS $HOME"
    assert substitute(text, "/s", "a.csv") == "/s/run a.csv $HOME"


@given(st.text())
def test_any_text(text: str) -> None:
    assert all(command.strip() == command for command in commands_in(text))
    assert all(name in text for name in files_in(text))


@pytest.mark.parametrize("text", ["a" * 20_000, "a." * 10_000, "'\"`" * 7_000, "~/" * 10_000])
def test_hostile_queries_take_linear_time(text: str) -> None:
    began = time.perf_counter()
    files_in(text)
    assert time.perf_counter() - began < 1
