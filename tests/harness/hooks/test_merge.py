"""One verdict out of many answers: deny, defer, ask, allow, silence."""

from __future__ import annotations

from typing import Any

import pytest
from harness.hooks.kit import fire, says
from hypothesis import given
from hypothesis import strategies as st

from skilleval.harness.hooks import HookEvent, HookOutcome, Verdict
from skilleval.harness.hooks.answer import RANKS, Answer
from skilleval.harness.hooks.merge import merge

ORDER = ["deny", "defer", "ask", "allow", None]


def merged(*answers: Answer) -> Verdict:
    outcomes = [HookOutcome(f"h{i}", "command", "", "answered", 0) for i in range(len(answers))]
    return merge(list(zip(outcomes, answers, strict=True)))


answers = st.builds(
    Answer,
    behavior=st.sampled_from(ORDER),
    reason=st.sampled_from(["", "one", "two"]),
    updated_input=st.none() | st.builds(lambda n: {"n": n}, st.integers(0, 2)),
    context=st.sampled_from(["", "c"]),
    stop=st.booleans(),
    retry=st.booleans(),
)


@given(st.lists(answers, max_size=6))
def test_precedence(given_answers: list[Answer]) -> None:
    verdict = merged(*given_answers)
    behaviors = [answer.behavior for answer in given_answers]
    assert verdict.behavior == next((b for b in ORDER if b in behaviors), None)
    if verdict.behavior:
        first = behaviors.index(verdict.behavior)
        assert verdict.decided_by == f"h{first}"
        assert given_answers[first].reason in verdict.reason
    else:
        assert (verdict.decided_by, verdict.reason) == ("", "")
    assert verdict.stop == any(answer.stop for answer in given_answers)
    assert len(verdict.additional_context) == sum(bool(a.context) for a in given_answers)


@given(st.lists(answers, max_size=6))
def test_updated_input_is_the_last_of_those_that_did_not_lose(given_answers: list[Answer]) -> None:
    verdict = merged(*given_answers)
    usable = [
        i
        for i, answer in enumerate(given_answers)
        if answer.updated_input is not None
        and answer.behavior in (None, verdict.behavior)
        and verdict.behavior not in ("deny", "defer")
    ]
    expected = given_answers[usable[-1]].updated_input if usable else None
    assert verdict.updated_input == expected
    for i, answer in enumerate(given_answers):
        passed_over = answer.updated_input is not None and (
            i not in usable or answer.updated_input != expected
        )
        assert bool(verdict.outcomes[i].notes) == passed_over


@given(st.lists(answers, max_size=5), st.randoms())
def test_the_behaviour_does_not_depend_on_the_order(
    given_answers: list[Answer], random: Any
) -> None:
    shuffled = list(given_answers)
    random.shuffle(shuffled)
    assert merged(*shuffled).behavior == merged(*given_answers).behavior


def test_silence_is_an_empty_verdict() -> None:
    assert merged() == Verdict()


@pytest.mark.parametrize("strong", RANKS)
@pytest.mark.parametrize("weak", RANKS)
def test_precedence_of_real_hooks(strong: str, weak: str) -> None:
    hooks = [
        says({"hookSpecificOutput": {"permissionDecision": decision}}, name=decision)
        for decision in (weak, strong)
    ]
    verdict = fire(HookEvent.PRE_TOOL_USE, *hooks)
    assert verdict.behavior == verdict.decided_by == max(strong, weak, key=RANKS.__getitem__)


def test_two_updated_inputs() -> None:
    def update(command: str, decision: str | None) -> dict[str, Any]:
        specific = {"permissionDecision": decision, "updatedInput": {"command": command}}
        return {"hookSpecificOutput": specific}

    verdict = fire(
        HookEvent.PRE_TOOL_USE,
        says(update("a", "ask"), name="first"),
        says(update("b", None), name="second"),
        says(update("c", "allow"), name="third"),
    )
    assert verdict.behavior == "ask" and verdict.updated_input == {"command": "b"}
    assert [outcome.notes for outcome in verdict.outcomes] == [
        ("its `updatedInput` gave way to that of second",),
        (),
        ("its `updatedInput` is dropped, because the verdict is ask",),
    ]
