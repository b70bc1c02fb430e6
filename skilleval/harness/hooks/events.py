"""The words of the hook contract: events, fields of a payload, powers of an answer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

__all__ = ["COMMON", "Contract", "Field", "HookEvent", "Power"]


class HookEvent(StrEnum):
    """A moment in the life of a session at which hooks are called."""

    SESSION_START = "SessionStart"
    SETUP = "Setup"
    USER_PROMPT_SUBMIT = "UserPromptSubmit"
    USER_PROMPT_EXPANSION = "UserPromptExpansion"
    PRE_TOOL_USE = "PreToolUse"
    PERMISSION_REQUEST = "PermissionRequest"
    PERMISSION_DENIED = "PermissionDenied"
    POST_TOOL_USE = "PostToolUse"
    POST_TOOL_USE_FAILURE = "PostToolUseFailure"
    POST_TOOL_BATCH = "PostToolBatch"
    STOP = "Stop"
    STOP_FAILURE = "StopFailure"
    NOTIFICATION = "Notification"
    SUBAGENT_START = "SubagentStart"
    SUBAGENT_STOP = "SubagentStop"
    TASK_CREATED = "TaskCreated"
    TASK_COMPLETED = "TaskCompleted"
    INSTRUCTIONS_LOADED = "InstructionsLoaded"
    CONFIG_CHANGE = "ConfigChange"
    CWD_CHANGED = "CwdChanged"
    FILE_CHANGED = "FileChanged"
    PRE_COMPACT = "PreCompact"
    POST_COMPACT = "PostCompact"
    SESSION_END = "SessionEnd"


class Power(StrEnum):
    """Something that an answer can bring about; the value is its key in the answer."""

    STOP = "continue"
    MESSAGE = "systemMessage"
    BLOCK = "decision"
    PERMISSION = "permissionDecision"
    REQUEST = "decision.behavior"
    INPUT = "updatedInput"
    CONTEXT = "additionalContext"
    OUTPUT = "updatedToolOutput"
    RETRY = "retry"


class Field(NamedTuple):
    """A field of the payload.

    Attributes:
        needed: whoever fires the event has to give it.
        default: what stands there when it was not given; ``None`` leaves the field out.
    """

    name: str
    meaning: str
    needed: bool = True
    default: list[object] | None = None


COMMON = (
    Field("session_id", "the session"),
    Field("transcript_path", "where its transcript is written"),
    Field("cwd", "the working directory of the session, on this machine"),
    Field("hook_event_name", "the event"),
    Field("prompt_id", "the prompt being worked on, once there is one", needed=False),
    Field("permission_mode", "the permission mode, at the events that say so", needed=False),
    Field("agent_id", "the subagent in which it happens, inside one only", needed=False),
    Field("agent_type", "its type, inside a subagent only", needed=False),
)
"""What every payload holds beside the fields of its event."""


@dataclass(frozen=True)
class Contract:
    """The contract of one event.

    Attributes:
        when: the moment, as a sentence.
        fields: what the payload holds beside the common fields.
        powers: what an answer may bring about.
        subject: the field that matchers are tried on; none where every hook is called.
        values: which values that field has.
        denial: what it means to be denied; empty where nothing can be blocked.
        told: a user is shown the error output of a hook that ends with 2, where that blocks
            nothing.
        timeout: seconds that a hook has where it does not set its own.
        mode: the payload holds the permission mode.
        text_is_context: plain text counts as additional context.
    """

    when: str
    fields: tuple[Field, ...]
    powers: frozenset[Power]
    subject: str = ""
    values: str = ""
    denial: str = ""
    told: bool = True
    timeout: float = 600.0
    mode: bool = False
    text_is_context: bool = False

    @property
    def can_block(self) -> bool:
        """Whether a hook can keep something from happening here."""
        return bool(self.denial)

    @property
    def exit_zero(self) -> str:
        """What it means here that a command ends with 0."""
        if not self.powers:
            return "done; whatever it prints is kept in the trace and not heeded"
        text = "; plain text is taken for additional context" if self.text_is_context else ""
        return f"done; a JSON object on standard output is its answer, no output is none{text}"

    @property
    def exit_two(self) -> str:
        """What it means here that a command ends with 2."""
        if self.can_block:
            return f"denied, with standard error as the reason: {self.denial}"
        shown = "the user is shown standard error" if self.told else "it is kept in the trace"
        return f"nothing is blocked; {shown}"

    @property
    def exit_other(self) -> str:
        """What any other exit code means here, death by a signal included."""
        return "the hook has failed"

    @property
    def failure(self) -> str:
        """What comes of a hook that crashes, hangs, or answers rubbish here."""
        if self.can_block:
            return "nothing, as if it were silent; denied if the hook has `onFailure: block`"
        return "nothing, beyond a line in the trace"
