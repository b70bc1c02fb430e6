"""What a shell command comes to: the single commands that it starts, however they are nested."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from skilleval.harness.permissions.words import Word

__all__ = ["Redirect", "Script", "Unit"]


class Redirect(NamedTuple):
    """A file that the shell opens for a command."""

    kind: Literal["read", "write"]
    word: Word


@dataclass(slots=True)
class Unit:
    """One command with its arguments, assignments and redirections.

    Attributes:
        words: empty where there are only assignments or redirections.
        posix: the shell that runs it need not be bash.
        outer: the unit that starts this one, by its place in the script; ``at`` is the word of
            it with which this one begins.
        stdin: the text that it is fed, where that is known.
        fed: something else than the input of the shell is its input.
        repeated: it may run more than once.
        doubt: why it can't be told what it does; such a unit is covered by no allow rule.
        anything: it may run whatever there is.
        code: texts that it runs and that nobody has looked into.
        local: it calls a function that the script itself defines.
        clear: it does nothing but start others, and these count.
        maybe: it is not certain that this is a command; such a unit can only be denied.
        neutral: it only changes the shell that runs the script.
        names: all names of its program; ``file`` is the program's file, with links followed.
    """

    words: tuple[Word, ...] = ()
    assigned: list[tuple[str, Word]] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    posix: bool = False
    outer: int | None = None
    at: int = 0
    depth: int = 0
    stdin: Word | None = None
    fed: bool = False
    repeated: bool = False
    doubt: str = ""
    anything: bool = False
    code: tuple[str, ...] = ()
    local: bool = False
    clear: bool = False
    maybe: bool = False
    neutral: bool = False
    names: frozenset[str] = frozenset()
    file: str = ""

    @property
    def program(self) -> str | None:
        """The word that says what is run, where it is known."""
        return self.words[0].literal if self.words else None

    @property
    def shown(self) -> str:
        """For people, and not too long."""
        text = " ".join(word.shown or "''" for word in self.words)
        text = text or " ".join(f"{name}={word.shown}" for name, word in self.assigned)
        text = text or " ".join(f"{each.kind} {each.word.shown}" for each in self.redirects)
        return text if len(text) <= 80 else text[:79] + "…"

    def question(self, why: str, *, anything: bool = False) -> None:
        """Note that it can't be told what this does; the first reason is the one that is kept."""
        self.doubt = self.doubt or why
        self.anything = self.anything or anything


@dataclass(slots=True)
class Script:
    """All commands of a call, in order.

    Attributes:
        doubt: why the whole could not be parsed.
        functions: names that the script gives to commands of its own.
    """

    units: list[Unit] = field(default_factory=list)
    doubt: str = ""
    functions: set[str] = field(default_factory=set)
