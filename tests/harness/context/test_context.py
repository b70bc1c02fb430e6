"""Making room: nothing without pressure, cheap before dear, and never a broken conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skilleval.errors import Failure, InputError, ModelError
from skilleval.harness.context.history import History, Message, blocks_of, estimate
from skilleval.harness.context.manager import EDITS, Context, Thresholds, server_side
from skilleval.harness.context.shapers import SHAPERS, clear_old_results, cut_results, fold, snip
from skilleval.harness.context.summary import (
    SECTIONS,
    RecentFile,
    after_summary,
    read_summary,
    summary_request,
)


def user(text: str) -> Message:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def step(number: int, result: Any, **call: Any) -> list[Message]:
    """A tool call of the model, and its result."""
    identity = f"toolu_{number}"
    tool = {"type": "tool_use", "id": identity, "name": "Read", "input": {"n": number}, **call}
    answer = {"type": "tool_result", "tool_use_id": identity, "content": result}
    return [{"role": "assistant", "content": [tool]}, {"role": "user", "content": [answer]}]


def conversation(results: Sequence[Any], prompt: str = "Do it.") -> History:
    messages = [user(prompt)]
    for number, result in enumerate(results):
        messages += step(number, result)
    return History(tuple(messages))


def texts(history: History) -> list[Any]:
    return [block["content"] for _, _, block in history.results()]


def assert_valid(messages: list[Message]) -> None:
    """Each tool call is answered in the next message, and each result answers one."""
    assert messages[0]["role"] == "user"
    open_calls: set[str] = set()
    for message in messages:
        blocks = blocks_of(message)
        assert blocks
        results = {b["tool_use_id"] for b in blocks if b.get("type") == "tool_result"}
        assert results == open_calls
        calls = [b["id"] for b in blocks if b.get("type") == "tool_use"]
        assert not calls or message["role"] == "assistant"
        open_calls = set(calls)
    assert not open_calls


def context(
    window: int = 10_000, answer: str = "<summary>all well</summary>", **more: Any
) -> Context:
    async def summarise(messages: list[Message]) -> str:
        assert_valid(messages)
        return answer

    return Context(window, 0, summarise, lambda: [RecentFile("/w/a.py", "x = 1")], **more)


def test_long_results_keep_their_beginning_and_say_where_the_rest_is() -> None:
    long = "line\n" * 3_000
    kept = long + "\n[cut; full output: /w/.out/1.txt]"
    shaped = cut_results(conversation([long, kept, *["short"] * 5]))
    first, second, *others = texts(shaped)
    assert first.startswith("line\n") and "Call Read again" in first
    assert "The whole is in /w/.out/1.txt." in second
    assert "14,000 characters more" in first
    assert others == ["short"] * 5


def test_recent_results_are_never_touched() -> None:
    history = conversation(["x" * 20_000] * 5)
    for name in ("results", "snip", "microcompact"):
        assert SHAPERS[name](history) is history


def test_snip_takes_out_what_was_read_again() -> None:
    messages = [user("Do it."), *step(0, "old " * 50), *step(1, "b " * 50)]
    messages += step(2, "new " * 50, input={"n": 0})
    for number in range(3, 8):
        messages += step(number, "z")
    shaped = texts(snip(History(tuple(messages))))
    assert "made again later" in shaped[0]
    assert shaped[1:3] == ["b " * 50, "new " * 50]


def test_snip_takes_thoughts_and_reminders_from_before_the_last_prompt() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    said = {"type": "text", "text": "yes"}
    messages = (
        {"role": "user", "content": [{"type": "text", "text": "<system-reminder>\nx"}, said]},
        {"role": "assistant", "content": [thought, said]},
        user("Now do it."),
        {"role": "assistant", "content": [thought, said]},
    )
    shaped = snip(History(messages)).messages
    assert [len(blocks_of(message)) for message in shaped] == [1, 1, 1, 2]


def test_clearing_keeps_calls_and_says_what_was_there() -> None:
    history = conversation(["x" * 500] * 8)
    shaped = clear_old_results(history)
    assert [("cleared" in text) for text in texts(shaped)] == [True] * 3 + [False] * 5
    assert "500 characters" in texts(shaped)[0] and "Call Read again" in texts(shaped)[0]
    assert shaped.calls() == history.calls()
    assert clear_old_results(shaped) is shaped


def test_folding_is_a_view_and_the_history_stays() -> None:
    history = conversation(["x" * 500] * 20, prompt="Find the bug. " + "detail " * 900)
    shaped = fold(history)
    assert shaped.messages == history.messages
    view = shaped.view()
    assert len(view) < 12
    assert_valid(view)
    note = blocks_of(view[0])[0]["text"]
    assert "detail " * 900 in note + " "
    assert "You called: Read" in note and "are not shown" in note


@given(
    st.lists(
        st.one_of(
            st.just("prompt"),
            st.tuples(st.integers(1, 3), st.sampled_from(["", "x", "y" * 9_000])),
        ),
        max_size=30,
    )
)
def test_no_shaper_breaks_a_conversation(parts: list[Any]) -> None:
    messages = [user("Do it.")]
    for number, part in enumerate(parts):
        if part == "prompt":
            messages += [{"role": "assistant", "content": "done"}, user(f"again {number}")]
            continue
        calls, result = part
        pairs = [step(number * 10 + index, result) for index in range(calls)]
        messages.append({"role": "assistant", "content": [p[0]["content"][0] for p in pairs]})
        messages.append({"role": "user", "content": [p[1]["content"][0] for p in pairs]})
    history = History(tuple(messages))
    last = [m for m in messages if blocks_of(m)[0].get("type") == "text" and m["role"] == "user"][
        -1
    ]
    for shape in (*SHAPERS.values(), fold, fold):
        history = shape(history)
        assert_valid(history.view())
        assert blocks_of(last)[0]["text"] in str(history.view())


def test_nothing_happens_without_pressure() -> None:
    history = conversation(["x" * 100] * 20)
    assert asyncio.run(context(100_000).prepare(history)) == (history, [])


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.45, []), (0.55, ["results"]), (0.95, ["results", "microcompact"])],
)
def test_cheap_shapers_come_first_and_dear_ones_only_if_they_must(
    share: float, expected: list[str]
) -> None:
    history = conversation(["x" * 9_000] * 2 + ["y" * 6_000] * 12)
    window = int(history.tokens / share)
    shaped, done = asyncio.run(context(window).prepare(history))
    assert [entry.shaper for entry in done] == expected
    assert all(entry.after < entry.before for entry in done)
    assert (shaped.tokens < history.tokens) == bool(expected)


def test_when_nothing_else_helps_a_model_sums_up() -> None:
    said = [{"role": "assistant", "content": "word " * 400}, user("and? " * 400)] * 10
    history = History((user("Start."), *said))
    window = history.tokens
    shaped, done = asyncio.run(context(window).prepare(history))
    assert done[-1].shaper == "summary"
    text = str(shaped.view())
    assert "all well" in text and "x = 1" in text and "and? " * 400 in text
    assert shaped.tokens < window / 3


def test_a_summary_is_never_summed_up() -> None:
    history = History((user("word " * 9_000),))
    inner: list[Any] = []

    async def summarise(messages: list[Message]) -> str:
        inner.append(await manager.prepare(history))
        return "<summary>s</summary>"

    manager = Context(10_000, 0, summarise, list)
    asyncio.run(manager.prepare(history))
    assert inner == [(history, [])]


def test_a_rescue_happens_once() -> None:
    history = conversation(["x" * 500] * 20)
    manager = context(10**9)
    first = asyncio.run(manager.rescue(history))
    assert first and first[0].tokens < history.tokens
    assert asyncio.run(manager.rescue(history)) is None


def test_a_summary_that_does_not_fit_either_is_asked_for_half() -> None:
    asked: list[int] = []

    async def summarise(messages: list[Message]) -> str:
        asked.append(len(messages))
        if len(asked) == 1:
            raise ModelError(Failure.TOO_LONG, "prompt is too long")
        return "short"

    said = [{"role": "assistant", "content": "word " * 400}, user("and? " * 400)] * 10
    manager = Context(1_000, 0, summarise, list)
    shaped, _ = asyncio.run(manager.prepare(History((user("Start."), *said))))
    assert len(asked) == 2 and asked[1] <= asked[0] // 2 + 1
    assert "short" in str(shaped.view())


def test_the_count_of_the_api_comes_first() -> None:
    history = History((user("x" * 400),)).after_reply({"role": "assistant", "content": "y"}, 5_000)
    assert history.tokens == 5_000
    more = history.plus(user("z" * 400))
    assert more.tokens == 5_000 + estimate([user("z" * 400)])


def test_a_warning_comes_once_for_each_mark() -> None:
    manager = context(1_000)
    sizes = [100, 620, 640, 780, 100, 620]
    said = [bool(manager.warning(History(counted=size))) for size in sizes]
    assert said == [False, True, False, True, False, True]


def test_the_request_names_what_to_keep_and_nine_sections() -> None:
    text = summary_request()["content"]
    assert len(SECTIONS) == 9 and all(section in text for section in SECTIONS)
    assert "decisions" in text and "not solved" in text and "Leave out" in text


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("<analysis>a</analysis><summary> s </summary>", "s"),
        ("<analysis>a</analysis> s", "s"),
        ("<summary>cut off", "cut off"),
        ("<analysis>cut off", ""),
    ],
)
def test_the_summary_is_found(text: str, summary: str) -> None:
    assert read_summary(text) == summary


def test_at_most_five_files_are_attached_and_cut_with_a_word() -> None:
    files = [RecentFile(f"/w/{n}", "é" * 30_000) for n in range(7)]
    text = str(after_summary(History((user("Go."),)), "s", files).messages)
    assert text.count("which you read lately") == 5
    assert "10,000 characters more" in text


def test_thresholds_are_shares() -> None:
    with pytest.raises(InputError):
        Thresholds(snip=60)


def test_the_server_can_do_it_instead() -> None:
    from anthropic.types.beta import BetaContextManagementConfigParam
    from pydantic import TypeAdapter

    parameters = server_side(EDITS, 200_000, Thresholds(results=0.3), thinking=True)
    TypeAdapter(BetaContextManagementConfigParam).validate_python(parameters["context_management"])
    types = [edit["type"] for edit in parameters["context_management"]["edits"]]
    assert types == ["clear_thinking_20251015", "clear_tool_uses_20250919", "compact_20260112"]
    assert "compact-2026-01-12" in parameters["betas"]
    triggers = [e.get("trigger") for e in parameters["context_management"]["edits"]]
    assert [t and t["value"] for t in triggers] == [None, 60_000, 180_000]


def test_the_server_is_asked_for_what_it_can_do() -> None:
    only = server_side([EDITS[2]], 20_000, Thresholds(), thinking=True)
    assert only["betas"] == ["compact-2026-01-12"]
    assert only["context_management"]["edits"][0]["trigger"]["value"] == 50_000
    assert server_side([EDITS[0]], 200_000, Thresholds(), thinking=False) == {}
    assert server_side([], 200_000, Thresholds(), thinking=True) == {}
