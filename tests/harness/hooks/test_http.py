"""HTTP hooks, against a real server on loopback."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from harness.hooks.kit import CALL, fire

from skilleval.harness.hooks import Hook, HookEvent, HookOutcome
from skilleval.harness.hooks.process import KEPT

E = HookEvent
DENY = {"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no"}}
ANSWERS: dict[str, tuple[int, bytes]] = {
    "/deny": (200, json.dumps(DENY).encode()),
    "/created": (201, b""),
    "/text": (200, b"hello"),
    "/broken": (200, b"{"),
    "/huge": (200, b'{"a": "' + b"x" * 1_000_000 + b'"}'),
    "/missing": (404, b"no such hook"),
    "/fails": (500, b""),
    "/moved": (302, b""),
}


class Server(BaseHTTPRequestHandler):
    seen: list[tuple[str, dict[str, str], bytes]]
    hang: threading.Event

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.seen.append((self.path, headers, body))
        if self.path == "/hang":
            self.hang.wait(20)
            return
        status, answer = ANSWERS[self.path]
        self.send_response(status)
        self.send_header("content-length", str(len(answer)))
        self.send_header("location", "/deny")
        self.end_headers()
        try:
            self.wfile.write(answer)
        except OSError:
            return  # the other side has read enough

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[tuple[str, Any]]:
    handler: Any = type("Handler", (Server,), {"seen": [], "hang": threading.Event()})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}", handler
        handler.hang.set()
        running.shutdown()
        thread.join()


def call(url: str, event: HookEvent = E.PRE_TOOL_USE, **changes: Any) -> HookOutcome:
    return fire(event, Hook(event, "http", url=url, **changes)).outcomes[0]


def test_payload_is_posted_and_the_body_is_the_answer(server: tuple[str, Any]) -> None:
    url, handler = server
    verdict = fire(E.PRE_TOOL_USE, Hook(E.PRE_TOOL_USE, "http", url=f"{url}/deny"))
    assert (verdict.behavior, verdict.reason) == ("deny", "no")
    _, headers, body = handler.seen[0]
    assert headers["content-type"] == "application/json"
    assert json.loads(body)["tool_input"] == CALL["tool_input"]


def test_headers_hold_only_variables_that_are_allowed(server: tuple[str, Any]) -> None:
    url, handler = server
    hook = Hook(
        E.STOP,
        "http",
        url=f"{url}/created",
        headers=(("Authorization", "Bearer ${TOKEN} $OTHER."), ("x-plain", "5$")),
        variables=("TOKEN",),
    )
    verdict = fire(E.STOP, hook, environment={"TOKEN": "t0", "OTHER": "o0"})
    assert verdict.outcomes[0].status == "silent"
    assert handler.seen[0][1]["authorization"] == "Bearer t0 ."
    assert handler.seen[0][1]["x-plain"] == "5$"


@pytest.mark.parametrize(
    ("path", "status", "error"),
    [
        ("/text", "rubbish", "plain text"),
        ("/broken", "rubbish", "can't be read"),
        ("/huge", "rubbish", "too long"),
        ("/missing", "crashed", "HTTP status 404: 'no such hook'"),
        ("/fails", "crashed", "HTTP status 500"),
        ("/moved", "crashed", "HTTP status 302"),
    ],
)
def test_failures(server: tuple[str, Any], path: str, status: str, error: str) -> None:
    url, handler = server
    outcome = call(url + path)
    assert outcome.status == status and error in outcome.error
    assert len(handler.seen) == 1, "a redirect was followed"


def test_text_is_context_where_the_contract_says_so(server: tuple[str, Any]) -> None:
    hook = Hook(E.SESSION_START, "http", url=f"{server[0]}/text")
    assert fire(E.SESSION_START, hook).additional_context == ("hello",)


def test_a_huge_body_is_not_read_to_its_end(server: tuple[str, Any]) -> None:
    hook = Hook(E.INSTRUCTIONS_LOADED, "http", url=f"{server[0]}/huge")
    outcome = fire(E.INSTRUCTIONS_LOADED, hook).outcomes[0]
    assert outcome.status == "answered" and 0 < outcome.cut < 1_000_000 - KEPT


def test_a_hang_is_cut_short(server: tuple[str, Any]) -> None:
    outcome = call(f"{server[0]}/hang", timeout=0.3)
    assert outcome.status == "timed out" and outcome.ms < 5_000


def test_nobody_there_and_no_http() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        assert call(url).status == "crashed"

    def answer_nonsense(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(1 << 20)
            connection.sendall(b"SSH-2.0-nonsense\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=answer_nonsense, args=(listening,))
        thread.start()
        outcome = call(f"http://127.0.0.1:{listening.getsockname()[1]}/")
        thread.join()
    assert outcome.status == "crashed"


def test_a_proxy_of_the_environment_is_not_used(
    server: tuple[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9/")
    monkeypatch.delenv("no_proxy", raising=False)
    assert call(f"{server[0]}/created").status == "silent"
