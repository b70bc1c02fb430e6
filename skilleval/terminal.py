"""Text from files, made harmless for a terminal."""

from __future__ import annotations

import re

__all__ = ["escape"]

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
