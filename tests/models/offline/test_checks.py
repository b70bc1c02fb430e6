"""What the API refuses, and what it does not."""

from __future__ import annotations

from typing import Any

import pytest
from models.offline.kit import BASH, SKILL, assistant, call, request, result, user
from models.offline.kit import text as block

from skilleval.models.offline.checks import problem_of, refused, too_large, too_long

MARK = {"cache_control": {"type": "ephemeral"}}
CLAUDE_CODE = request(
    user(block("<system-reminder>\nA note.\n</system-reminder>\n"), block("Tidy a.csv")),
    {"role": "system", "content": "# Environment"},
    assistant(call("Skill", skill="csv-tidy", args="a.csv")),
    user(result("Launching skill: csv-tidy"), block("Base directory for this skill: /s") | MARK),
    tools=[
        BASH | {"eager_input_streaming": True},
        SKILL,
        {"name": "Deferred", "input_schema": {"type": "object"}, "defer_loading": True},
        {"type": "web_search_20250305", "name": "web_search"},
    ],
    system=[block("x-anthropic-billing-header: x"), block("You are") | MARK, block("More") | MARK],
    metadata={"user_id": "x"},
    thinking={"type": "enabled", "budget_tokens": 999, "display": "updates"},
    context_management={"edits": []},
    output_config={"effort": "medium"},
    stream=True,
)
"""The form of a request of Claude Code 2.1.332."""

FINE = [
    CLAUDE_CODE,
    request("hi"),
    request("hi", {"role": "assistant", "content": "It is"}),
    request("hi", assistant()),
    request("hi", "again", assistant(block("a")), assistant(block("b")), "c"),
    request("hi", assistant(call("Bash")), {"role": "system", "content": "x"}, user(result("y"))),
    request("hi", assistant(call("Bash")), user(result(None))),
    request("hi", assistant(call("Bash", "a"), call("Bash", "b")), user(result("1", "b")),
            user(result("2", "a"), block("and")), betas=["x"]),
    request(user({"type": "document", "source": {}}, {"type": "unheard-of"})),
]  # fmt: skip


@pytest.mark.parametrize("body", FINE)
def test_fine(body: dict[str, Any]) -> None:
    assert problem_of(body) is None
    assert problem_of(body, counting=True) is None


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in request("hi").items() if name != key}


def named(*names: Any) -> dict[str, Any]:
    return request("hi", tools=[{"name": name, "input_schema": {}} for name in names])


REFUSED = [
    (without("model"), "model: Field required"),
    (without("messages"), "messages: Field required"),
    (without("max_tokens"), "max_tokens: Field required"),
    (request("hi", model=3), "model: Input should be a valid string"),
    (request("hi", max_tokens="9"), "max_tokens: Input should be a valid integer"),
    (request("hi", max_tokens=True), "max_tokens: Input should be a valid integer"),
    (request("hi", max_tokens=0), "max_tokens: Input should be greater than or equal to 1"),
    (request("hi", thinking={"type": "enabled", "budget_tokens": 1000}), "max_tokens must be"),
    (request("hi", messages="hi"), "messages: Input should be a valid list"),
    (request(), "messages: at least one message is required"),
    (request("hi", messages=["hi"]), "messages.0: Input should be a valid dictionary"),
    (request({"role": "assistant", "content": "x"}), 'first message must use the "user" role'),
    (request({"role": "system", "content": "x"}), 'first message must use the "user" role'),
    (request("hi", {"role": "tool", "content": "x"}), "messages.1.role: Input should be"),
    (request("hi", {"role": "user"}), "messages.1.content: Field required"),
    (request({"role": "user", "content": 3}), "messages.0.content: Input should be a valid list"),
    (request(user("hi")), "messages.0.content.0: Input should be a valid dictionary"),
    (request(user({"text": "hi"})), "messages.0.content.0.type: Field required"),
    (request(user(block(""))), "messages: text content blocks must be non-empty"),
    (request(user(block(" \n"))), "messages: text content blocks must contain non-whitespace"),
    (request(user({"type": "text"})), "text: Input should be a valid string"),
    (request("hi", system=[block("")]), "system: text content blocks must be non-empty"),
    (request("hi", system=3), "system: Input should be a valid list"),
    (request(user()), "messages.0: all messages must have non-empty content"),
    (request("hi", assistant(), "more"), "messages.1: all messages must have non-empty content"),
    (request("hi", assistant({"type": "tool_use", "id": "a", "name": "B", "input": "x"})),
     "messages.1.content.0.tool_use.input: Input should be a valid dictionary"),
    (request(user(result("x") | {"tool_use_id": None})), "tool_use_id: Field required"),
    (request("hi", assistant(call("Bash")), user(result(3))), "tool_result.content: Input should"),
    (request(user(result("x", "toolu_9"))),
     "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_9. Each"),
    (request("hi", assistant(call("Bash")), user(result("x")), user(result("x"))), "messages.3"),
    (request("hi", assistant(call("Bash")), "go on"),
     "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: "
     "toolu_1. Each `tool_use` block must have a corresponding `tool_result` block in the next"),
    (request("hi", assistant(call("Bash")), user(block("first"), result("x"))), "without `tool_re"),
    (request("hi", assistant(call("Bash"))), "messages.1: `tool_use` ids were found without"),
    (request("hi", assistant(call("Bash", "a")), user(result("x", "a")), assistant(call("B", "a"))),
     "`tool_use` ids must be unique"),
    (named("Bash", "Bash"), "tools: Tool names must be unique."),
    (named("with space"), "tools.0.custom.name: String should match pattern"),
    (named(3), "tools.0.custom.name: Field required"),
    (request("hi", tools=[{"name": "Bash"}]), "tools.0.custom.input_schema: Field required"),
    (request("hi", tools=["Bash"]), "tools.0: Input should be a valid dictionary"),
    (request("hi") | {"tools": "Bash"}, "tools: Input should be a valid list"),
    (request(user(*[block("x") | MARK] * 5)),
     "A maximum of 4 blocks with cache_control may be provided. Found 5."),
    (request(user(*[block("x") | MARK] * 4), **MARK), "Found 5."),
]  # fmt: skip


@pytest.mark.parametrize(("body", "message"), REFUSED)
def test_refused(body: dict[str, Any], message: str) -> None:
    problem = problem_of(body)
    assert problem is not None
    assert (problem.status, problem.type) == (400, "invalid_request_error")
    assert message in problem.message


def test_counting_needs_no_limit() -> None:
    assert problem_of(without("max_tokens"), counting=True) is None


def test_unknown_models_are_refused_where_asked_for() -> None:
    problem = problem_of(request("hi"), models=["claude-sonnet-5-5"])
    assert problem and (problem.status, problem.message) == (404, "model: claude-haiku-4-5")
    assert problem_of(request("hi"), models=["claude-haiku-4-5"]) is None


def test_sizes() -> None:
    assert too_long(203284, 200000) == refused("prompt is too long: 203284 tokens > 200000 maximum")
    assert (too_large().status, too_large().type) == (413, "request_too_large")
