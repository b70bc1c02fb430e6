"""The vocabulary of traces: one for every driver.

An event is a JSON object. All have ``type``; ``n``, which counts from 0 in a file; ``time``, in
seconds since 1970; and ``session``. Where they belong to one, they have the id of a ``prompt``
(what a user said), a ``tool_use``, an ``agent`` (a subagent) and its ``parent`` tool use. A
driver's own payload stands under ``raw``.

| type | when | fields |
|---|---|---|
| start | first | driver, model, mode, sandbox, system, tools, listing, skills, instructions, servers, workspace, limits |
| resume | a session goes on after it ended or was killed | model, mode, sandbox, lost (calls) |
| prompt | a user said something | content |
| request | before a model is asked | messages (how many), tokens (estimated), prefix_sha256 |
| reply | a model answered | content, outcome, stop_reason, usage, cost, seconds, attempts, model, request_id |
| tool | before a tool runs | name, input |
| permission | it was decided whether a tool may run | call, allowed, step, decided_by, reason, capabilities, covered |
| result | a tool ended, or was refused | name, content, after, is_error, facts, seconds |
| activation | the instructions of a skill were loaded | skill, route |
| hook | hooks ran | event, outcomes, behavior |
| reminder | the model was told what changed | content |
| shaped | the context was made smaller | shaper, before, after (tokens), and ``messages`` where these replace the history |
| agent | a subagent was started | agent_id, agent_type, task, worktree, trace |
| warning | something is odd | about, message |
| end | last | outcome, reason, turns, usage, cost, text, denials |
"""  # noqa: E501 - a table

from __future__ import annotations

from enum import StrEnum
from typing import Any

__all__ = ["VERSION", "Event", "EventType"]

VERSION = 1
"""Of the format: the ``start`` event says it as ``version``."""
Event = dict[str, Any]


class EventType(StrEnum):
    """The types of events; readers pass over those that they do not know."""

    START = "start"
    RESUME = "resume"
    PROMPT = "prompt"
    REQUEST = "request"
    REPLY = "reply"
    TOOL = "tool"
    PERMISSION = "permission"
    RESULT = "result"
    ACTIVATION = "activation"
    HOOK = "hook"
    REMINDER = "reminder"
    SHAPED = "shaped"
    AGENT = "agent"
    WARNING = "warning"
    END = "end"
