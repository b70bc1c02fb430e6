"""Keys do not show, whatever they look like and wherever they stand."""

from __future__ import annotations

import logging

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import skilleval.redaction as redaction
from skilleval.redaction import hide, redact, redact_data, redact_logs

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(autouse=True)
def nothing_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_hidden", set())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("sk-ant-api03-AbC_d-123 and more", "[redacted] and more"),
        ("x-api-key: sk-ant-oat01-abcdefgh", "x-api-key: [redacted]"),
        ("Authorization: Bearer abc.def/ghi+jkl==", "Authorization: Bearer [redacted]"),
        ("https://me:pass@host/x", "https://[redacted]@host/x"),
        ("redis://u:p@h and http://h:8080/a@b", "redis://[redacted]@h and http://h:8080/a@b"),
        ("a Bearer of bad news", "a Bearer of bad news"),
        ("sk-ant- and sk-ant-x", "sk-ant- and sk-ant-x"),
        ("", ""),
    ],
)
def test_what_looks_like_a_key_is_hidden(text: str, shown: str) -> None:
    assert redact(text) == shown


def test_what_was_hidden_is_hidden() -> None:
    hide("my-secret")
    assert redact("my-secret, my-secrets, MY-SECRET") == "[redacted], [redacted]s, MY-SECRET"


@pytest.mark.parametrize("value", [None, "", "none", "short"])
def test_words_are_not_hidden(value: str | None) -> None:
    hide(value)
    assert redact("none is short") == "none is short"


def test_a_key_may_begin_another() -> None:
    hide("secret-key")
    hide("secret-key-2")
    hide("key-2-and-more")
    assert redact("secret-key-2 secret-key") == "[redacted] [redacted]"


def test_keys_of_any_script() -> None:
    hide("schlüssel-🗝️")
    hide("(.*)+[a-z]")
    assert redact("schlüssel-🗝️ (.*)+[a-z] abc") == "[redacted] [redacted] abc"


def test_data_is_redacted_all_through() -> None:
    hide("my-secret")
    data = {"a": ["my-secret", {"my-secret": ("x my-secret", 7, None, True, 1.5)}]}
    assert redact_data(data) == {
        "a": ["[redacted]", {"[redacted]": ["x [redacted]", 7, None, True, 1.5]}]
    }
    assert "my-secret" in str(data)


secrets = st.text(min_size=6, max_size=12)


@patient
@given(st.lists(secrets, max_size=4), st.lists(st.text(max_size=5), min_size=5, max_size=5))
def test_no_hidden_value_is_left(values: list[str], between: list[str]) -> None:
    redaction._hidden.clear()
    for value in values:
        hide(value)
    text = "".join(part for pair in zip(between, [*values, ""], strict=False) for part in pair)
    left = redact(text).replace("[redacted]", "\0")
    assert not [value for value in values if value in left]


@patient
@given(st.text())
def test_texts_without_keys_stay_as_they_are(text: str) -> None:
    redaction._hidden.clear()
    if not any(mark in text for mark in ("sk-ant-", "Bearer ", "://")):
        assert redact(text) == text


def test_it_takes_time_in_proportion() -> None:
    for text in (
        "sk-ant-" * 100_000,
        "://a" * 200_000,
        "Bearer " * 100_000,
        "://" + "a:" * 300_000,
    ):
        redact(text)


def test_logs_of_others_are_redacted(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    hide("my-secret")
    redact_logs("some.client", "some.client")
    log = logging.getLogger("some.client")
    log.debug("sent %s to %d", "my-secret", 7)
    try:
        raise ValueError("my-secret")
    except ValueError:
        log.exception("failed")
    assert caplog.messages == ["sent [redacted] to 7", "failed"]
    assert "my-secret" not in caplog.text
