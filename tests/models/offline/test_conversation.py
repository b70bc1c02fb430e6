"""A request read as a conversation, as our harness and as Claude Code send it."""

from __future__ import annotations

import time
from typing import Any

import pytest
from models.offline.kit import assistant, call, request, result, user
from models.offline.kit import text as block

from skilleval.models.offline.conversation import Conversation

BASE = "Base directory for this skill: /s/csv-tidy\n\n# Tidy\n\nDo it."
REMINDER = "<system-reminder>\nToday is a day.\n</system-reminder>"
NUMBERED = "1\t---\n2\tname: csv-tidy\n3\t---\n4\t\n5\t# Tidy"


@pytest.mark.parametrize(
    ("messages", "query"),
    [
        (["hi"], "hi"),
        ([user(block(REMINDER), block("hi"), block(REMINDER))], "hi"),
        ([f"{REMINDER}hi{REMINDER}"], "hi"),
        (["hi", {"role": "system", "content": "Environment"}], "hi"),
        (["first", assistant(block("ok")), "second"], "second"),
        (["hi", assistant(call("Bash")), user(result("x"), block("by the way"))], "hi"),
        (["hi", assistant(call("Skill")), user(result("ok"), block(BASE))], "hi"),
        ([user(block("hi"), block(BASE))], "hi"),
        ([f"hi\n\n{BASE}"], "hi"),
        (["hi", assistant(block("ok")), "[Request interrupted by user]"], "hi"),
        (
            [
                user(
                    block("<command-message>csv-tidy</command-message>\n<command-name>/csv-tidy"
                          "</command-name>\n<command-args>a.csv</command-args>"),
                    block(BASE),
                )
            ],
            "/csv-tidy a.csv",
        ),
        ([user(block(BASE))], ""),
        ([], ""),
    ],
)  # fmt: skip
def test_query(messages: list[Any], query: str) -> None:
    assert Conversation(request(*messages)).query == query


def test_instructions_behind_a_skill_call() -> None:
    body = request(
        "hi", assistant(call("Skill", skill="csv-tidy")),
        user(result("Launching skill: csv-tidy"), block(BASE)),
    )  # fmt: skip
    (skill,) = Conversation(body).loaded
    assert (skill.name, skill.folder, skill.at) == ("csv-tidy", "/s/csv-tidy", 2)
    assert skill.body == "\n# Tidy\n\nDo it."


def test_instructions_in_the_result_itself() -> None:
    body = request("hi", assistant(call("Skill")), user(result(f"ok\n{BASE}")))
    assert [skill.name for skill in Conversation(body).loaded] == ["csv-tidy"]


@pytest.mark.parametrize("message", [f"hi\n{BASE}", user(block("hi"), block(BASE)), BASE])
def test_instructions_that_were_there_from_the_start(message: Any) -> None:
    seen = Conversation(request(message))
    assert [(skill.name, skill.at) for skill in seen.loaded] == [("csv-tidy", seen.asked_at)]


@pytest.mark.parametrize(
    "read",
    [
        call("Read", file_path="/s/csv-tidy/SKILL.md"),
        call("Bash", command="cat /s/csv-tidy/SKILL.md"),
        call("Bash", command="cat '/s/csv-tidy/SKILL.md'"),
    ],
)
@pytest.mark.parametrize("shown", [NUMBERED, "---\nname: csv-tidy\n---\n\n# Tidy"])
def test_instructions_that_the_model_read(read: dict[str, Any], shown: str) -> None:
    seen = Conversation(request("hi", assistant(read), user(result(shown))))
    (skill,) = seen.loaded
    assert (skill.folder, skill.body.strip()) == ("/s/csv-tidy", "# Tidy")
    assert seen.ran() == []


def test_what_could_not_be_read_is_not_loaded() -> None:
    read = call("Read", file_path="/s/csv-tidy/SKILL.md")
    body = request("hi", assistant(read), user(result("no such file", is_error=True)))
    assert Conversation(body).loaded == ()


def test_commands_since_the_query() -> None:
    body = request(
        "first", assistant(call("Bash", "a", command="old")), user(result("1", "a")),
        assistant(block("done")), "second",
        assistant(call("Bash", "b", command="new"), call("Bash", "c", command="lost")),
        user(result([block("out"), block(REMINDER)], "b", is_error=True)),
    )  # fmt: skip
    ran = Conversation(body).ran()
    assert [(c.text("command"), c.result, c.failed) for c in ran] == [
        ("new", "out", True),
        ("lost", None, False),
    ]


def test_answers_and_what_was_heard() -> None:
    body = request(
        "hi", assistant(block("a")), assistant(call("Bash")), user(result("out"), block("go on")),
        {"role": "system", "content": "x"}, assistant(block("b")),
    )  # fmt: skip
    seen = Conversation(body)
    assert seen.answers == 2
    assert list(seen.heard()) == ["hi", "out", "go on"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"messages": None},
        {"messages": "hi"},
        {"messages": [None, 3, {"role": "user"}, {"role": 7, "content": 7}]},
        {"messages": [{"role": "user", "content": [None, "x", {}, {"type": "text", "text": 3}]}]},
        {"messages": [{"role": "assistant", "content": [{"type": "tool_use", "input": 3}]}]},
        {"messages": [{"role": "user", "content": [{"type": "tool_result", "content": 3}]}]},
        {"system": 3, "tools": {"a": 1}, "tool_choice": "none"},
    ],
)
def test_odd_requests(body: dict[str, Any]) -> None:
    seen = Conversation(body)
    assert seen.query == "" and seen.loaded == () and seen.listing == () and seen.ran() == []


def test_long_conversations_take_linear_time() -> None:
    messages: list[Any] = ["hi"]
    for number in range(3_000):
        name = f"toolu_{number}"
        messages += [assistant(call("Bash", name, command="x")), user(result("y" * 200, name))]
    began = time.perf_counter()
    seen = Conversation(request(*messages))
    assert len(seen.ran()) == 3_000 and seen.query == "hi" and seen.loaded == ()
    assert time.perf_counter() - began < 2
