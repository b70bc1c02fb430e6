"""Settings of models: what they add and override, and what no file may do to a user."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from conftest import Write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skilleval.errors import ExitCode, InputError, SettingsError
from skilleval.models.settings import (
    DEFAULT_KEY,
    Limits,
    Model,
    ModelSettings,
    check_base_url,
    fill_in,
    find_model,
    read_models,
)
from skilleval.models.tiers import Prices, find_tier
from skilleval.redaction import redact

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

EVERYTHING = """
[models.mine]
id = "vendor/model:7b"
base-url = "http://[::1]:8080/api/"
key-env = "SKILLEVAL_KEY"
headers = { X-Team = "a team", Authorization = "Bearer ${SKILLEVAL_TOKEN}" }
input = 1
output = 2.5
cache-read = 0
cache-write = 1.25
long-input = 3
context-window = 32768
max-output = 4096
thinking = "budget"
effort = "low"
concurrency = 3
requests-per-minute = 50
input-tokens-per-minute = 40_000
output-tokens-per-minute = 8_000
retries = 0
"""


def one(write: Write, entry: str, name: str = "mine") -> Model:
    write({"skilleval.toml": f"[models.'{name}']\n{entry}\n"})
    return find_model(name, read_models())


def refused(write: Write, content: str) -> SettingsError | InputError:
    write({"skilleval.toml": content})
    with pytest.raises(InputError) as caught:
        read_models()
    assert caught.value.exit_code == ExitCode.USAGE
    assert "skilleval.toml" in caught.value.message
    assert "pydantic" not in caught.value.message
    assert len(caught.value.message) < 700
    return caught.value


# What they add and override


def test_everything(write: Write) -> None:
    write({"skilleval.toml": EVERYTHING})
    model = find_model("mine", read_models())
    assert model.tier.id == "vendor/model:7b"
    assert model.tier.prices == Prices(1, 2.5, 0, 1.25, 3)
    assert (model.tier.context_window, model.tier.max_output) == (32_768, 4_096)
    assert (model.tier.thinking, model.tier.effort) == ("budget", "low")
    assert model.base_url == "http://[::1]:8080/api/"
    assert model.key_env == "SKILLEVAL_KEY"
    assert model.headers == {"X-Team": "a team", "Authorization": "Bearer ${SKILLEVAL_TOKEN}"}
    assert model.limits == Limits(3, 50, 40_000, 8_000, 0)
    assert model.known
    assert model.provider == "[::1]:8080"
    named = {line.split(" = ")[0].replace("-", "_") for line in EVERYTHING.split("\n")[2:-1]}
    assert named == {field.name for field in fields(ModelSettings)}


def test_the_project_file_will_do(write: Write) -> None:
    write({"pyproject.toml": EVERYTHING.replace("[models.mine]", "[tool.skilleval.models.mine]")})
    assert find_model("mine", read_models()).tier.max_output == 4_096


def test_without_settings_there_are_none(write: Write) -> None:
    write({})
    assert read_models() == {}
    write({"skilleval.toml": "[models]\n"})
    assert read_models() == {}


def test_a_known_model_is_overridden_in_part(write: Write) -> None:
    model = one(write, "input = 7\nmax-output = 100", "claude-haiku-5-5")
    known = find_tier("claude-haiku-5-5")
    assert known and known.prices
    assert model.tier == known._replace(prices=known.prices._replace(input=7), max_output=100)
    assert model.key_env == DEFAULT_KEY
    assert model.base_url is None
    assert model.provider == "anthropic"


def test_a_short_name_gets_the_settings_of_its_model(write: Write) -> None:
    write({"skilleval.toml": "[models.claude-haiku-5-5]\nbase-url = 'http://localhost:1'\n"})
    settings = read_models()
    for name in ("haiku", "haiku-5-5", "claude-haiku-5-5"):
        assert find_model(name, settings).base_url == "http://localhost:1"
    assert find_model("sonnet", settings).base_url is None
    settings["haiku"] = ModelSettings(max_output=5)
    assert find_model("haiku", settings).base_url is None
    assert find_model("haiku", settings).tier.max_output == 5


def test_another_name_may_stand_for_a_known_model(write: Write) -> None:
    model = one(write, "id = 'claude-opus-5-5'\nbase-url = 'https://gateway.example'\n")
    assert model.tier == find_tier("opus")
    assert model.key_env is None
    assert model.provider == "gateway.example"


def test_an_unknown_model_is_taken_without_a_price() -> None:
    model = find_model("llama3:8b", {})
    assert model.tier.id == "llama3:8b"
    assert model.tier.prices is None
    assert not model.known


def test_prices_of_the_cache_are_those_of_input_where_they_are_not_given(write: Write) -> None:
    assert one(write, "input = 1\noutput = 2").tier.prices == Prices(1, 2, 1, 1)
    assert one(write, "context-window = 9").known
    assert not one(write, "max-output = 9").known


def test_offline_and_local_models_need_nothing() -> None:
    for name in ("offline/literal", "local/a folder/x.gguf"):
        model = find_model(name, {})
        assert model.provider == name.split("/")[0]
        assert model.key_env is None
        assert model.tier.prices == Prices(0, 0, 0, 0)


def test_the_environment_names_the_default_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://gateway.example:8443/claude")
    assert find_model("haiku", {}).base_url == "https://gateway.example:8443/claude"
    assert find_model("haiku", {}).provider == "gateway.example:8443"
    own = {"haiku": ModelSettings(base_url="http://mine")}
    assert find_model("haiku", own).base_url == "http://mine"
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "")
    assert find_model("haiku", {}).base_url is None


@pytest.mark.parametrize(
    "url", ["http://[::1", "gateway", "ftp://x", "https://u:p@x", "http://x/v1"]
)
def test_the_environment_is_checked_too(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
    with pytest.raises(InputError, match="ANTHROPIC_BASE_URL"):
        find_model("haiku", {})
    find_model("offline/literal", {})
    find_model("haiku", {"haiku": ModelSettings(base_url="http://mine")})


@pytest.mark.parametrize(
    "name", ["", " ", "a b", "a\n", "\x1b[31m", "offline/", "local/", "a\u202eb", "\ud800"]
)
def test_what_is_no_name(name: str) -> None:
    with pytest.raises(InputError, match="no name of a model") as caught:
        find_model(name, {})
    assert "skilleval models" in caught.value.remedy


# What makes no sense

SENSELESS = {
    "a misspelt setting": ("base_url = 'http://x'", "base_url"),
    "a table in a table": ("models = {}", "models"),
    "a bool for a whole number": ("concurrency = true", "concurrency must be a number"),
    "a bool for a price": ("input = true\noutput = 1", "input must be a number"),
    "a text for a number": ("retries = '3'", "retries must be a number"),
    "a text for a price": ("input = '3'\noutput = 1", "input must be a number"),
    "words for a number": ("retries = 'many'", "retries"),
    "a fraction": ("max-output = 1.5", "max-output"),
    "no number": ("input = nan\noutput = 1", "input must be a number"),
    "an endless price": ("input = inf\noutput = 1", "input must lie"),
    "a negative price": ("input = -1\noutput = 1", "input must lie"),
    "a negative long price": ("input = 1\noutput = 1\nlong-input = -0.1", "long-input must lie"),
    "a huge price": (f"input = {'9' * 400}\noutput = 1", "input"),
    "no requests at once": ("concurrency = 0", "concurrency must lie between 1 and"),
    "no requests a minute": ("requests-per-minute = 0", "requests-per-minute"),
    "a negative allowance": ("input-tokens-per-minute = -5", "input-tokens-per-minute"),
    "a huge allowance": (f"output-tokens-per-minute = {'9' * 400}", "output-tokens-per-minute"),
    "no window": ("context-window = 0", "context-window"),
    "a negative output": ("max-output = -1", "max-output"),
    "retries for ever": ("retries = 1000", "retries must lie between 0 and 100"),
    "half a price": ("input = 1", "a price needs both input and output"),
    "the other half": ("output = 1", "a price needs both input and output"),
    "a price of the cache alone": ("cache-read = 1", "a price needs both input and output"),
    "an unknown way to think": ("thinking = 'hard'", "thinking"),
    "an unknown effort": ("effort = 'extreme'", "effort"),
    "a list": ("id = ['a']", "id"),
    "a date": ("id = 2020-01-01", "id"),
    "an empty id": ("id = ''", "id"),
    "an id with a line break": ("id = 'a\\nb'".replace("'", '"'), "id"),
    "headers that are a list": ("headers = ['a']", "headers"),
    "a header that is a number": ("headers = {a = 1}", "headers.a"),
    "a header with a blank in its name": ("headers = {'a b' = 'c'}", "'a b'"),
    "a header without a name": ("headers = {'' = 'c'}", "headers"),
    "a header with a line break": ('headers = {a = "b\\r\\nc: d"}', "'a'"),
    "a header that is not ASCII": ("headers = {a = 'ü'}", "'a'"),
    "the length of the body": ("headers = {Content-Length = '1'}", "can't be set"),
    "the host": ("headers = {hOST = 'x'}", "can't be set"),
    "a switch of the SDK": ("headers = {X-Stainless-Raw-Response = 'true'}", "can't be set"),
    "an address that is none": ("base-url = 'localhost:8080'", "base-url"),
    "an address of another kind": ("base-url = 'file:///etc/passwd'", "base-url"),
    "the variable of another key": ("key-env = 'AWS_SECRET_ACCESS_KEY'", "AWS_SECRET_ACCESS_KEY"),
    "a variable that only begins so": ("key-env = 'SKILLEVAL_'", "may not use"),
    "a variable with more behind": ('key-env = "SKILLEVAL_A\\nB"', "may not use"),
    "small letters": ("key-env = 'skilleval_key'", "may not use"),
    "our key elsewhere": (
        "base-url = 'http://evil.example'\nkey-env = 'ANTHROPIC_API_KEY'",
        "ANTHROPIC_API_KEY",
    ),
    "our key in a header": (
        "base-url = 'http://evil.example'\nheaders = {a = 'x ${ANTHROPIC_API_KEY}'}",
        "ANTHROPIC_API_KEY",
    ),
    "another key in a header": ("headers = {a = '${SKILLEVAL_A}${HOME}'}", "HOME"),
    "no name in a header": ("headers = {a = '${}'}", "may not use"),
}


@pytest.mark.parametrize(("entry", "words"), SENSELESS.values(), ids=list(SENSELESS))
def test_what_makes_no_sense_is_one_clear_error(write: Write, entry: str, words: str) -> None:
    error = refused(write, f"[models.mine]\n{entry}\n")
    assert words in error.message
    assert "[models.mine]" in error.message


TABLES = {
    "models is a number": "models = 3",
    "models is a list": "[[models]]",
    "a model is a text": "[models]\nmine = 'x'",
    "a model is a list of tables": "[[models.mine]]\nid = 'x'",
    "an offline model": "[models.'offline/literal']\ninput = 1\noutput = 1",
    "a local model": "[models.'local/x.gguf']",
    "a name with a blank": "[models.'a b']",
    "no name": "[models.'']",
    "a dotted name": "[models.gpt.4]\ninput = 1",
}


@pytest.mark.parametrize("content", TABLES.values(), ids=list(TABLES))
def test_tables_that_make_no_sense(write: Write, content: str) -> None:
    refused(write, content)


def test_the_default_key_may_go_to_the_default_endpoint(write: Write) -> None:
    entry = "key-env = 'ANTHROPIC_API_KEY'\nheaders = {X-Key = '${ANTHROPIC_API_KEY}'}"
    assert one(write, entry).key_env == DEFAULT_KEY


@patient
@given(
    st.dictionaries(
        st.sampled_from([field.name for field in fields(ModelSettings)]),
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text(max_size=9)
        | st.sampled_from(["low", "http://x", "SKILLEVAL_A", "adaptive"])
        | st.dictionaries(st.text(max_size=4), st.text(max_size=9) | st.integers(), max_size=2),
        max_size=5,
    )
)
def test_whatever_is_written_is_read_or_refused(entry: dict[str, Any]) -> None:
    from skilleval.models.settings import _settings

    table = {name.replace("_", "-"): value for name, value in entry.items()}
    try:
        own = _settings("f.toml", "mine", table)
    except InputError as error:
        assert "f.toml" in error.message
        return
    model = find_model("mine", {"mine": own})
    assert model.tier.prices is None or all(
        price is None or 0 <= price < float("inf") for price in model.tier.prices
    )
    assert min(limit for limit in model.limits if limit is not None) >= 0
    assert model.provider


# Addresses

GOOD_URLS = [
    "https://api.anthropic.com",
    "https://api.anthropic.com/",
    "http://127.0.0.1:8080",
    "http://[::1]:8080/",
    "http://[fe80::1]",
    "https://gateway.example/v1/claude",
    "https://gateway.example/anthropic",
    "HTTPS://UPPER.EXAMPLE",
    "http://local_host:1",
    "https://bücher.example",
]


@pytest.mark.parametrize("url", GOOD_URLS)
def test_addresses(url: str) -> None:
    check_base_url(url, "x")


BAD_URLS = [
    "",
    "x",
    "localhost:8080",
    "//host",
    "http://",
    "http:///path",
    "https:host",
    "http://host:0",
    "http://host:99999",
    "http://host:port",
    "http://[::1",
    "http://ho st",
    "http://host/\n",
    "http://host/\x00",
    "http://host/\u202e",
    "http://host?key=x",
    "http://host?",
    "http://host/#top",
    "ws://host",
    "javascript:alert(1)",
]


@pytest.mark.parametrize("url", BAD_URLS)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(InputError, match="is no address of an endpoint") as caught:
        check_base_url(url, "x")
    assert "https://host" in caught.value.remedy


@pytest.mark.parametrize(
    "url", ["http://h/v1", "http://h/v1/", "http://h/v1/messages", "http://h/v1/messages/"]
)
def test_v1_is_left_out(url: str) -> None:
    with pytest.raises(InputError) as caught:
        check_base_url(url, "base-url")
    assert caught.value.remedy == "Leave out /v1: http://h"
    assert url in caught.value.message


@pytest.mark.parametrize("url", ["https://me:pass-word@h", "ftp://me:pass-word@h", "http://t@h"])
def test_an_address_holds_no_password_and_none_is_shown(url: str) -> None:
    with pytest.raises(InputError) as caught:
        check_base_url(url, "x")
    assert "pass-word" not in f"{caught.value.message}{caught.value.remedy}"
    assert "header" in caught.value.remedy


# Variables in headers


def test_variables_are_filled_in_and_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKILLEVAL_A", " first-secret\n")
    monkeypatch.setenv("SKILLEVAL_B", "second-secret")
    headers = {"x": "${SKILLEVAL_A} and ${SKILLEVAL_B}", "y": "$SKILLEVAL_A ${SKILLEVAL_A"}
    assert fill_in(headers, "m") == {
        "x": "first-secret and second-secret",
        "y": "$SKILLEVAL_A ${SKILLEVAL_A",
    }
    assert redact("first-secret second-secret") == "[redacted] [redacted]"


@pytest.mark.parametrize("value", [None, "", " ", "two\nlines-of-secret", "schlüssel"])
def test_a_variable_that_can_not_be_sent(
    monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    monkeypatch.delenv("SKILLEVAL_A", raising=False)
    if value is not None:
        monkeypatch.setenv("SKILLEVAL_A", value)
    with pytest.raises(InputError, match="SKILLEVAL_A") as caught:
        fill_in({"x": "${SKILLEVAL_A}"}, "model m")
    assert "secret" not in caught.value.message
    assert "schl" not in caught.value.message


def test_what_a_variable_holds_is_not_looked_through_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SKILLEVAL_A", "${ANTHROPIC_API_KEY}")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "the-key")
    assert fill_in({"x": "${SKILLEVAL_A}"}, "m") == {"x": "${ANTHROPIC_API_KEY}"}
