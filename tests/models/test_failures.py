"""What an endpoint's error means, in whatever words it comes."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skilleval.errors import ExitCode, Failure, ModelError
from skilleval.models.failures import failure_of_status, pause_of, shown, words_of
from skilleval.redaction import hide

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

TYPES = {
    "invalid_request_error": Failure.INVALID_REQUEST,
    "authentication_error": Failure.AUTHENTICATION,
    "billing_error": Failure.BILLING,
    "permission_error": Failure.PERMISSION,
    "not_found_error": Failure.NOT_FOUND,
    "request_too_large": Failure.TOO_LONG,
    "rate_limit_error": Failure.RATE_LIMIT,
    "timeout_error": Failure.TIMEOUT,
    "overloaded_error": Failure.OVERLOADED,
    "api_error": Failure.SERVER,
    "news": Failure.SERVER,
    "": Failure.SERVER,
}


def failure(status: int | None, kind: str = "", message: str = "", **values: object) -> ModelError:
    return failure_of_status(status, kind, message, model="m", **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(("kind", "expected"), TYPES.items())
def test_without_a_status_the_type_counts(kind: str, expected: Failure) -> None:
    assert failure(None, kind).failure is expected


def test_the_types_are_those_of_the_sdk() -> None:
    from typing import get_args

    from anthropic.types.shared.error_type import ErrorType

    words = {word for word in get_args(ErrorType) if isinstance(word, str)}
    assert set(TYPES) - words == {"news", "", "request_too_large"}


def test_the_status_goes_before_the_type() -> None:
    assert failure(429, "api_error").failure is Failure.RATE_LIMIT
    assert failure(418, "overloaded_error").failure is Failure.OVERLOADED
    assert failure(418).failure is Failure.INVALID_REQUEST
    assert failure(599).failure is Failure.SERVER


TOO_LONG = [
    "prompt is too long: 210000 tokens > 200000 maximum",
    "the request exceeds the available context size (4096 tokens)",
    "This model's maximum context length is 8192 tokens.",
    "input length and `max_tokens` exceed context limit: too many tokens",
]


@pytest.mark.parametrize("message", TOO_LONG)
def test_a_prompt_that_is_too_long_is_told_apart(message: str) -> None:
    found = failure(400, "invalid_request_error", message)
    assert found.failure is Failure.TOO_LONG
    assert "Send less" in found.remedy
    assert failure(500, "", message).failure is Failure.SERVER


def test_an_empty_account_is_told_apart() -> None:
    found = failure(400, "invalid_request_error", "Your credit balance is too low.", key="K")
    assert found.failure is Failure.BILLING
    assert "K" in found.remedy


@pytest.mark.parametrize("status", [401, 402, 403, 404])
def test_what_is_set_up_wrong_ends_with_2_and_has_a_remedy(status: int) -> None:
    found = failure(status, message="No.", key="")
    assert found.exit_code == ExitCode.USAGE
    assert found.remedy
    assert not found.passing


@pytest.mark.parametrize("status", [408, 429, 500, 503, 504, 529])
def test_what_passes_ends_with_3(status: int) -> None:
    found = failure(status, retry_after=3.0, request_id="r")
    assert found.exit_code == ExitCode.UNMEASURED
    assert found.passing
    assert (found.retry_after, found.request_id, found.status) == (3.0, "r", status)


def test_keys_are_not_shown_and_nothing_is_endless() -> None:
    hide("hidden-value")
    assert (
        failure(500, message="a hidden-value b").message == "m: server error (500): a [redacted] b"
    )
    assert shown("x" * 5_000, 10) == "x" * 10 + "…"
    assert shown("short") == "short"


bodies = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["error", "message", "type", "detail"]), inner)
    ),
)


@patient
@given(bodies)
def test_whatever_the_body_is_the_words_are_texts(body: object) -> None:
    kind, said = words_of(body)
    assert isinstance(kind, str)
    assert isinstance(said, str)


@patient
@given(st.text(max_size=12) | st.floats().map(str) | st.integers().map(str), st.text(max_size=5))
def test_a_pause_is_positive_and_finite(seconds: str, milliseconds: str) -> None:
    pause = pause_of({"retry-after": seconds, "retry-after-ms": milliseconds})
    assert pause is None or 0 < pause < float("inf")
