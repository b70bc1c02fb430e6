"""Our listing beside that of the real Claude Code client, character for character.

The client is installed from npm and talks to a fake Messages API on loopback.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from skilleval.models.tiers import find_tier
from skilleval.prompt.catalog import build_listing
from skilleval.prompt.listing import budget
from skilleval.skill import Skill, discover

VERSION = "2.1.332"
HEADER = "The following skills are available for use with the Skill tool:"

pytestmark = pytest.mark.slow


class FakeApi(BaseHTTPRequestHandler):
    """Answers every request with "ok", and keeps what was asked."""

    protocol_version = "HTTP/1.1"
    requests: list[dict[str, Any]]

    def log_message(self, format: str, *words: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self.reply("text/plain", b"")

    do_GET = do_HEAD

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if "count_tokens" in self.path:
            self.reply("application/json", b'{"input_tokens": 1}')
            return
        self.requests.append(body)
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": body["model"],
            "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage,
        }  # fmt: skip
        block = {"type": "text", "text": ""}
        end = {"stop_reason": "end_turn", "stop_sequence": None}
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0,
             "delta": {"type": "text_delta", "text": "ok"}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": end, "usage": {"output_tokens": 1}},
            {"type": "message_stop"},
        ]  # fmt: skip
        if body.get("stream"):
            text = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events)
            self.reply("text/event-stream", text.encode())
        else:
            whole = message | {"content": [{"type": "text", "text": "ok"}], **end}
            self.reply("application/json", json.dumps(whole).encode())

    def reply(self, kind: str, data: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of the real client, installed from npm."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not here to install the client")
    folder = tmp_path_factory.mktemp("client")
    words = [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder)]
    done = subprocess.run(
        [*words, f"@anthropic-ai/claude-code@{VERSION}"], capture_output=True, text=True
    )
    command = folder / "node_modules" / ".bin" / "claude"
    if done.returncode or not command.exists():
        pytest.skip(f"the client could not be installed: {done.stderr.strip()[-200:]}")
    return str(command)


@pytest.fixture(scope="module")
def api() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The address of a fake API, and the requests that it got."""
    requests: list[dict[str, Any]] = []
    handler = type("Handler", (FakeApi,), {"requests": requests})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", requests
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("model", ["claude-haiku-4-5", "claude-sonnet-5-5"])
@pytest.mark.parametrize("count", [1, 5, 40, 100, 300])
def test_the_listing_is_that_of_the_client(
    client: str,
    api: tuple[str, list[dict[str, Any]]],
    corpus: Path,
    tmp_path: Path,
    count: int,
    model: str,
) -> None:
    project = tmp_path / "project"
    install(corpus, project / ".claude" / "skills", count)
    theirs = ask(client, api, project, model)
    tier = find_tier(model)
    skills = [Skill(found) for found in discover([str(project / ".claude" / "skills")]).skills]
    ours = build_listing(skills, budget=budget(tier.context_window, tier.characters_per_token))
    assert theirs == ours.text


def install(corpus: Path, folder: Path, count: int) -> None:
    """Some skills of the corpus, each name once (its SKILL.md only: the rest is not listed)."""
    found = [Skill(found) for found in discover([str(corpus)]).skills]
    random.Random(count).shuffle(found)
    names: set[str] = set()
    for skill in found:
        if skill.has_text and skill.folder_name.lower() not in names and len(names) < count:
            names.add(skill.folder_name.lower())
            (folder / skill.folder_name).mkdir(parents=True)
            (folder / skill.folder_name / "SKILL.md").write_bytes(skill.document.data)


def ask(client: str, api: tuple[str, list[dict[str, Any]]], project: Path, model: str) -> str:
    """What the client tells the model of a project's skills; empty where it says nothing."""
    address, requests = api
    requests.clear()
    home = project.parent / "home"
    home.mkdir()
    off = {"enabledPlugins": {"cc-plugin-plugin-authoring@builtin": False}}
    (home / "settings.json").write_text(json.dumps(off))
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home),
        "ANTHROPIC_BASE_URL": address,
        "ANTHROPIC_API_KEY": "none",
        "DISABLE_TELEMETRY": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS": "1",
        "IS_SANDBOX": "1",
    }
    done = subprocess.run(
        [client, "-p", "hi", "--model", model], cwd=project, env=environment, timeout=120,
        stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    assert requests, done.stderr
    for text in texts(requests):
        if HEADER in text:
            block = text[text.index(HEADER) :].split("\n</system-reminder>")[0]
            return block.split("\n\nToday's date is ")[0]
    return ""


def texts(requests: list[dict[str, Any]]) -> Iterator[str]:
    for request in requests:
        for message in request["messages"]:
            content = message["content"]
            if isinstance(content, str):
                yield content
            else:
                yield from (block.get("text", "") for block in content)
