"""Keeping keys out of everything that is shown or kept."""

from __future__ import annotations

import json
import logging
import re
from typing import Any

__all__ = ["hide", "redact", "redact_data", "redact_json", "redact_logs"]

_MARK = "[redacted]"
_LEAST = 6
"""Shorter values are words, not secrets: hiding them would only garble texts."""
_LOOKS_SECRET = re.compile(
    r"sk-ant-[\w-]{8,}|(?<=Bearer )[\w.~+/-]{8,}=*|(?<=://)[^/\s:@\"]{1,200}:[^/\s@\"]{1,200}(?=@)"
)
_MARKS = ("sk-ant-", "Bearer ", "://")
"""One of these stands in whatever the pattern finds."""
_hidden: set[str] = set()


def hide(value: str | None) -> None:
    """Never show a value again in this process."""
    if value and len(value) >= _LEAST:
        _hidden.add(value)


def redact(text: str) -> str:
    """A text without the values that are hidden, and without what looks like a key."""
    for value in sorted(_hidden, key=len, reverse=True):  # one may be part of another
        if value in text:
            text = text.replace(value, _MARK)
    if any(mark in text for mark in _MARKS):  # most texts have none: the pattern is not cheap
        return _LOOKS_SECRET.sub(_MARK, text)
    return text


def redact_data(data: Any) -> Any:
    """The same for JSON data, in its keys, too."""
    if isinstance(data, str):
        return redact(data)
    if isinstance(data, list | tuple):
        return [redact_data(item) for item in data]
    if isinstance(data, dict):
        return {redact(key): redact_data(value) for key, value in data.items()}
    return data


def redact_json(text: str) -> str:
    """The same for JSON that is written out already: one pass over all of it."""
    for value in sorted(_hidden, key=len, reverse=True):
        written = json.dumps(value, ensure_ascii=False)[1:-1]
        if written in text:
            text = text.replace(written, _MARK)
    return redact(text)


def redact_logs(*names: str) -> None:
    """The same for what loggers of others write, such as a client's at its debug level."""
    for name in names:
        logging.getLogger(name).addFilter(_redact_record)


def _redact_record(record: logging.LogRecord) -> bool:
    record.msg, record.args = redact(record.getMessage()), ()
    record.exc_info = None  # a traceback may quote what it was about
    return True
