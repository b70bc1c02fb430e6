"""The client, against a server that does everything wrong that a server can."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import os
import typing
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import pytest
from models.fake_api import (
    EVENT_STREAM,
    REQUEST,
    USAGE,
    FakeApi,
    Reaction,
    chunk,
    endless,
    error,
    head,
    message,
    raw,
    reply,
    silent,
    sse,
    stream,
    streamed,
    text,
    tool_use,
)

from skilleval.errors import ExitCode, Failure, InputError, ModelError
from skilleval.models import api as api_module
from skilleval.models.api import COUNTED, Api
from skilleval.models.messages import Event, Request
from skilleval.models.settings import Model
from skilleval.models.streams import events_of
from skilleval.models.tiers import TIERS

T = TypeVar("T")
KEY = "sk-own-0123456789"
LONG = {**REQUEST, "max_tokens": 64_000}
"""A request that has to be streamed."""


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKILLEVAL_KEY", KEY)


def model(url: str, **values: Any) -> Model:
    return Model("m", TIERS[0], base_url=url, **{"key_env": "SKILLEVAL_KEY", **values})


def with_api(use: Callable[[Api, FakeApi], Awaitable[T]], *reactions: Reaction, **values: Any) -> T:
    async def run() -> T:
        async with FakeApi(*reactions) as fake:
            api = Api(model(fake.url, **values))
            try:
                return await use(api, fake)
            finally:
                await api.close()

    return asyncio.run(run())


def ask(
    *reactions: Reaction, request: Request = REQUEST, on_event: Any = None, **values: Any
) -> dict[str, Any]:
    async def use(api: Api, fake: FakeApi) -> dict[str, Any]:
        return (await api.send(request, on_event))[0]

    return with_api(use, *reactions, **values)


def refused(
    *reactions: Reaction, request: Request = REQUEST, on_event: Any = None, **values: Any
) -> ModelError:
    with pytest.raises(ModelError) as caught:
        ask(*reactions, request=request, on_event=on_event, **values)
    return caught.value


# What is asked, and what comes back


def test_a_message_comes_back_as_it_is() -> None:
    async def use(api: Api, fake: FakeApi) -> None:
        found, request_id = await api.send(REQUEST, None)
        assert found == message()
        assert request_id == "req_1"
        assert fake.bodies == [REQUEST]
        received = fake.received[0]
        assert received.line == "POST /v1/messages HTTP/1.1"
        assert received.headers["authorization"] == f"Bearer {KEY}"
        assert received.headers["anthropic-version"]
        assert "anthropic-beta" not in received.headers

    with_api(use, reply(message(), request_id="req_1"))


@pytest.mark.parametrize("request_", [LONG, {**REQUEST, "max_tokens": 21_334}])
def test_long_answers_are_streamed(request_: Request) -> None:
    async def use(api: Api, fake: FakeApi) -> None:
        found, _ = await api.send(request_, None)
        assert found == message("Hello", tool_use(path="a"))
        assert fake.bodies == [{**request_, "stream": True}]

    with_api(use, streamed(message("Hello", tool_use(path="a"))))


def test_events_come_as_they_are_sent_but_for_pings() -> None:
    whole = message("x" * 1_000)
    events = list(events_of(whole))
    seen: list[Event] = []
    ask(stream([{"type": "ping"}, *events, {"type": "ping"}]), on_event=seen.append)
    assert seen == events


def test_betas_travel_as_a_header() -> None:
    async def use(api: Api, fake: FakeApi) -> None:
        betas = ["context-1m-2025-08-07", "files-api-2025-04-14"]
        await api.send({**REQUEST, "betas": betas}, None)
        assert fake.bodies == [REQUEST]
        assert fake.received[0].headers["anthropic-beta"] == ",".join(betas)

    with_api(use, reply(message()))


def test_an_answer_that_was_not_streamed_though_asked_is_taken() -> None:
    assert ask(reply(message()), request=LONG) == message()


def test_tokens_are_counted_of_what_counts() -> None:
    request = {**LONG, "system": "s", "stop_sequences": ["x"]}

    async def use(api: Api, fake: FakeApi) -> None:
        assert await api.count_tokens(request) == 42
        assert fake.received[0].line == "POST /v1/messages/count_tokens HTTP/1.1"
        assert set(fake.bodies[0]) == {"model", "messages", "system"}

    with_api(use, reply({"input_tokens": 42}))


def test_what_counts_is_what_the_sdk_knows() -> None:
    from anthropic.types.beta.message_count_tokens_params import MessageCountTokensParams

    assert set(typing.get_type_hints(MessageCountTokensParams)) >= COUNTED


@pytest.mark.parametrize("counted", [{}, {"input_tokens": "4"}, {"input_tokens": -1}, [], None])
def test_a_count_that_is_none_is_an_error(counted: object) -> None:
    async def use(api: Api, fake: FakeApi) -> None:
        with pytest.raises(ModelError) as caught:
            await api.count_tokens(REQUEST)
        assert caught.value.failure is Failure.MALFORMED

    with_api(use, reply(counted))


def test_connections_are_kept_and_a_closed_one_replaced() -> None:
    async def use(api: Api, fake: FakeApi) -> None:
        for _ in range(3):
            await api.send(REQUEST, None)
            await api.send(LONG, None)
        assert fake.connections == 2

    last = raw(head(content_type="application/json", content_length=2) + b"{}")
    whole, long = reply(message()), streamed(message())
    with_api(use, whole, long, last, long, whole, long)


def test_half_characters_are_replaced() -> None:
    async def use(api: Api, fake: FakeApi) -> None:
        await api.send({**REQUEST, "system": "a \ud83d b é"}, None)
        assert fake.bodies[0]["system"] == "a ? b é"

    with_api(use, reply(message()))


@pytest.mark.broken_requests
@pytest.mark.parametrize("odd", [float("nan"), object(), {(1, 2): 3}])
def test_what_json_can_not_hold_is_an_error(odd: object) -> None:
    failed = refused(reply(message()), request={**REQUEST, "system": "\ud800", "metadata": odd})
    assert failed.failure is Failure.INVALID_REQUEST
    assert "JSON" in failed.message


# Errors of the endpoint

STATUSES = {
    400: Failure.INVALID_REQUEST,
    401: Failure.AUTHENTICATION,
    402: Failure.BILLING,
    403: Failure.PERMISSION,
    404: Failure.NOT_FOUND,
    408: Failure.TIMEOUT,
    413: Failure.TOO_LONG,
    422: Failure.INVALID_REQUEST,
    429: Failure.RATE_LIMIT,
    500: Failure.SERVER,
    503: Failure.SERVER,
    504: Failure.TIMEOUT,
    529: Failure.OVERLOADED,
}


@pytest.mark.parametrize(("status", "failure"), STATUSES.items())
@pytest.mark.parametrize("request_", [REQUEST, LONG], ids=["whole", "streamed"])
def test_a_status_is_a_failure(status: int, failure: Failure, request_: Request) -> None:
    failed = refused(reply(error("x", "It said so."), status, request_id="r1"), request=request_)
    assert failed.failure is failure
    assert failed.status == status
    assert failed.request_id == "r1"
    assert failed.message == f"claude-haiku-5-5: {failure} ({status}): It said so."


ERRORS: dict[str, tuple[object, str]] = {
    "Ollama's": ({"error": "model 'x' not found"}, "model 'x' not found"),
    "a gateway's": ({"message": "no route"}, "no route"),
    "another's": ({"detail": "nothing here"}, "nothing here"),
    "text": ("upstream is gone\nreally", "upstream is gone"),
    "a page": ("<html><body>nginx</body></html>", ""),
    "nothing": (b"", ""),
    "no text": (b"\xff\xfe\x00", "\ufffd\ufffd\x00"),
    "a list": ([1], ""),
    "odd types": ({"error": {"type": ["x"], "message": {"a": 1}}}, ""),
    "odder types": ({"error": [], "message": 7, "detail": [{"loc": []}]}, ""),
    "deep": ("[" * 50_000, "[" * 200),
}


@pytest.mark.parametrize(("body", "said"), ERRORS.values(), ids=list(ERRORS))
def test_an_error_in_any_form_is_a_sentence(body: object, said: str) -> None:
    start = "claude-haiku-5-5: server error (500)"
    assert refused(reply(body, 500)).message == (f"{start}: {said}" if said else start)


def test_a_long_error_is_cut() -> None:
    assert len(refused(reply(error("x", "long " * 5_000), 400)).message) < 1_100


PAUSES: dict[str, tuple[dict[str, object], float | None]] = {
    "none": ({}, None),
    "seconds": ({"retry_after": "7"}, 7),
    "milliseconds": ({"retry_after_ms": "1500", "retry_after": "7"}, 1.5),
    "broken milliseconds": ({"retry_after_ms": "soon", "retry_after": "7"}, 7),
    "huge": ({"retry_after": "1e9"}, 1e9),
    "endless": ({"retry_after": "inf"}, None),
    "negative": ({"retry_after": "-5"}, None),
    "no number": ({"retry_after": "nan"}, None),
    "zero": ({"retry_after": "0"}, None),
    "words": ({"retry_after": "later"}, None),
    "a date gone by": ({"retry_after": "Wed, 21 Oct 2015 07:28:00 GMT"}, None),
    "a date that is none": ({"retry_after": "Wed, 99 Oct 99999 07:28:00 GMT"}, None),
}


@pytest.mark.parametrize(("headers", "seconds"), PAUSES.values(), ids=list(PAUSES))
def test_a_pause_is_what_was_asked(headers: dict[str, object], seconds: float | None) -> None:
    assert refused(reply({}, 429, **headers)).retry_after == seconds


def test_a_pause_may_be_a_date() -> None:
    date = format_datetime(datetime(2999, 1, 1, tzinfo=UTC), usegmt=True)
    assert (refused(reply({}, 429, retry_after=date)).retry_after or 0) > 1e9


@pytest.mark.parametrize(
    ("status", "header", "passing"),
    [(429, "false", False), (400, "true", True), (429, "maybe", True), (400, "", False)],
)
def test_the_endpoint_says_whether_to_try_again(status: int, header: str, passing: bool) -> None:
    assert refused(reply({}, status, x_should_retry=header)).passing is passing


def test_an_error_with_status_200_is_one() -> None:
    failed = refused(reply(error("overloaded_error", "Overloaded")))
    assert failed.failure is Failure.OVERLOADED
    assert failed.passing


def test_what_to_do_about_a_key() -> None:
    assert "SKILLEVAL_KEY" in refused(reply({}, 401)).remedy
    assert "key-env" in refused(reply({}, 401), key_env=None).remedy


# Answers that are none


def test_a_page_is_no_answer_and_the_base_url_is_wrong() -> None:
    failed = refused(reply("<html>Welcome</html>", content_type="text/html"))
    assert failed.failure is Failure.NOT_FOUND
    assert failed.exit_code == ExitCode.USAGE
    assert "text/html" in failed.message
    assert "base URL" in failed.remedy


NO_JSON: dict[str, bytes] = {
    "nothing": b"",
    "half": b'{"type": "mess',
    "no text": b'{"type": "\xff"}',
    "a list": b"[]",
    "a number": b"7",
    "deep": b"[" * 100_000,
    "deep but whole": b'{"a":' * 500 + b"1" + b"}" * 500,
    "not a number": b'{"a": NaN}',
    "infinite": b'{"a": 1e999}',
    "a huge number": b'{"a": ' + b"9" * 10_000 + b"}",
}


@pytest.mark.parametrize("body", NO_JSON.values(), ids=list(NO_JSON))
def test_what_is_no_json_object_is_malformed(body: bytes) -> None:
    failed = refused(reply(body))
    assert failed.failure is Failure.MALFORMED
    assert not failed.passing


def test_redirects_are_not_followed() -> None:
    async def run() -> None:
        async with FakeApi(reply(message())) as other:
            async with FakeApi(reply(b"", 307, location=f"{other.url}/v1/messages")) as fake:
                api = Api(model(fake.url, headers={"X-Gateway-Key": "gateway-secret"}))
                with pytest.raises(ModelError) as caught:
                    await api.send(REQUEST, None)
                await api.close()
            assert other.received == []
            assert caught.value.failure is Failure.NOT_FOUND
            assert other.url in caught.value.message

    asyncio.run(run())


def test_answers_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_module, "_LARGEST", 1_000_000)
    start = head(content_type="application/json")
    failed = refused(endless(start, b" " * 65_536))
    assert failed.failure is Failure.MALFORMED
    assert "64 MiB" in failed.message
    failed = refused(endless(head(**EVENT_STREAM), chunk(b": x\n" * 10_000)), request=LONG)
    assert failed.failure is Failure.MALFORMED
    failed = refused(endless(head(**EVENT_STREAM), chunk(b"data: x" * 10_000)), request=LONG)
    assert failed.failure is Failure.MALFORMED


def test_packed_answers_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_module, "_LARGEST", 1_000_000)
    bomb = gzip.compress(b" " * 50_000_000)
    assert refused(reply(bomb, content_encoding="gzip")).failure is Failure.MALFORMED
    assert refused(reply(bomb, 500, content_encoding="gzip")).failure is Failure.SERVER


def test_packed_answers_are_unpacked() -> None:
    packed = gzip.compress(json.dumps(message()).encode())
    assert ask(reply(packed, content_encoding="gzip")) == message()


def test_what_can_not_be_unpacked_is_malformed() -> None:
    failed = refused(reply(b"no gzip", content_encoding="gzip"))
    assert failed.failure is Failure.MALFORMED


def test_endless_errors_are_bounded() -> None:
    assert refused(endless(head(500), b"x" * 65_536)).failure is Failure.SERVER


# Streams that go wrong


def test_an_error_within_a_stream() -> None:
    events = [*list(events_of(message()))[:3], error("overloaded_error", "Too much")]
    failed = refused(stream(events), request=LONG)
    assert failed.failure is Failure.OVERLOADED
    assert failed.passing
    assert failed.message == "claude-haiku-5-5: overloaded: Too much"


@pytest.mark.parametrize("said", [None, "x", {"type": 1, "message": []}])
def test_an_odd_error_within_a_stream(said: object) -> None:
    assert refused(stream([{"type": "error", "error": said}]), request=LONG).passing


@pytest.mark.parametrize("count", range(7))
@pytest.mark.parametrize("end", [True, False], ids=["ended", "cut"])
def test_a_stream_is_whole_or_cut(count: int, end: bool) -> None:
    events = list(events_of(message()))
    reaction = stream(events[:count], end=end)
    if count >= len(events) - 1:  # the stop reason has come
        assert ask(reaction, request=LONG) == message()
    else:
        assert refused(reaction, request=LONG).failure is Failure.CUT


def test_a_stream_cut_within_an_event() -> None:
    data = sse(events_of(message()))
    assert refused(stream(data[:-200], end=False), request=LONG).failure is Failure.CUT


def test_a_stream_that_does_not_end_after_its_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_module, "_LINGER", 0.01)
    start = head(**EVENT_STREAM) + chunk(sse(events_of(message())))
    assert ask(silent(start), request=LONG) == message()
    assert ask(endless(start, chunk(b": x\n\n")), request=LONG) == message()


BROKEN_STREAMS: dict[str, bytes] = {
    "no JSON": b"event: message_start\ndata: {\n\n",
    "no text": b"data: \xff\n\n",
    "deep": b"data: " + b"[" * 50_000 + b"\n\n",
    "wrong order": sse(list(events_of(message()))[1:]),
}


@pytest.mark.parametrize("data", BROKEN_STREAMS.values(), ids=list(BROKEN_STREAMS))
def test_a_broken_stream_is_malformed(data: bytes) -> None:
    assert refused(stream(data), request=LONG).failure is Failure.MALFORMED


# Connections that go wrong

PART = head(content_type="application/json", content_length=1_000) + b'{"type":'


@pytest.mark.parametrize("data", [PART, PART[:30], b""], ids=["in the body", "head", "at once"])
def test_a_connection_that_breaks_off_later_on_is_cut(data: bytes) -> None:
    async def use(api: Api, fake: FakeApi) -> None:
        await api.send(REQUEST, None)
        with pytest.raises(ModelError) as caught:
            await api.send(REQUEST, None)
        assert caught.value.failure is Failure.CUT
        assert caught.value.passing

    with_api(use, reply(message()), raw(data))


@pytest.mark.parametrize("data", [b"", b"SSH-2.0-OpenSSH_9\r\n", PART[:30]])
def test_what_never_spoke_http_can_not_be_reached(data: bytes) -> None:
    failed = refused(raw(data))
    assert failed.failure is Failure.UNREACHABLE
    assert failed.exit_code == ExitCode.USAGE
    assert "base URL" in failed.remedy


def test_nobody_listens() -> None:
    async def run() -> None:
        async with FakeApi(reply(message())) as fake:
            url = fake.url
        api = Api(model(url))
        with pytest.raises(ModelError) as caught:
            await api.send(REQUEST, None)
        await api.close()
        assert caught.value.failure is Failure.UNREACHABLE
        assert url in caught.value.message

    asyncio.run(run())


def test_an_endpoint_that_says_nothing_runs_into_the_time_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(api_module, "_TIMEOUT", httpx2.Timeout(10, read=0.2))
    assert refused(silent()).failure is Failure.TIMEOUT
    assert refused(silent(PART)).failure is Failure.TIMEOUT
    assert refused(silent(head(**EVENT_STREAM)), request=LONG).failure is Failure.CUT


# Keys, and what else must not leave or be shown


def test_a_key_that_is_echoed_is_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    said = f"bad key {KEY} in 'Bearer {KEY}'"
    for reaction in (
        reply(error("x", said), 401, request_id=KEY),
        reply(said, 500),
        reply(b"", 302, location=f"http://h/?k={KEY}"),
        reply(b"", 200, content_type=KEY),
        stream([error("x", said)]),
        stream([{"type": KEY, "index": KEY}, {"type": "message_stop", KEY: 1}]),
        raw(f"HTTP/1.1 {KEY}\r\n\r\n".encode()),
    ):
        failed = refused(reaction, request=LONG)
        assert KEY not in f"{failed.message} {failed.remedy} {failed.request_id} {failed.args}"
        assert failed.__context__ is None or failed.__suppress_context__
    assert caplog.records
    assert KEY not in caplog.text


def test_nothing_of_the_environment_goes_to_an_address_of_the_settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "environment-key")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "environment-token")
    custom = "X-Env: environment-header\nAuthorization: Bearer environment-auth\nx-own: e"
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", custom)
    (tmp_path / "configs").mkdir()
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path))
    (tmp_path / "configs" / "default.json").write_text(
        json.dumps({"authentication": {"type": "user_oauth"}, "base_url": "http://127.0.0.1:9"})
    )

    async def use(api: Api, fake: FakeApi) -> str:
        await api.send(REQUEST, None)
        received = fake.received[0].headers
        assert "environment" not in str(received)
        assert received["x-own"] == "mine"
        assert received["content-type"] == "application/json"
        return received["authorization"]

    own = {"X-Own": "mine"}
    assert with_api(use, reply(message()), headers=own) == f"Bearer {KEY}"
    assert with_api(use, reply(message()), headers=own, key_env=None) == "Bearer none"
    assert os.environ["ANTHROPIC_CUSTOM_HEADERS"] == custom


def test_the_default_key_goes_with_what_the_environment_adds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", " environment-key\n")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Env: yes")

    async def use(api: Api, fake: FakeApi) -> None:
        await api.send(REQUEST, None)
        received = fake.received[0].headers
        assert received["authorization"] == "Bearer environment-key"
        assert received["x-env"] == "yes"

    with_api(use, reply(message()), key_env="ANTHROPIC_API_KEY")


def test_this_machine_is_reached_without_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    assert ask(reply(message())) == message()


@pytest.mark.parametrize("proxy", ["ftp://x", "http://[::1"])
def test_a_broken_proxy_is_one_clear_error(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy)
    monkeypatch.setenv("http_proxy", proxy)
    with pytest.raises(InputError, match="model m: "):
        asyncio.run(_open("http://example.com"))


async def _open(url: str, **values: Any) -> None:
    await Api(model(url, **values)).close()


@pytest.mark.parametrize("key", ["a b c d e f", "schlüssel-geheim", "one\ntwo", "\x7fdelete"])
def test_a_key_that_is_none_is_one_clear_error(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    for variable in ("SKILLEVAL_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(variable, key)
        with pytest.raises(InputError, match="its key holds") as caught:
            asyncio.run(_open("http://example.com", key_env=variable))
        assert key not in caught.value.message
        assert variable in caught.value.remedy


@pytest.mark.parametrize("value", [None, "", "  ", "\n"])
@pytest.mark.parametrize("variable", ["SKILLEVAL_KEY", "ANTHROPIC_API_KEY"])
def test_a_missing_key_is_one_clear_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str, value: str | None
) -> None:
    monkeypatch.delenv("ANTHROPIC_CONFIG_DIR")
    monkeypatch.setenv("HOME", str(tmp_path))  # where the SDK looks for profiles
    monkeypatch.delenv(variable, raising=False)
    if value is not None:
        monkeypatch.setenv(variable, value)
    for url in ("http://example.com", "https://example.com"):
        with pytest.raises(InputError) as caught:
            asyncio.run(_open(url, key_env=variable))
        assert caught.value.exit_code == ExitCode.USAGE
        assert variable in caught.value.remedy


def test_a_broken_profile_is_one_clear_error() -> None:
    with pytest.raises(InputError, match="nowhere") as caught:  # where the tests send the SDK
        asyncio.run(_open("https://example.com", key_env="ANTHROPIC_API_KEY"))
    assert "ANTHROPIC_API_KEY" in caught.value.remedy


def test_a_token_will_do_for_the_default_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token-0123456789")

    async def use(api: Api, fake: FakeApi) -> None:
        await api.send(REQUEST, None)
        assert fake.received[0].headers["authorization"] == "Bearer token-0123456789"

    with_api(use, reply(message()), key_env="ANTHROPIC_API_KEY")


def test_header_values_that_are_words_stay_words(monkeypatch: pytest.MonkeyPatch) -> None:
    from skilleval.redaction import redact

    monkeypatch.setenv("SKILLEVAL_TEAM", "from-a-variable")
    headers = {
        "X-Team": "research",
        "X-Other": "team ${SKILLEVAL_TEAM}",
        "Authorization": "Bearer literal-token",
    }
    ask(reply(message()), headers=headers)
    assert redact("research from-a-variable literal-token") == "research [redacted] [redacted]"


def test_a_local_server_brings_its_key() -> None:
    async def run() -> None:
        async with FakeApi(reply(error("x", "key local-key-0123 is bad"), 401)) as fake:
            api = Api(model(fake.url, key_env=None), "local-key-0123")
            with pytest.raises(ModelError) as caught:
                await api.send(REQUEST, None)
            await api.close()
            assert fake.received[0].headers["authorization"] == "Bearer local-key-0123"
            assert "local-key" not in caught.value.message

    asyncio.run(run())


# Impatience


@pytest.mark.parametrize(
    "reaction",
    [
        silent(),
        silent(PART),
        silent(head(**EVENT_STREAM)),
        endless(head(**EVENT_STREAM), chunk(b"event: ping\ndata: {}\n\n" * 100)),
        endless(b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
        silent(head(500) + b"half"),
    ],
    ids=["nothing", "half a body", "no events", "pings", "continue", "half an error"],
)
def test_whatever_comes_it_can_be_stopped(reaction: Reaction) -> None:
    async def use(api: Api, fake: FakeApi) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.03):
                await api.send(LONG, None)
        fake.reactions = [reply(message())]
        assert (await api.send(REQUEST, None))[0] == message()

    with_api(use, reaction)


def test_an_error_of_the_listener_is_not_swallowed() -> None:
    def fail(event: Event) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ask(streamed(message()), on_event=fail)


def test_usage_is_as_it_came() -> None:
    assert ask(streamed(message(text("a"), text("b"))), request=LONG)["usage"] == USAGE
