"""The policy that plays a script, ``offline/script:PATH.yaml``: what a test wants said.

::

    turns:                        # for every conversation that no other is for
      - thinking: I should look first.
        text: I look at the file.
        tools:
          - {name: Bash, input: {command: cat a.csv}}
      - error: {status: 529, message: Overloaded, retry_after: 0.5}
        repeat: 2
      - text: It has two rows.
    conversations:
      - when: release notes       # a text of the user or of a tool
        turns:
          - drop: before
          - text: Late, but here.
            delay: 1.5
            repeat: forever

Keys of a turn:

``text``, ``thinking``, ``tools``
    what is said, in the order thinking, text, tools; a tool has ``name`` and ``input``.
``stop_reason``, ``explanation``
    in the API's words; it follows from the content where it is left out. The explanation is
    that of a refusal.
``usage``
    ``input_tokens``, ``output_tokens``, ``cache_read_input_tokens``,
    ``cache_creation_input_tokens``, ``thinking_tokens``, in place of the estimates.
``delay``
    seconds before the answer.
``error``
    ``status`` (400 to 599), ``type``, ``message``, ``retry_after`` (seconds), ``after``: with
    ``after: N`` the error comes inside the stream, behind N events of the answer.
``drop``
    the connection drops: ``before`` anything, or after a number of events.
``repeat``
    how often the turn is played, or ``forever``.

The turn is found from the conversation: the number of answers in it so far. So conversations
in parallel each play from the start. An error or a drop is no answer: the next request of the
same conversation gets the turn behind it. That needs a counter for each conversation (what is
the same in model, system, tools, messages and ``metadata`` counts as one); a client that keeps
what came before a drop as an answer is one turn further for the script, too.

Which turns a conversation plays is decided by the first thing in it that holds a ``when``;
reminders of the client do not count. Where the turns are over the request is refused (400).
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict

from skilleval.models.messages import Request
from skilleval.models.offline.checks import refused
from skilleval.models.offline.conversation import Conversation
from skilleval.models.offline.script_file import Scripted, Step, read_script
from skilleval.models.offline.tokens import canonical, pieces_of
from skilleval.models.offline.turns import Turn

__all__ = ["Script", "open_script"]

_MAX_COUNTERS = 4_096


class Script:
    """Plays scripted conversations; counts the failures that it has played for each."""

    def __init__(self, name: str, conversations: tuple[Scripted, ...]) -> None:
        self.name = name
        self._conversations = conversations
        self._played: OrderedDict[bytes, int] = OrderedDict()

    def answer(self, request: Request) -> Turn:
        """The turn that the script has for a conversation."""
        seen = Conversation(request)
        chosen = self._choose(seen)
        if chosen is None:
            whens = ", ".join(repr(each.when) for each in self._conversations)
            return _over(f"no conversation of {self.name} is for this one (when: {whens})")
        failures, step = _find(chosen.steps, seen.answers)
        if failures:
            played = self._count(request)
            for failure in failures:
                if failure.repeat is None or played < failure.repeat:
                    return failure.turn
                played -= failure.repeat
        if step is None:
            return _over(f"{self.name} has no turn for this conversation any more")
        return step.turn

    def _choose(self, seen: Conversation) -> Scripted | None:
        for text in seen.heard():
            for conversation in self._conversations:
                if conversation.when and conversation.when in text:
                    return conversation
        return next((each for each in self._conversations if not each.when), None)

    def _count(self, request: Request) -> int:
        """How often this very request came before."""
        key = hashlib.sha256(canonical([request.get("model"), request.get("metadata")]))
        for piece in pieces_of(request):
            key.update(len(piece.data).to_bytes(8, "big") + piece.data)
        before = self._played.pop(key.digest(), 0)
        self._played[key.digest()] = before + 1
        if len(self._played) > _MAX_COUNTERS:
            self._played.popitem(last=False)
        return before


def _find(steps: tuple[Step, ...], answers: int) -> tuple[list[Step], Step | None]:
    """The turn behind a number of answers, and the failures that come before its first time."""
    failures: list[Step] = []
    for step in steps:
        if step.fails:
            failures.append(step)
        elif step.repeat is None or answers < step.repeat:
            return ([] if answers else failures), step
        else:
            answers -= step.repeat
            failures = []
    return ([] if answers else failures), None


def _over(message: str) -> Turn:
    return Turn(error=refused(message))


def open_script(path: str) -> Script:
    """The policy that plays a file.

    Raises:
        InputError: it can't be read, or something in it makes no sense.
    """
    return Script(f"offline/script:{path}", read_script(path))
