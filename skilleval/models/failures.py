"""What an endpoint's error means: which failure it is, and what to do.

Status codes and error types as the Messages API documents them; Claude, gateways, Ollama,
vLLM and llama.cpp differ in the words, so the status counts first.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from skilleval.errors import Failure, ModelError
from skilleval.redaction import redact

__all__ = ["failure_of_status", "pause_of", "shown", "words_of"]

_LONGEST = 1_000
"""Characters of what an endpoint says that are shown."""

_BY_STATUS = {
    400: Failure.INVALID_REQUEST,
    401: Failure.AUTHENTICATION,
    402: Failure.BILLING,
    403: Failure.PERMISSION,
    404: Failure.NOT_FOUND,
    408: Failure.TIMEOUT,
    413: Failure.TOO_LONG,
    429: Failure.RATE_LIMIT,
    504: Failure.TIMEOUT,
    529: Failure.OVERLOADED,
}
_BY_TYPE = {
    "invalid_request_error": Failure.INVALID_REQUEST,
    "authentication_error": Failure.AUTHENTICATION,
    "billing_error": Failure.BILLING,
    "permission_error": Failure.PERMISSION,
    "not_found_error": Failure.NOT_FOUND,
    "request_too_large": Failure.TOO_LONG,
    "rate_limit_error": Failure.RATE_LIMIT,
    "timeout_error": Failure.TIMEOUT,
    "overloaded_error": Failure.OVERLOADED,
    "api_error": Failure.SERVER,
}
_TOO_LONG = re.compile(
    r"prompt is too long|context (?:size|length|window)|too many tokens|maximum context", re.I
)
_CREDIT = re.compile(r"credit balance|billing|quota exceeded", re.I)
_REMEDIES = {
    Failure.AUTHENTICATION: "Set the key in {key}, or use an offline model (skilleval models).",
    Failure.PERMISSION: "The key in {key} may not use this model or feature.",
    Failure.BILLING: "Check the balance of the account that the key in {key} belongs to.",
    Failure.NOT_FOUND: "Check the model's name (skilleval models) and the base URL.",
    Failure.TOO_LONG: "Send less: fewer skills, smaller files, or a model with a larger window.",
    Failure.RATE_LIMIT: "Lower the limits for this model in the settings, or wait.",
}


_NO_KEY = "It wants a key: name its variable in the settings of this model (key-env)."


def failure_of_status(
    status: int | None,
    error_type: str,
    message: str,
    *,
    model: str,
    key: str = "ANTHROPIC_API_KEY",
    request_id: str = "",
    retry_after: float | None = None,
    passing: bool | None = None,
) -> ModelError:
    """The error for an answer that is none.

    Args:
        status: of the HTTP response; None for an error inside a stream.
        error_type: the API's word, such as ``rate_limit_error``.
        message: the API's sentence.
        model: which model was asked.
        key: the variable that holds the key; empty where there is none.
        request_id: what the endpoint calls the request.
        retry_after: seconds that it asks to wait.
        passing: whether it says that another try makes sense; None where it says nothing.
    """
    by_type = _BY_TYPE.get(error_type)
    failure = _BY_STATUS.get(status or 0) or by_type
    if failure is None:
        failure = Failure.SERVER if not status or status >= 500 else Failure.INVALID_REQUEST
    if failure is Failure.INVALID_REQUEST:
        if _TOO_LONG.search(message):
            failure = Failure.TOO_LONG
        elif _CREDIT.search(message):
            failure = Failure.BILLING
    said = f"{model}: {failure}"
    if status:
        said += f" ({status})"
    remedy = _REMEDIES.get(failure, "")
    if "{key}" in remedy:
        remedy = remedy.format(key=key) if key else _NO_KEY
    return ModelError(
        failure,
        f"{said}: {shown(message)}" if message else said,
        remedy=remedy,
        status=status,
        request_id=request_id,
        retry_after=retry_after,
        passing=passing,
    )


def shown(text: str, longest: int = _LONGEST) -> str:
    """What an endpoint says, fit to be shown: without keys, and not endless."""
    text = redact(text)
    return text if len(text) <= longest else text[:longest] + "…"


def words_of(body: object) -> tuple[str, str]:
    """The type and the sentence of an error, from its body; empty where it has none.

    Besides the API's own form this knows ``{"error": "…"}`` (Ollama), ``{"message": "…"}`` and
    ``{"detail": "…"}`` (gateways).
    """
    if not isinstance(body, dict):
        return "", ""
    error = body.get("error")
    if isinstance(error, dict):
        kind, said = error.get("type"), error.get("message")
    else:
        kind, said = None, error or body.get("message") or body.get("detail")
    return kind if isinstance(kind, str) else "", said if isinstance(said, str) else ""


def pause_of(headers: Mapping[str, str]) -> float | None:
    """Seconds that an endpoint asks to wait; None where it asks for none, or for nonsense."""
    asked = headers.get("retry-after", "")
    for text, unit in ((headers.get("retry-after-ms", ""), 1000), (asked, 1)):
        try:
            seconds = float(text) / unit
        except ValueError:
            continue
        if 0 < seconds < float("inf"):
            return seconds
    try:
        seconds = parsedate_to_datetime(asked).timestamp() - time.time()
    except (ValueError, TypeError, OverflowError):
        return None
    return seconds if seconds > 0 else None
