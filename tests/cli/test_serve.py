"""``skilleval serve``: a real process, real HTTP, and the real SDK."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic, AsyncAnthropic
from cli.kit import assert_one_clear_error, process, run
from conftest import PROJECT, write_files
from models.offline.served import Served

from skilleval.errors import ExitCode
from skilleval.models.offline import serving
from skilleval.models.offline.checks import MAX_BYTES
from skilleval.models.tiers import TIERS

SCRIPT = """
turns: [{text: "Hello, it is me.", repeat: forever}]
conversations:
  - {when: e400, turns: [{error: {status: 400, message: Odd}, repeat: forever}]}
  - {when: e401, turns: [{error: {status: 401}, repeat: forever}]}
  - {when: e403, turns: [{error: {status: 403}, repeat: forever}]}
  - {when: e404, turns: [{error: {status: 404}, repeat: forever}]}
  - {when: e413, turns: [{error: {status: 413}, repeat: forever}]}
  - {when: e429, turns: [{error: {status: 429, retry_after: 1.5}, repeat: forever}]}
  - {when: e500, turns: [{error: {status: 500}, repeat: forever}]}
  - {when: e529, turns: [{error: {status: 529, message: Busy, retry_after: 7}, repeat: forever}]}
  - {when: once, turns: [{error: {status: 529, retry_after: 0}}, {text: At last.}]}
  - when: inside
    turns: [{text: A beginning, error: {status: 529, message: Busy, after: 3}, repeat: forever}]
  - {when: nothing, turns: [{drop: before, repeat: forever}]}
  - {when: broken, turns: [{text: A beginning, drop: 3, repeat: forever}]}
  - {when: slow, turns: [{text: Late., delay: 60}]}
  - when: think
    turns: [{thinking: hm, text: I look., tools: [{name: Bash, input: {command: ls}}]}]
"""
TOOL: Any = {"name": "Bash", "input_schema": {"type": "object"}}


class Asked(Served):
    """A running ``skilleval serve``, with ways to ask it."""

    def client(self, **more: Any) -> Anthropic:
        options = {"api_key": "any", "base_url": self.url, "max_retries": 0} | more
        return Anthropic(**options)

    def ask(self, query: str, **more: Any) -> Any:
        """Ask with the SDK; the message, or the events of its stream."""
        with self.client() as client:
            answer = client.messages.create(**wanted(query), **more)
            return list(answer) if more.get("stream") else answer

    def http(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, http.client.HTTPMessage, Any]:
        """One request by hand; the body of the answer as JSON where it is any."""
        headers = {"x-api-key": "any"} | {k.replace("_", "-"): v for k, v in headers.items()}
        headers = {key: value for key, value in headers.items() if value}
        connection = http.client.HTTPConnection(self.host.strip("[]"), self.port, timeout=30)
        with contextlib.closing(connection):
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            data = answer.read()
        with contextlib.suppress(ValueError):
            return answer.status, answer.headers, json.loads(data)
        return answer.status, answer.headers, data.decode()


def wanted(query: str) -> Any:
    message = {"role": "user", "content": query}
    return {"model": "claude-sonnet-5-5", "max_tokens": 99, "messages": [message]}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    folder = write_files(tmp_path_factory.mktemp("script"), {"s.yaml": SCRIPT})
    started = Asked("offline/script:s.yaml", cwd=folder)
    yield started
    code, out, err = started.stop()
    assert (code, out) == (0, "")
    assert "Traceback" not in err


def test_says_where_it_is(served: Asked) -> None:
    assert served.url.startswith("http://127.0.0.1:")


def test_a_message(served: Asked) -> None:
    with served.client() as client:
        raw = client.messages.with_raw_response.create(**wanted("hi"))
    message = raw.parse()
    assert raw.headers["request-id"].startswith("req_01")
    assert (message.model, message.stop_reason) == ("claude-sonnet-5-5", "end_turn")
    assert [block.text for block in message.content if block.type == "text"] == ["Hello, it is me."]
    assert message.usage.output_tokens == 4


def test_a_stream(served: Asked) -> None:
    whole = served.ask("think", tools=[TOOL])
    with (
        served.client() as client,
        client.messages.stream(**wanted("think"), tools=[TOOL]) as stream,
    ):
        kinds = [event.type for event in stream]
        final = stream.get_final_message()
    assert final.to_dict() == whole.to_dict() | {"stop_details": None}
    assert [block.type for block in final.content] == ["thinking", "text", "tool_use"]
    assert kinds[0] == "message_start" and kinds[-1] == "message_stop"


def test_framing_of_a_stream(served: Asked) -> None:
    body = json.dumps(wanted("hi") | {"stream": True}).encode()
    status, headers, text = served.http("POST", "/v1/messages?beta=true", body)
    assert (status, headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    assert headers["request-id"]
    parts = text.split("\n\n")
    assert parts[-1] == ""
    for part in parts[:-1]:
        first, second = part.split("\n")
        assert json.loads(second.removeprefix("data: "))["type"] == first.removeprefix("event: ")
    assert [part.split("\n")[0][7:] for part in parts[:3]] == [
        "message_start", "ping", "content_block_start",
    ]  # fmt: skip


def test_asynchronous_clients_at_once(served: Asked) -> None:
    async def ask_all() -> list[str]:
        async with AsyncAnthropic(api_key="any", base_url=served.url, max_retries=2) as client:
            asked = (client.messages.create(**wanted(f"once {n}")) for n in range(8))
            return [message.content[0].text for message in await asyncio.gather(*asked)]  # type: ignore[union-attr]

    assert asyncio.run(ask_all()) == ["At last."] * 8


@pytest.mark.parametrize(
    ("query", "kind", "type"),
    [
        ("e400", anthropic.BadRequestError, "invalid_request_error"),
        ("e401", anthropic.AuthenticationError, "authentication_error"),
        ("e403", anthropic.PermissionDeniedError, "permission_error"),
        ("e404", anthropic.NotFoundError, "not_found_error"),
        ("e413", anthropic.APIStatusError, "request_too_large"),
        ("e429", anthropic.RateLimitError, "rate_limit_error"),
        ("e500", anthropic.InternalServerError, "api_error"),
        ("e529", anthropic.APIStatusError, "overloaded_error"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_errors(
    served: Asked, query: str, kind: type[anthropic.APIStatusError], type: str, stream: bool
) -> None:
    with pytest.raises(kind) as caught:
        served.ask(query, stream=stream)
    error = caught.value
    assert error.status_code == int(query[1:])
    assert isinstance(error.body, dict)
    assert error.body["type"] == "error" and error.body["error"]["type"] == type
    assert error.body["request_id"] == error.request_id == error.response.headers["request-id"]
    assert error.response.headers.get("retry-after") == {"e429": "1.5", "e529": "7"}.get(query)


def test_an_error_inside_a_stream(served: Asked) -> None:
    with pytest.raises(anthropic.APIStatusError) as caught:
        served.ask("inside", stream=True)
    assert caught.value.status_code == 200
    assert "overloaded_error" in str(caught.value.body)
    with pytest.raises(anthropic.APIStatusError) as caught:
        served.ask("inside of no stream")
    assert caught.value.status_code == 529


@pytest.mark.parametrize("stream", [False, True])
def test_connections_that_drop_before_anything(served: Asked, stream: bool) -> None:
    with pytest.raises(anthropic.APIConnectionError):
        served.ask("nothing", stream=stream)


def test_connections_that_drop_within_a_stream(served: Asked) -> None:
    body = json.dumps(wanted("broken") | {"stream": True}).encode()
    with pytest.raises(http.client.IncompleteRead) as caught:
        served.http("POST", "/v1/messages", body)
    assert caught.value.partial.count(b"event: ") == 4  # three, and a ping
    with pytest.raises(Exception, match=r"incomplete chunked read|peer closed"):
        served.ask("broken", stream=True)
    with pytest.raises(anthropic.APIConnectionError):
        served.ask("broken")


def test_counting(served: Asked) -> None:
    with served.client() as client:
        asked = {k: v for k, v in wanted("x" * 400).items() if k != "max_tokens"}
        assert client.messages.count_tokens(**asked).input_tokens == 100
        with pytest.raises(anthropic.BadRequestError, match="at least one message"):
            client.messages.count_tokens(model="m", messages=[])


def test_models(served: Asked) -> None:
    with served.client() as client:
        assert [model.id for model in client.models.list()] == [tier.id for tier in TIERS]
        one = client.models.retrieve("claude-haiku-5-5")
        assert (one.id, one.type) == ("claude-haiku-5-5", "model")
        with pytest.raises(anthropic.NotFoundError):
            client.models.retrieve("offline/none")


def test_what_the_api_refuses(served: Asked) -> None:
    with pytest.raises(anthropic.BadRequestError, match="first message must use"):
        with served.client() as client:
            message: Any = {"role": "assistant", "content": "x"}
            client.messages.create(model="m", max_tokens=1, messages=[message])


def test_probes(served: Asked) -> None:
    assert served.http("HEAD", "/", x_api_key="")[0] == 200
    assert "Messages API" in served.http("GET", "/")[2]


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/v1/messages"), ("POST", "/v1/messages/count_tokens"), ("GET", "/v1/models"),
     ("GET", "/v1/models/x")],
)  # fmt: skip
def test_a_key_is_needed(served: Asked, method: str, path: str) -> None:
    body = json.dumps(wanted("hi")).encode() if method == "POST" else None
    status, headers, said = served.http(method, path, body, x_api_key="")
    assert (status, said["error"]["type"]) == (401, "authentication_error")
    assert said["request_id"] == headers["request-id"]
    status, _, _ = served.http(method, path, body, x_api_key="", authorization="Bearer any")
    assert status in (200, 404)


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "type"),
    [
        ("GET", "/v1/nothing", None, 404, "not_found_error"),
        ("GET", "/v1/messages", None, 405, "invalid_request_error"),
        ("DELETE", "/v1/models", None, 405, "invalid_request_error"),
        ("POST", "/v1/messages", b"{", 400, "invalid_request_error"),
        ("POST", "/v1/messages", b"\xff", 400, "invalid_request_error"),
        ("POST", "/v1/messages", b"[" * 100_000, 400, "invalid_request_error"),
        ("POST", "/v1/messages", b"[]", 400, "invalid_request_error"),
        ("POST", "/v1/messages", b"{}", 400, "invalid_request_error"),
        ("POST", "/v1/messages", b" " * (MAX_BYTES + 1), 413, "request_too_large"),
    ],
)
def test_requests_that_make_no_sense(
    served: Asked, method: str, path: str, body: bytes | None, status: int, type: str
) -> None:
    found, headers, said = served.http(method, path, body)
    assert (found, said["type"], said["error"]["type"]) == (status, "error", type)
    assert said["request_id"] == headers["request-id"]
    assert "Traceback" not in str(said)


def test_halves_of_characters(served: Asked) -> None:
    body = json.dumps(wanted("\ud800 hi")).encode()
    assert served.http("POST", "/v1/messages", body)[0] == 200


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
@pytest.mark.parametrize("busy", [False, True])
def test_signals_end_it(
    tmp_path: Path, request: pytest.FixtureRequest, number: int, code: int, busy: bool
) -> None:
    write_files(tmp_path, {"s.yaml": SCRIPT})
    started = Asked("offline/script:s.yaml", cwd=tmp_path)
    if busy:  # an answer in flight must not hold it up
        connection = http.client.HTTPConnection(started.host, started.port)
        connection.request("POST", "/v1/messages", json.dumps(wanted("slow")), {"x-api-key": "any"})
        assert started.http("HEAD", "/")[0] == 200
        request.addfinalizer(connection.close)
    began = time.monotonic()
    found, out, err = started.stop(number)
    assert (found, out) == (code, "")
    assert time.monotonic() - began < 10
    assert "Traceback" not in err
    assert "".join(err.splitlines()[3:]) == ("interrupted" if code else "")


def test_what_it_says_of_itself() -> None:
    started = Asked("offline/literal", "--host", "localhost")
    message = started.ask("hi")
    assert "no language model" in message.content[0].text
    _, _, err = started.stop()
    assert started.url.startswith("http://localhost:")
    assert f"ANTHROPIC_BASE_URL={started.url}" in err and "no language model" in err


def test_the_other_loopback() -> None:
    if not socket.has_ipv6:
        pytest.skip("there is no IPv6 here")
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("there is no IPv6 loopback here")
    started = Asked("offline/literal", "--host", "::1")
    assert started.url.startswith("http://[::1]:")
    assert "no language model" in started.ask("hi").content[0].text
    assert started.stop()[0] == 0


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "192.168.1.1", "example.org", "", "nonsense host"]
)
def test_only_loopback(host: str) -> None:
    assert_one_clear_error(run("serve", "offline/literal", "--host", host), "is not loopback")


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        result = process("serve", "offline/literal", "--port", port)
    assert_one_clear_error(result, f"can't listen on 127.0.0.1 port {port}: Address already in use")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("offline/unknown", "there is no model offline/unknown"),
        ("claude-sonnet-5-5", "there is no model claude-sonnet-5-5"),
        ("offline/script:missing.yaml", "missing.yaml can't be read"),
    ],
)
def test_models_that_can_not_be_served(model: str, words: str) -> None:
    assert_one_clear_error(run("serve", model), words)


def test_usage() -> None:
    assert run("serve").code == ExitCode.USAGE
    assert run("serve", "offline/literal", "--port", "70000").code == ExitCode.USAGE
    assert "test" not in run("serve", "--help").err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
def test_an_output_that_is_full() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "skilleval", "serve", "offline/literal"],
            stdout=full, stderr=subprocess.PIPE, encoding="utf-8", timeout=30, cwd=PROJECT,
        )  # fmt: skip
    assert done.returncode == ExitCode.USAGE
    assert "Traceback" not in done.stderr and "No space left" in done.stderr


def test_listening_gives_a_port(monkeypatch: pytest.MonkeyPatch) -> None:
    listen: Callable[[str, int], socket.socket] = serving.listen
    with listen("127.0.0.1", 0) as taken:
        assert taken.getsockname()[1] > 0
