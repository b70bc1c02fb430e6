"""One hook: what it is called for, and what is run."""

from __future__ import annotations

import functools
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from skilleval.errors import InputError
from skilleval.harness.hooks.contract import EVENTS, PROMPT_SECONDS
from skilleval.harness.hooks.events import HookEvent

__all__ = ["Function", "Hook", "Kind"]

Kind = Literal["command", "http", "callable", "prompt"]

Said = Mapping[str, Any] | str | None
"""What a callable answers: the object that a command would print, plain text, or nothing."""

Function = Callable[[dict[str, Any]], Said | Awaitable[Said]]

_WEEK = 7 * 24 * 3600
_NAMES = re.compile(r"[A-Za-z0-9_\-, |]+")


@dataclass(frozen=True)
class Hook:
    """Something that is called when an event happens and its matcher fits.

    Attributes:
        matcher: empty or ``*`` fits everything; a list of names divided by ``|`` or ``,`` fits
            each of these; anything else is a regular expression that is looked for.
        command: a line for the shell or, with ``args``, a program that gets them as they are.
        shell: ``sh`` or ``bash``.
        headers: of an HTTP request. ``$NAME`` stands for a variable if ``variables`` has it.
        function: gets the payload, may be async, answers what a command would print.
        prompt: what a model is asked; the payload takes the place of ``$ARGUMENTS``.
        timeout: in seconds; by default that of the event.
        on_failure: ``block`` denies where the hook crashes, hangs or answers rubbish.
        condition: a permission rule, such as ``Bash(git *)``, that a tool call has to meet.
        name: as the trace shows it.
        source: the file that it was read from.

    Raises:
        InputError: it makes no sense.
    """

    event: HookEvent
    kind: Kind = "command"
    matcher: str = ""
    command: str = ""
    args: tuple[str, ...] | None = None
    shell: str = "sh"
    url: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    variables: tuple[str, ...] = ()
    function: Function | None = None
    prompt: str = ""
    timeout: float | None = None
    on_failure: Literal["continue", "block"] = "continue"
    condition: str = ""
    name: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        what = {
            "command": self.command,
            "http": self.url,
            "callable": self.function,
            "prompt": self.prompt,
        }.get(self.kind)
        if not what:
            raise InputError(f"a hook of kind {self.kind!r} has nothing to run")
        if self.kind == "prompt" and not EVENTS[self.event].can_block:
            raise InputError(
                f"{self.event} blocks nothing, so there a prompt has nothing to decide"
            )
        if self.kind == "http":
            _check_url(self.url)
        if self.timeout is not None and not 0 < self.timeout <= _WEEK:
            raise InputError(f"{self.timeout} is no time-out: seconds, above 0, at most a week")
        if self.shell not in ("sh", "bash"):
            raise InputError(f"{self.shell!r} is no shell that hooks run in", remedy="sh or bash")
        if EVENTS[self.event].subject and self.event is not HookEvent.FILE_CHANGED:
            _pattern(self.matcher)
        if not self.name:
            label = what if isinstance(what, str) else getattr(what, "__qualname__", repr(what))
            object.__setattr__(self, "name", label if len(label) <= 60 else label[:59] + "…")

    def matches(self, subject: str) -> bool:
        """Whether the hook is called for this value of its event's subject."""
        if not EVENTS[self.event].subject or self.matcher in ("", "*"):
            return True
        if self.event is HookEvent.FILE_CHANGED:
            return subject in self.matcher.split("|")
        pattern = _pattern(self.matcher)
        if pattern is None:
            return subject in (name.strip() for name in re.split(r"[|,]", self.matcher))
        return pattern.search(subject) is not None

    @property
    def watches(self) -> tuple[str, ...]:
        """The names of files that have to be watched for it, those of FileChanged."""
        if self.event is not HookEvent.FILE_CHANGED:
            return ()
        names = self.matcher.split("|")
        return tuple(n for n in names if n not in ("", "*", ".", "..") and not {"/", "\0"} & {*n})

    @property
    def seconds(self) -> float:
        """How long it may take."""
        if self.timeout is not None:
            return self.timeout
        most = EVENTS[self.event].timeout
        return min(most, PROMPT_SECONDS) if self.kind == "prompt" else most

    @property
    def work(self) -> tuple[object, ...]:
        """The same for two hooks that would do the same."""
        where = (self.url, self.headers, self.variables)
        return (self.kind, self.command, self.args, self.shell, where, self.function, self.prompt)


@functools.cache
def _pattern(matcher: str) -> re.Pattern[str] | None:
    """The expression that a matcher is, or nothing where it is a list of names."""
    if matcher in ("", "*") or _NAMES.fullmatch(matcher):
        return None
    try:
        return re.compile(matcher, re.ASCII)
    except (re.error, RecursionError, OverflowError) as error:
        raise InputError(
            f"the matcher {matcher!r} is no regular expression: {error}",
            remedy="Names are divided by |, as in `Edit|Write`; `*` fits everything.",
        ) from None


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise InputError(f"{url!r} is no http or https address")
