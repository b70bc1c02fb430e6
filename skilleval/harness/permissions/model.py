"""The words of the permission pipeline: calls, capabilities, verdicts, decisions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Literal, NamedTuple, get_args

from skilleval.errors import InputError

__all__ = [
    "Answer",
    "Call",
    "Callback",
    "Capability",
    "Decision",
    "HookVerdict",
    "Kind",
    "Mode",
    "Step",
]

Kind = Literal[
    "read", "write", "execute", "network", "tool", "skill", "agent", "variable", "unknown"
]
Step = Literal[
    "schema",
    "hook",
    "deny rule",
    "ask rule",
    "mode",
    "allow rule",
    "classifier",
    "callback",
]

_LONGEST = 2_000
"""Characters of one text of a call that an event keeps: the call itself is in the trace, whole."""
_MOST = 200
"""Capabilities that an event lists."""


_LONGEST_REASON = 600
_HOW: dict[Step, str] = {
    "schema": "the input is malformed",
    "hook": "a hook refused it",
    "deny rule": "a rule denies it",
    "ask rule": "a rule wants a person to be asked",
    "mode": "the permission mode does not allow it",
    "allow rule": "no rule allows it",
    "classifier": "the safety check refused it",
    "callback": "it was not approved",
}


class Call(NamedTuple):
    """A tool call as the model wrote it."""

    tool: str
    input: Mapping[str, Any]
    id: str = ""


class Mode(StrEnum):
    """What happens to a call that no rule decides."""

    DEFAULT = "default"
    DONT_ASK = "dontAsk"
    ACCEPT_EDITS = "acceptEdits"
    BYPASS = "bypassPermissions"
    PLAN = "plan"
    AUTO = "auto"


class Capability(NamedTuple):
    """Something that a call needs to be able to do.

    Attributes:
        target: a path with all links followed, the file of a program, a host, a name; what is
            known only in part has dots where it is not.
    """

    kind: Kind
    target: str

    def __str__(self) -> str:
        return f"{self.kind} {self.target}"


class HookVerdict(NamedTuple):
    """What the hooks that run before a call have said, all together.

    ``defer`` leaves it to whoever is asked, as ``ask`` does.
    """

    behavior: Literal["allow", "ask", "deny", "defer"] | None = None
    reason: str = ""
    hook: str = ""
    updated_input: Mapping[str, Any] | None = None


class Answer(NamedTuple):
    """What a person, or a policy in a person's place, has answered.

    Attributes:
        grant: a rule, as it would stand in ``allow``, that holds until the session ends.
    """

    allow: bool
    reason: str = ""
    grant: str = ""


Callback = Callable[[Call, Sequence[Capability], str], Awaitable[Answer]]
"""Asked with the call, what it needs, and why nothing before has decided."""


class Decision(NamedTuple):
    """Whether a call may be carried out, and who says so.

    Attributes:
        decided_by: the rule as it is written, the hook, the mode, or who was asked.
        covered: a rule of the policy fits the call; grants of a session are none.
        input: what is to be carried out: a hook may have changed it.
    """

    allowed: bool
    step: Step
    decided_by: str
    reason: str
    capabilities: tuple[Capability, ...]
    covered: bool
    input: Mapping[str, Any]
    tool: str = ""
    id: str = ""

    def to_event(self, asked: Call | None = None) -> dict[str, Any]:
        """The fields of the event in the trace; the call's id is the event's ``tool_use``.

        ``asked`` is the call as the model wrote it: kept as well if a hook has changed it.
        """
        capabilities = [each._asdict() for each in self.capabilities[:_MOST]]
        more = len(self.capabilities) - _MOST
        if more > 0:
            capabilities.append({"kind": "unknown", "target": f"and {more:,} more"})
        call = {"tool": self.tool, "input": _clipped(self.input)}
        if asked is not None and asked.input != self.input:
            call["asked"] = _clipped(asked.input)
        return {
            "call": call,
            "allowed": self.allowed,
            "step": self.step,
            "decided_by": self.decided_by,
            "reason": self.reason,
            "capabilities": capabilities,
            "covered": self.covered,
        }

    def told(self) -> str:
        """What a model is told of a denial: what was refused, by whom, why, and that it goes on.

        Nothing of any file is in it: it is made of the call and of the rules.
        """
        by = f" ({self.decided_by})" if self.decided_by else ""
        more = len(self.reason) - _LONGEST_REASON
        reason = self.reason if more <= 0 else f"{self.reason[:_LONGEST_REASON]}…"
        return (
            f"This call of {self.tool} was not carried out: {_HOW[self.step]}{by}. {reason}\n"
            "That is no reason to stop. Reach the goal in another way that is allowed, or say "
            "what you would need and why; do not try to get around the restriction."
        )

    @classmethod
    def from_event(cls, event: Mapping[str, Any]) -> Decision:
        """A decision as it was read from a trace.

        Raises:
            InputError: something is missing, or of the wrong kind.
        """
        try:
            call = event["call"]
            kinds = get_args(Kind)
            capabilities = tuple(
                Capability(each["kind"] if each["kind"] in kinds else "unknown", each["target"])
                for each in event["capabilities"]
            )
            found = cls(
                event["allowed"],
                event["step"],
                event["decided_by"],
                event["reason"],
                capabilities,
                event["covered"],
                call["input"],
                call["tool"],
                event.get("tool_use") or "",
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(f"a permission event is broken: {error}") from None
        texts = (found.step, found.decided_by, found.reason, found.tool, found.id)
        sound = (
            found.step in get_args(Step)
            and all(isinstance(text, str) for text in texts)
            and isinstance(found.allowed, bool)
            and isinstance(found.covered, bool)
            and isinstance(found.input, Mapping)
            and all(isinstance(each.target, str) for each in capabilities)
        )
        if not sound:
            raise InputError("a permission event is broken: a field is of the wrong kind")
        return found


def _clipped(value: Any, depth: int = 0) -> Any:
    """An input whose long texts are cut, and say so."""
    if isinstance(value, str):
        more = len(value) - _LONGEST
        return value if more <= 0 else f"{value[:_LONGEST]}… [{more:,} more characters]"
    if depth > 8:
        return "…"
    if isinstance(value, Mapping):
        return {str(key): _clipped(each, depth + 1) for key, each in value.items()}
    if isinstance(value, list | tuple):
        kept = [_clipped(each, depth + 1) for each in value[:_MOST]]
        return kept if len(value) <= _MOST else [*kept, f"… [{len(value) - _MOST:,} more]"]
    return value
