"""The real Claude Code client beside a fake Messages API on loopback."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

CLIENT = "2.1.332"
"""The version that the project's facts were measured on."""


@dataclass
class Api:
    """A fake API: where it listens, what it was asked, and which skills it calls for."""

    address: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    calls: Sequence[dict[str, str]] = ()


class FakeApi(BaseHTTPRequestHandler):
    """Answers each request with the next call of the Skill tool, and with "ok" in the end."""

    protocol_version = "HTTP/1.1"
    api: Api

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
        self.api.requests.append(body)
        done = sum(block["type"] == "tool_result" for _, block in blocks(body))
        calls = self.api.calls[done : done + 1] if body.get("tools") else ()
        block, change, stop = text_block("ok")
        for call in calls:
            block, change, stop = skill_call(f"toolu_{done:06}", call)
        message = {
            "id": f"msg_{len(self.api.requests)}", "type": "message", "role": "assistant",
            "model": body["model"], "content": [], "stop_reason": None, "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip
        end = {"stop_reason": stop, "stop_sequence": None}
        if not body.get("stream"):
            whole = message | {"content": [block], **end}
            self.reply("application/json", json.dumps(whole).encode())
            return
        empty = block | ({"text": ""} if block["type"] == "text" else {"input": {}})
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": empty},
            {"type": "content_block_delta", "index": 0, "delta": change},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": end, "usage": {"output_tokens": 1}},
            {"type": "message_stop"},
        ]
        text = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events)
        self.reply("text/event-stream", text.encode())

    def reply(self, kind: str, data: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


Answer = tuple[dict[str, Any], dict[str, str], str]


def text_block(text: str) -> Answer:
    return {"type": "text", "text": text}, {"type": "text_delta", "text": text}, "end_turn"


def skill_call(identifier: str, call: dict[str, str]) -> Answer:
    block = {"type": "tool_use", "id": identifier, "name": "Skill", "input": call}
    return block, {"type": "input_json_delta", "partial_json": json.dumps(call)}, "tool_use"


def blocks(request: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every block of a request's messages, with the role of its message."""
    for message in request["messages"]:
        content = message["content"]
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        yield from ((message["role"], block) for block in content)


@dataclass
class Outcome:
    """What came of one call: the tool's result, and the texts of the user behind it."""

    result: str
    texts: list[str]


def outcomes(api: Api) -> list[Outcome]:
    """What came of each call, without the client's reminders."""
    found: list[Outcome] = []
    for role, block in blocks(max(api.requests, key=lambda request: len(request["messages"]))):
        if block["type"] == "tool_result":
            found.append(Outcome(block["content"].split("\n\n<system-reminder>")[0], []))
        elif found and role == "user":
            found[-1].texts.append(block["text"])
    return found


def run_client(client: str, api: Api, project: Path, model: str, *options: str) -> None:
    """Run the client once in a project, as a fresh user without anything of their own."""
    api.requests.clear()
    home = project.parent / "home"
    home.mkdir()
    off = {"enabledPlugins": {"cc-plugin-plugin-authoring@builtin": False}}
    (home / "settings.json").write_text(json.dumps(off))
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home),
        "ANTHROPIC_BASE_URL": api.address,
        "ANTHROPIC_API_KEY": "none",
        "DISABLE_TELEMETRY": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS": "1",
        "IS_SANDBOX": "1",
    }
    done = subprocess.run(
        [client, "-p", "hi", "--model", model, *options], cwd=project, env=environment,
        timeout=120, stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    assert api.requests, done.stderr


HEADER = "The following skills are available for use with the Skill tool:"


def listing_in(api: Api) -> str:
    """What the client told the model of the skills; empty where it said nothing."""
    for request in api.requests:
        for _, block in blocks(request):
            text = block.get("text", "")
            if HEADER in text:
                listing = text[text.index(HEADER) :].split("\n</system-reminder>")[0]
                return listing.split("\n\nToday's date is ")[0]
    return ""
