"""What the tests of the offline models share: requests, and a small loop around a model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from anthropic.types import Message, MessageParam
from pydantic import TypeAdapter

from skilleval.models.messages import Request
from skilleval.models.offline.model import OfflineModel
from skilleval.models.offline.turns import Policy, Turn

CSV = "Cleans CSV and TSV files and removes duplicate rows. Use when a spreadsheet export is messy."
LOGS = "Groups the errors in log files by signature. Use when someone asks what went wrong."
HEADER = "The following skills are available for use with the Skill tool:"
DOCUMENTED = (
    "Skills available here. Before you use one, read the SKILL.md in its folder and follow it:"
)
LISTING = f"{HEADER}\n\n- csv-tidy: {CSV}\n- log-triage: {LOGS}"
DOCUMENTED_LISTING = (
    f"{DOCUMENTED}\n\n- csv-tidy - {CSV} (/s/csv-tidy/)\n- log-triage - {LOGS} (/s/log-triage/)"
)
QUERY = "Remove the duplicate rows of orders.csv."
BODY = """# Tidy

```bash
tidy.py $ARGUMENTS
```

```console
$ check ${CLAUDE_SKILL_DIR}/rules
all is well
```

```python
print("no shell")
```
"""

_MESSAGE: TypeAdapter[Any] = TypeAdapter(Message)
_PARAM: TypeAdapter[Any] = TypeAdapter(MessageParam)


def tool(name: str, *required: str, **optional: str) -> dict[str, Any]:
    """A tool of string inputs."""
    properties = {key: {"type": "string"} for key in (*required, *optional)}
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"name": name, "description": name, "input_schema": schema}


SKILL = tool("Skill", "skill", args="")
BASH = tool("Bash", "command", description="")
READ = tool("Read", "file_path")


def request(
    *messages: dict[str, Any] | str, tools: Iterable[dict[str, Any]] = (), **more: Any
) -> dict[str, Any]:
    """A request; a text is a message of the user."""
    said = [{"role": "user", "content": m} if isinstance(m, str) else m for m in messages]
    body = {"model": "claude-haiku-4-5", "max_tokens": 1_000, "messages": said, **more}
    return body | ({"tools": list(tools)} if tools else {})


def asked(query: str = QUERY, listing: str = LISTING, **more: Any) -> dict[str, Any]:
    """A request with a listing in its system prompt, and the tools of a harness."""
    more = {"tools": [SKILL, BASH, READ], "system": listing} | more
    return request(query, **more)


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(name: str, id: str = "toolu_1", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": given}


def result(content: Any, id: str = "toolu_1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


def said(turn: Turn) -> str:
    """The text of a turn that calls no tool."""
    assert [block["type"] for block in turn.content] == ["text"]
    return str(turn.content[0]["text"])


def called(turn: Turn) -> tuple[str, dict[str, Any]]:
    """The one tool that a turn calls."""
    (block,) = turn.content
    assert block["type"] == "tool_use"
    return block["name"], block["input"]


def ask(model: OfflineModel, body: Request) -> dict[str, Any]:
    """The message for a request; both must be what the SDK knows."""
    for message in body["messages"]:
        if message["role"] != "system":
            content = _PARAM.validate_python(message)["content"]
            if not isinstance(content, str):
                list(content)
    message, request_id = asyncio.run(model.send(body))
    assert request_id.startswith("req_")
    _MESSAGE.validate_python(message)
    return message


Carry = Callable[[str, dict[str, Any]], list[dict[str, Any]]]


def play(policy: Policy, body: dict[str, Any], carry: Carry) -> list[dict[str, Any]]:
    """Play a conversation to its end; the tools are carried out by ``carry``.

    Returns:
        The messages that the model sent.
    """
    model, messages, sent = OfflineModel(policy), list(body["messages"]), []
    while len(sent) < 20:
        message = ask(model, body | {"messages": messages})
        sent.append(message)
        if message["stop_reason"] != "tool_use":
            return sent
        (block,) = [b for b in message["content"] if b["type"] == "tool_use"]
        first, *more = carry(block["name"], block["input"])
        answers = [first | {"tool_use_id": block["id"]}, *more]
        messages += [assistant(*message["content"]), user(*answers)]
    raise AssertionError("the model does not come to an end")
