"""Every error that a user can see, with the exit code that it ends the command with.

::

    SkillevalError                 2
    ├── InputError                 2   what was asked for can't be read or makes no sense
    │   ├── NothingFound           2   no skill, no record, no run where one was expected
    │   ├── SettingsError          2   pyproject.toml or skilleval.toml
    │   └── BaselineError          2   a baseline file that is broken or of another kind
    ├── Unmeasured                 3   it ran, but the answer could not be had
    └── Interrupted              130   Ctrl-C

Exit code 0 means done and good; 1 means that a threshold or a rule failed, which is a
result and no error. Code never calls ``sys.exit``: it raises one of these, and the command
line shows the message and ends with its code.
"""

from __future__ import annotations

from enum import IntEnum

__all__ = [
    "BaselineError",
    "ExitCode",
    "InputError",
    "Interrupted",
    "NothingFound",
    "SettingsError",
    "SkillevalError",
    "Unmeasured",
]


class ExitCode(IntEnum):
    """What the process says with its exit code."""

    OK = 0
    FAILED = 1
    USAGE = 2
    UNMEASURED = 3
    INTERRUPTED = 130


class SkillevalError(Exception):
    """Base of all errors shown to a user: what happened, where, and what to do.

    ``remedy`` is shown on a line of its own.
    """

    exit_code: ExitCode = ExitCode.USAGE

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


class InputError(SkillevalError):
    """What was asked for can't be read, or makes no sense."""


class NothingFound(InputError):
    """Nothing to work on where something was expected: never a silent success."""


class SettingsError(InputError):
    """A settings file is broken, or holds a setting that does not exist."""


class BaselineError(InputError):
    """A baseline file is missing, broken, or of a version that this one can't read."""


class Unmeasured(SkillevalError):
    """It ran, but what was asked could not be measured."""

    exit_code = ExitCode.UNMEASURED


class Interrupted(SkillevalError):
    """The user stopped it."""

    exit_code = ExitCode.INTERRUPTED
