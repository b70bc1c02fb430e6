"""What was asked for and what was done so far, for whoever has to judge the next call.

Results of tools are left out, and so are the texts of skills, and what a model says beside its
calls: they may hold what somebody else wrote, and a judge that reads them can be talked round.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal

__all__ = ["Account"]

_Kind = Literal["user", "call"]
_MOST: dict[_Kind, int] = {"user": 5, "call": 24}
"""Entries of each kind that are kept: the latest."""
_LONGEST: dict[_Kind, int] = {"user": 1_500, "call": 320}
"""Characters of each. Together they stay below the 20,000 that the classifier reads."""


class Account:
    """The prompts of the user and the calls of tools, in their order, a line each.

    What they say stands there as JSON, so that no text can look like another entry.

    Args:
        before: what an agent's parent has on its account when it starts it.
    """

    def __init__(self, before: Account | None = None) -> None:
        self._entries: list[tuple[_Kind, str]] = list(before._entries) if before else []
        self._dropped: Counter[_Kind] = Counter(before._dropped if before else ())

    def said(self, prompt: str) -> None:
        """The user has said something."""
        self._add("user", _shown(prompt, _LONGEST["user"]))

    def called(self, tool: str, input: Mapping[str, Any], allowed: bool) -> None:
        """A call was decided on."""
        said = "allowed" if allowed else "refused"
        self._add("call", f"{tool[:100]} ({said}) {_shown(dict(input), _LONGEST['call'])}")

    def text(self) -> str:
        """The whole account."""
        left_out = [f"[{count:,} older: {kind}]" for kind, count in self._dropped.items()]
        return "\n".join([*left_out, *(f"{kind}: {text}" for kind, text in self._entries)])

    def _add(self, kind: _Kind, text: str) -> None:
        self._entries.append((kind, text))
        same = [place for place, entry in enumerate(self._entries) if entry[0] == kind]
        if len(same) > _MOST[kind]:
            del self._entries[same[0]]
            self._dropped[kind] += 1


def _shown(said: object, longest: int) -> str:
    """Something as JSON on one line, cut where it is long."""
    text = " ".join(json.dumps(said, ensure_ascii=False, default=str).splitlines())
    text = text.encode("utf-8", "replace").decode("utf-8")
    more = len(text) - longest
    return text if more <= 0 else f"{text[:longest]}… [{more:,} characters more]"
