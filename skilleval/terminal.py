"""Writing to the terminal: text from files made harmless, and all of it, in UTF-8."""

from __future__ import annotations

import errno
import os
import re
import sys

__all__ = ["escape", "write_out"]

_HARMFUL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e01ef]"
)


def escape(text: str) -> str:
    """Show control, direction and invisible characters by their code, as ``\\u{202e}``.

    A file must not be able to move the cursor, colour the output, reorder a line, or start
    one of its own: line breaks and tabs are shown by their code, too.
    """
    return _HARMFUL.sub(lambda match: f"\\u{{{ord(match[0]):x}}}", text)


def write_out(text: str) -> None:
    """Write all of a text to standard output, as UTF-8 whatever the locale.

    Raises:
        OSError: standard output is closed or full.
    """
    if sys.stdout is None:  # closed by whoever started us
        raise OSError(errno.EBADF, os.strerror(errno.EBADF), "standard output")
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()
