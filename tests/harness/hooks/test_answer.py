"""What a hook says is read by the contract of its event."""

from __future__ import annotations

from typing import Any

import pytest
from harness.hooks.kit import read
from hypothesis import given
from hypothesis import strategies as st

from skilleval.harness.hooks import EVENTS, HookEvent
from skilleval.harness.hooks.answer import MOST, RANKS, Answer, Rubbish

E = HookEvent
BLOCKING = [event for event in E if EVENTS[event].can_block]
HEEDING = [event for event in E if EVENTS[event].powers]


@pytest.mark.parametrize("event", E)
@pytest.mark.parametrize("text", ["", "\n", "{}", ' {"suppressOutput": true} '])
def test_silence_means_nothing(event: HookEvent, text: str) -> None:
    answer = read(text, event)
    assert answer == Answer(said=answer.said, notes=answer.notes)


@pytest.mark.parametrize("decision", RANKS)
def test_permission(decision: str) -> None:
    specific = {
        "hookEventName": "PreToolUse",
        "permissionDecision": decision,
        "permissionDecisionReason": "because",
        "updatedInput": {"command": "true"},
        "additionalContext": "note",
    }
    answer = read({"hookSpecificOutput": specific}, E.PRE_TOOL_USE)
    assert (answer.behavior, answer.reason, answer.context) == (decision, "because", "note")
    assert answer.updated_input == {"command": "true"} and not answer.notes


@pytest.mark.parametrize("event", BLOCKING)
def test_block(event: HookEvent) -> None:
    answer = read('{"decision": "block", "reason": "tests fail"}', event)
    assert (answer.behavior, answer.reason) == ("deny", "tests fail")


@pytest.mark.parametrize("event", [event for event in HEEDING if event not in BLOCKING])
def test_block_means_nothing_elsewhere(event: HookEvent) -> None:
    answer = read({"decision": "block"}, event)
    assert answer.behavior is None and "`decision` means nothing" in answer.notes[0]


def test_the_older_approval() -> None:
    assert read({"decision": "approve"}, E.PRE_TOOL_USE).behavior == "allow"
    assert read({"decision": "approve"}, E.STOP).behavior is None


def test_the_stronger_of_two_forms_counts() -> None:
    said = {"decision": "block", "hookSpecificOutput": {"permissionDecision": "allow"}}
    assert read(said, E.PRE_TOOL_USE).behavior == "deny"


def test_permission_request() -> None:
    allow = {"behavior": "allow", "updatedInput": {"a": 1}}
    answer = read({"hookSpecificOutput": {"decision": allow}}, E.PERMISSION_REQUEST)
    assert (answer.behavior, answer.updated_input) == ("allow", {"a": 1})
    deny = {"behavior": "deny", "message": "no", "interrupt": True, "updatedPermissions": []}
    answer = read({"hookSpecificOutput": {"decision": deny}}, E.PERMISSION_REQUEST)
    assert (answer.behavior, answer.reason, answer.stop, answer.stop_reason) == (
        *("deny", "no"),
        *(True, "no"),
    )
    assert answer.notes == ["`decision.updatedPermissions` is not known"]


def test_stop_message_and_output() -> None:
    said = {"continue": False, "stopReason": "enough", "systemMessage": "hm", "async": True}
    answer = read(said, E.POST_TOOL_USE)
    assert (answer.stop, answer.stop_reason, answer.message) == (True, "enough", "hm")
    assert answer.notes == ["`async` is not known"]
    assert not read({"continue": True}, E.STOP).stop
    said = {"hookSpecificOutput": {"updatedToolOutput": [1]}}
    assert read(said, E.POST_TOOL_USE).updated_output == [1]
    said = {"hookSpecificOutput": {"updatedMCPToolOutput": "x"}}
    assert read(said, E.POST_TOOL_USE, "mcp__a__b").updated_output == "x"
    answer = read(said, E.POST_TOOL_USE, "Bash")
    assert answer.updated_output is None and answer.notes
    assert read({"hookSpecificOutput": {"retry": True}}, E.PERMISSION_DENIED).retry


@pytest.mark.parametrize("event", E)
def test_plain_text_is_context_where_the_contract_says_so(event: HookEvent) -> None:
    if event in (E.SESSION_START, E.USER_PROMPT_SUBMIT):
        assert read("on branch main\n", event).context == "on branch main"
    elif event in (E.STOP_FAILURE, E.INSTRUCTIONS_LOADED):
        assert read("on branch main\n", event).notes
    else:
        with pytest.raises(Rubbish, match="on branch main"):
            read("on branch main\n", event)


@pytest.mark.parametrize("event", HEEDING)
@pytest.mark.parametrize("text", ['{"continue": fal', '{"a":' * 100_000, "{1: 2}", '{"a": 1} x'])
def test_broken_json_is_rubbish(event: HookEvent, text: str) -> None:
    with pytest.raises(Rubbish, match="can't be read"):
        read(text, event)


@pytest.mark.parametrize(
    "said",
    [
        {"continue": "no"},
        {"stopReason": 1},
        {"systemMessage": ["x"]},
        {"decision": "deny"},
        {"decision": {}},
        {"decision": "block", "reason": 5},
        {"hookSpecificOutput": "x"},
        {"hookSpecificOutput": {"hookEventName": "Stop", "permissionDecision": "deny"}},
        {"hookSpecificOutput": {"permissionDecision": "maybe"}},
        {"hookSpecificOutput": {"permissionDecision": True}},
        {"hookSpecificOutput": {"updatedInput": "ls"}},
        {"hookSpecificOutput": {"additionalContext": {}}},
    ],
)
def test_wrong_types_are_rubbish(said: dict[str, Any]) -> None:
    with pytest.raises(Rubbish):
        read(said, E.PRE_TOOL_USE)
    with pytest.raises(Rubbish):
        read({"hookSpecificOutput": {"decision": {"behavior": "ask"}}}, E.PERMISSION_REQUEST)


def test_long_texts_are_cut_and_say_so() -> None:
    answer = read({"decision": "block", "reason": "x" * (MOST + 5)}, E.STOP)
    assert answer.reason == "x" * MOST + "\n[cut: 5 more characters]"
    answer = read({f"k{i}" * 100: 1 for i in range(100)}, E.STOP)
    assert len(answer.notes) == 20 and all(len(note) < 200 for note in answer.notes)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                """continue stopReason systemMessage decision reason hookSpecificOutput
                hookEventName permissionDecision updatedInput additionalContext behavior message
                retry updatedToolOutput interrupt nonsense""".split()
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(said=st.dictionaries(st.text(max_size=3), JSON) | JSON, event=st.sampled_from(list(E)))
def test_no_answer_breaks_anything(said: Any, event: HookEvent) -> None:
    if not isinstance(said, dict):
        said = {"hookSpecificOutput": said}
    try:
        answer = read(said, event)
    except Rubbish:
        return
    assert answer.behavior is None or EVENTS[event].can_block
