"""``skilleval models``"""

from __future__ import annotations

import pytest
from cli.kit import assert_one_clear_error, process, run
from conftest import Write

from skilleval.models.offline import OFFLINE_MODELS
from skilleval.models.tiers import ALIASES, TIERS

SETTINGS = """
[models.mine]
id = "other"
base-url = "http://127.0.0.1:8080"
key-env = "SKILLEVAL_KEY"
headers = { X-Secret = "literal-secret" }
input = 0.25
output = 1
long-input = 0.5
context-window = 32768

[models.strange]
base-url = "https://gateway.example/x"

[models.claude-opus-5-5]
input = 3
"""


def row(out: str, name: str) -> list[str]:
    return next(line.split() for line in out.splitlines() if line.split()[:1] == [name])


def test_the_known_models(write: Write) -> None:
    write({})
    result = run("models")
    assert result.code == 0
    assert result.err == ""
    for tier in TIERS:
        assert row(result.out, tier.id)[1] == "anthropic"
    assert row(result.out, "claude-haiku-5-5")[2:] == [
        "1,000,000",
        "128,000",
        "0.1",
        "(0.5)",
        "0.5",
        "0.01",
        "0.125",
        "adaptive",
        "medium",
    ]
    assert row(result.out, "claude-haiku-4-5")[-2:] == ["budget", "-"]
    for name in (*ALIASES, *OFFLINE_MODELS, "local/PATH.gguf", "ANTHROPIC_API_KEY"):
        assert name in result.out


def test_those_of_the_settings(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write({"skilleval.toml": SETTINGS})
    monkeypatch.setenv("SKILLEVAL_KEY", "own-key-0123456789")
    out = run("models").out
    assert row(out, "mine")[1:8] == [
        "127.0.0.1:8080",
        "32,768",
        "8,192",
        "0.25",
        "(0.5)",
        "1",
        "0.25",
    ]
    strange = row(out, "strange")
    assert strange[1] == "gateway.example"
    assert strange[2:4] == ["200,000?", "8,192?"]
    assert strange[4:8] == ["unknown"] * 4
    assert row(out, "claude-opus-5-5")[4:6] == ["3", "20"]
    assert [line.split()[0] for line in out.splitlines() if "claude-opus-5-5 " in line] == [
        "claude-opus-5-5"
    ]
    everything = out + run("models", "--format", "json").out
    assert "own-key" not in everything
    assert "literal-secret" not in everything


def test_as_json(write: Write) -> None:
    write({"skilleval.toml": SETTINGS})
    listed = run("models", "--format", "json").json
    assert listed["version"] == 1
    by_name = {model["name"]: model for model in listed["models"]}
    assert set(by_name) == {tier.id for tier in TIERS} | {"mine", "strange"}
    haiku = by_name["claude-haiku-5-5"]
    assert haiku["aliases"] == ["haiku"]
    assert haiku["prices"]["long_input"] == 0.5
    assert haiku["context_window"] == 1_000_000
    assert by_name["mine"]["id"] == "other"
    assert by_name["mine"]["known"]
    assert by_name["strange"]["prices"] is None
    assert not by_name["strange"]["known"]
    assert [model["name"] for model in listed["offline"]] == list(OFFLINE_MODELS)


def test_names_are_shown_whole_and_do_no_harm(write: Write) -> None:
    long, marked = "x" * 400, "[bold]:fire:[/bold]"
    write({"skilleval.toml": f"[models.'{long}']\n[models.'{marked}']\n"})
    out = run("models").out
    assert row(out, long)
    assert row(out, marked)
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("[models.mine]\ninput = nan\n", "input must be a number"),
        ("[models.mine]\nkey-env = 'HOME'\n", "HOME"),
        ("[models.mine]\nbase-url = 'http://u:pass-word@h'\n", "password"),
        ("[models.mine]\nbase-url = 'http://h/v1'\n", "http://h/v1"),
        ("[models.'a b']\n", "'a b'"),
        ('[models."a\\u001b[31m"]\n', "no name of a model"),
        ("[model]\n", "[model]"),
        ("models = 3\n", "not a table"),
    ],
)
def test_wrong_settings_are_one_clear_error(write: Write, settings: str, words: str) -> None:
    write({"skilleval.toml": settings})
    result = run("models")
    assert_one_clear_error(result, "skilleval.toml", words)
    assert "pass-word" not in result.err
    assert "\x1b" not in result.err


def test_a_wrong_address_in_the_environment(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write({})
    for url in ("http://[::1", "nowhere", "https://me:pass-word@host"):
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        result = run("models")
        assert_one_clear_error(result, "ANTHROPIC_BASE_URL")
        assert "pass-word" not in result.err


def test_it_needs_neither_a_key_nor_the_sdk(write: Write) -> None:
    from cli.kit import python

    write({})
    assert process("models").code == 0
    done = python(
        "import sys\nfrom skilleval.cli import run\nassert run(['models']) == 0\n"
        "assert not {'anthropic', 'httpx2', 'pydantic'} & set(sys.modules)\n"
    )
    assert done.code == 0, done.err
