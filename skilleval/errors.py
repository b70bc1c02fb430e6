"""Every error that a user can see, with the exit code that it ends the command with.

::

    SkillevalError                 2
    ├── InputError                 2   what was asked for can't be read or makes no sense
    │   ├── NothingFound           2   no skill, no record, no run where one was expected
    │   ├── SettingsError          2   pyproject.toml or skilleval.toml
    │   └── BaselineError          2   a baseline file that is broken or of another kind
    ├── Unmeasured                 3   it ran, but the answer could not be had
    │   └── ModelError             3   a model did not answer (2 where the set-up is wrong)
    └── Interrupted              130   Ctrl-C

Exit code 0 means done and good; 1 means that a threshold or a rule failed, which is a
result and no error. Code never calls ``sys.exit``: it raises one of these, and the command
line shows the message and ends with its code.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum

__all__ = [
    "BaselineError",
    "ExitCode",
    "Failure",
    "InputError",
    "Interrupted",
    "ModelError",
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


class Failure(StrEnum):
    """How a request to a model failed; the first group is what the user set up wrong."""

    AUTHENTICATION = "authentication"
    PERMISSION = "permission"
    BILLING = "billing"
    NOT_FOUND = "not found"
    UNREACHABLE = "unreachable"
    NOT_RECORDED = "not recorded"

    INVALID_REQUEST = "invalid request"
    TOO_LONG = "prompt too long"
    RATE_LIMIT = "rate limit"
    OVERLOADED = "overloaded"
    SERVER = "server error"
    TIMEOUT = "timeout"
    DEADLINE = "deadline"
    CUT = "cut off"
    MALFORMED = "malformed reply"


_SET_UP_WRONG = frozenset(
    {
        Failure.AUTHENTICATION,
        Failure.PERMISSION,
        Failure.BILLING,
        Failure.NOT_FOUND,
        Failure.UNREACHABLE,
        Failure.NOT_RECORDED,
    }
)


_PASSING = frozenset(
    {
        Failure.RATE_LIMIT,
        Failure.OVERLOADED,
        Failure.SERVER,
        Failure.TIMEOUT,
        Failure.UNREACHABLE,
        Failure.CUT,
    }
)


class ModelError(Unmeasured):
    """A model did not answer a request.

    Attributes:
        failure: how.
        status: the HTTP status, where there was one.
        request_id: what the endpoint calls the request, for its support.
        retry_after: seconds that the endpoint asked to wait.
        passing: whether the same request may well be answered a little later.
    """

    def __init__(
        self,
        failure: Failure,
        message: str,
        *,
        remedy: str = "",
        status: int | None = None,
        request_id: str = "",
        retry_after: float | None = None,
        passing: bool | None = None,
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.failure = failure
        self.passing = failure in _PASSING if passing is None else passing
        self.status = status
        self.request_id = request_id
        self.retry_after = retry_after
        if failure in _SET_UP_WRONG:
            self.exit_code = ExitCode.USAGE


class Interrupted(SkillevalError):
    """The user stopped it."""

    exit_code = ExitCode.INTERRUPTED
