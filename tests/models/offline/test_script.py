"""Scripts: what they play, and what is wrong in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import Write
from hypothesis import given
from hypothesis import strategies as st
from models.offline.kit import assistant, request, result, user
from models.offline.kit import text as block

from skilleval.errors import InputError
from skilleval.models.offline import open_offline, script
from skilleval.models.offline.script import Script, open_script
from skilleval.models.offline.script_file import read_script
from skilleval.models.offline.turns import ApiError, Turn


def scripted(write: Write, text: str) -> Script:
    return open_script(str(write({"s.yaml": text}) / "s.yaml"))


def after(answers: int, query: str = "hi", **more: Any) -> dict[str, Any]:
    """A conversation with some answers in it."""
    messages: list[Any] = [query]
    for _ in range(answers):
        messages += [assistant(block("ok")), "go on"]
    return request(*messages, **more)


def words(turn: Turn) -> str:
    """What a turn says, or how it fails."""
    if turn.error:
        return f"error {turn.error.status}"
    if turn.drop_after is not None:
        return f"drop {turn.drop_after}"
    return "".join(part.get("text", "") for part in turn.content)


def test_the_example_of_the_documentation(write: Write) -> None:
    lines = str(script.__doc__).split("::\n", 1)[1].split("\nKeys of a turn", 1)[0].splitlines()
    played = scripted(write, "\n".join(line[4:] for line in lines))
    turn = played.answer(after(0))
    assert [part["type"] for part in turn.content] == ["thinking", "text", "tool_use"]
    assert [words(played.answer(after(1))) for _ in range(3)] == [
        "error 529", "error 529", "It has two rows.",
    ]  # fmt: skip
    notes = after(0, "Write release notes.")
    assert words(played.answer(notes)) == "drop 0"
    assert played.answer(notes).delay == 1.5
    assert words(played.answer(after(7, "Write release notes."))) == "Late, but here."


def test_all_keys(write: Write) -> None:
    played = scripted(
        write,
        """
        turns:
          - thinking: hm
            text: well
            tools: [{name: A, input: {n: 1, f: 0.5, b: true, x: null, d: 2024-01-01, l: [a]}}]
            stop_reason: pause_turn
            usage: {input_tokens: 1, output_tokens: 2, cache_read_input_tokens: 3,
                    cache_creation_input_tokens: 4, thinking_tokens: 5}
            delay: 2
          - error: {status: 418, type: odd_error, message: Tea, retry_after: 0.5, after: 3}
          - stop_reason: refusal
            explanation: No.
          - text: cut
            drop: 2
        """,
    )
    first = played.answer(after(0))
    given = {"n": 1, "f": 0.5, "b": True, "x": None, "d": "2024-01-01", "l": ["a"]}
    assert first.content[2]["input"] == given
    assert (first.stop_reason, first.delay, len(first.usage)) == ("pause_turn", 2.0, 5)
    assert played.answer(after(1)).error == ApiError(418, "odd_error", "Tea", 0.5, 3)
    assert played.answer(after(1)).explanation == "No."
    assert played.answer(after(2)).drop_after == 2


def test_usual_types_of_errors(write: Write) -> None:
    played = scripted(
        write, "turns:\n" + "".join(f"- error: {{status: {s}}}\n" for s in (429, 503, 422))
    )
    types = [played.answer(after(0)).error for _ in range(3)]
    assert [e.type for e in types if e] == [
        "rate_limit_error", "api_error", "invalid_request_error",
    ]  # fmt: skip


def test_repeats_and_the_end(write: Write) -> None:
    played = scripted(write, "turns: [{text: a, repeat: 2}, {text: b}, {error: {status: 500}}]")
    assert [words(played.answer(after(n))) for n in range(3)] == ["a", "a", "b"]
    assert words(played.answer(after(3))) == "error 500"
    end = played.answer(after(3))
    assert end.error and end.error.status == 400 and "no turn for this" in end.error.message
    assert words(played.answer(after(9))) == "error 400"


def test_failures_for_ever(write: Write) -> None:
    played = scripted(write, "turns: [{drop: before, repeat: forever}, {text: never}]")
    assert [words(played.answer(after(0))) for _ in range(4)] == ["drop 0"] * 4


def test_conversations_play_independently(write: Write) -> None:
    played = scripted(write, "turns: [{text: a}, {error: {status: 500}}, {text: b}]")
    ones = [after(n, "one") for n in range(2)]
    twos = [after(n, "two") for n in range(2)]
    order = [ones[0], twos[0], ones[1], twos[1], twos[1], ones[1]]
    assert [words(played.answer(body)) for body in order] == [
        "a", "a", "error 500", "error 500", "b", "b",
    ]  # fmt: skip


def test_a_moved_cache_mark_is_the_same_request(write: Write) -> None:
    played = scripted(write, "turns: [{error: {status: 500}}, {text: b}]")
    marked = block("hi") | {"cache_control": {"type": "ephemeral"}}
    assert words(played.answer(request("hi"))) == "error 500"
    assert words(played.answer(request(user(marked)))) == "b"
    assert words(played.answer(request("hi", metadata={"user_id": "2"}))) == "error 500"


WHEN = """
conversations:
  - when: apples
    turns: [{text: about apples, repeat: forever}]
  - when: pears
    turns: [{text: about pears, repeat: forever}]
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (request("buy apples"), "about apples"),
        (request("buy pears"), "about pears"),
        (request("buy pears", assistant(block("x")), "and apples"), "about pears"),
        (request(user(block("hi")), user(result("pears"))), "about pears"),
        (request("<system-reminder>apples</system-reminder>pears"), "about pears"),
        (request("buy plums"), "error 400"),
    ],
)
def test_when(write: Write, body: dict[str, Any], expected: str) -> None:
    assert words(scripted(write, WHEN).answer(body)) == expected


def test_turns_for_all_other_conversations(write: Write) -> None:
    played = scripted(write, WHEN + "turns: [{text: about others}]")
    assert words(played.answer(request("buy plums"))) == "about others"


def test_counters_are_bounded(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "_MAX_COUNTERS", 2)
    played = scripted(write, "turns: [{error: {status: 500}}, {text: b}]")
    for name in "abc":
        assert words(played.answer(request(name))) == "error 500"
    assert words(played.answer(request("c"))) == "b"
    assert words(played.answer(request("a"))) == "error 500"


@pytest.mark.parametrize(
    ("text", "place", "message", "remedy"),
    [
        ("", "1:1", "the script is empty", "turns, conversations"),
        ("turns: [\n", "2:1", "no YAML", ""),
        ("a\x00b", "1:2", "no YAML: control character U+0000", ""),
        ("- text: x", "1:1", "a script must be a mapping", "turns, conversations"),
        ("{}", "1:1", "a script needs turns", "turns, conversations"),
        ("turnes: []", "1:1", "no key turnes; did you mean turns?", "turns, conversations"),
        ("turns: []", "1:8", "turns is empty", ""),
        ("turns: x", "1:8", "turns must be a list", ""),
        ("turns:\n  - x", "2:5", "a turn must be a mapping", "text, thinking"),
        ("turns:\n  - {}", "2:5", "a turn has to say something", "text, thinking"),
        ("turns:\n  - texts: x", "2:5", "a turn has no key texts; did you mean text?", "text, "),
        ("turns:\n  - text: a\n    text: b", "3:5", "text stands here twice", ""),
        ("turns:\n  - text: [a]", "2:11", "text must be a text", ""),
        ("turns:\n  - text: ''", "2:11", "text must be a text", ""),
        ("turns:\n  - text: a\n    delay: soon", "3:12", "delay must be a number", ""),
        ("turns:\n  - text: a\n    delay: -1", "3:12", "delay must be a number", ""),
        ("turns:\n  - text: a\n    delay: .inf", "3:12", "delay must be a number", ""),
        ("turns:\n  - text: a\n    delay: !!int x", "3:12", "delay must be a number", ""),
        ("turns:\n  - text: a\n    repeat: 0", "3:13", "repeat must be a whole number from 1", ""),
        ("turns:\n  - text: a\n    repeat: often", "3:13", "repeat must be a number", ""),
        ("turns:\n  - text: a\n    stop_reason: end", "3:18", "no stop reason: end", "end_turn"),
        (
            "turns:\n  - text: a\n    usage: {tokens: 1}",
            "3:13",
            "usage has no key tokens",
            "input_",
        ),
        ("turns:\n  - text: a\n    usage: {input_tokens: x}", "3:27", "a whole number from 0", ""),
        ("turns:\n  - error: 500", "2:12", "an error must be a mapping", "status"),
        ("turns:\n  - error: {message: x}", "2:12", "an error needs a status", "status"),
        ("turns:\n  - error: {status: 200}", "2:21", "status must be a whole number from 400", ""),
        ("turns:\n  - error: {status: 700}", "2:21", "status must be from 400 to 599", ""),
        ("turns:\n  - drop: later", "2:11", "drop must be before, or a number of events", ""),
        ("turns:\n  - drop: 1\n    error: {status: 500}", "2:11", "not both", ""),
        ("turns:\n  - tools: [{input: {}}]", "2:13", "a tool call needs a name", "name, input"),
        ("turns:\n  - tools: [{name: A, input: x}]", "2:30", "input must be a mapping", ""),
        ("conversations:\n  - when: x", "2:5", "a conversation needs turns", "when, turns"),
        ("conversations:\n  - turns: [{text: a}]", "2:5", "a conversation needs when", "when"),
        ("turns: [&a [*a]]", "1:9", "a turn must be a mapping", ""),
    ],
)
def test_one_clear_error(write: Write, text: str, place: str, message: str, remedy: str) -> None:
    path = str(write({"s.yaml": text}) / "s.yaml")
    with pytest.raises(InputError) as caught:
        open_offline(f"offline/script:{path}")
    assert caught.value.message.startswith(f"{path}:{place}: ")
    assert message in caught.value.message and "\n" not in caught.value.message
    assert remedy in caught.value.remedy


@pytest.mark.parametrize("name", ["missing.yaml", ".", "odd\0name"])
def test_files_that_can_not_be_read(write: Write, name: str) -> None:
    write({})
    with pytest.raises(InputError, match="can't be read"):
        open_script(name)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_bytes(b"turns: [{text: \xff}]")
    with pytest.raises(InputError, match="not UTF-8"):
        open_script(str(tmp_path / "s.yaml"))


def test_aliases_can_not_unfold_to_anything(write: Write) -> None:
    levels = "".join(f"  l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 9)}]\n" for i in range(1, 9))
    bomb = "turns:\n- tools:\n  - name: A\n    input:\n      l0: &l0 [x]\n" + levels.replace(
        "  l", "      l"
    )
    with pytest.raises(InputError, match="unfold to too much"):
        scripted(write, bomb)
    with pytest.raises(InputError, match="unfold to too much"):
        scripted(write, "turns: [{tools: [{name: A, input: &a {x: *a}}]}]")


def test_huge_numbers(write: Write) -> None:
    played = scripted(write, f"turns: [{{tools: [{{name: A, input: {{n: {'9' * 5000}}}}}]}}]")
    assert played.answer(after(0)).content[0]["input"]["n"] == "9" * 5000


@given(st.text(alphabet="turnsexdopmawhvi: -[]{}\n\t&*!|>'\"#0159", max_size=80))
def test_any_text_is_a_script_or_an_input_error(tmp_path_factory: Any, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_text(text, encoding="utf-8")
    try:
        read_script(str(path))
    except InputError as error:
        assert "\n" not in error.message
