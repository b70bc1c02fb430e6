"""Regular expressions from evaluation files, which are hostile until shown otherwise.

A pattern can take time that grows exponentially with the text, and even an engine that is
linear in the text can be kept busy for minutes by a pattern that counts to thousands. So a
pattern with repetitions or alternatives runs in a process of its own, with limits on time and
memory that the kernel keeps; a short one without runs here, since it can't take long.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache

__all__ = ["MAX_PATTERN", "MAX_TEXT", "Unsearchable", "problem", "search"]

MAX_PATTERN = 4_000
"""Characters of a pattern."""
MAX_TEXT = 1_000_000
"""Characters of all texts that are searched at once."""
SECONDS = 3.0
_MEMORY = 512 * 1024 * 1024
_MAX_PLAIN = 200
_COSTLY = re.compile(r"[*+?{|]|\\[1-9]")

_CHILD = """
import json, re, sys
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (%d, %d))
    resource.setrlimit(resource.RLIMIT_CPU, (%d, %d))
except (ImportError, ValueError, OSError):
    pass
asked = json.loads(sys.stdin.buffer.read())
pattern = re.compile(asked["pattern"], asked["flags"])
print(json.dumps([pattern.search(text) is not None for text in asked["texts"]]))
"""


class Unsearchable(Exception):
    """A search that came to no result; the text says why."""


@lru_cache(maxsize=512)
def problem(pattern: str) -> str | None:
    """What is wrong with a pattern, or None."""
    if len(pattern) > MAX_PATTERN:
        return f"it is longer than {MAX_PATTERN:,} characters"
    try:
        _compiled(pattern, 0)
    except (re.error, OverflowError, ValueError) as error:
        return str(error)
    except (RecursionError, MemoryError):
        return "it is nested too deep"
    return None


def _compiled(pattern: str, flags: int) -> re.Pattern[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Python means to change is no news to an author
        return re.compile(pattern, flags)


async def search(pattern: str, texts: Sequence[str], *, ignore_case: bool = False) -> list[bool]:
    """Whether a pattern matches somewhere in each of some texts; ``^`` and ``$`` know lines.

    Raises:
        Unsearchable: the pattern is broken or took too long, or the texts are too large.
    """
    wrong = problem(pattern)
    if wrong:
        raise Unsearchable(f"the pattern can't be used: {wrong}")
    if sum(map(len, texts)) > MAX_TEXT:
        raise Unsearchable(f"more than {MAX_TEXT:,} characters to search")
    flags = int(re.MULTILINE | (re.IGNORECASE if ignore_case else 0))
    if len(pattern) <= _MAX_PLAIN and not _COSTLY.search(pattern):
        compiled = _compiled(pattern, flags)
        return [compiled.search(text) is not None for text in texts]
    return await _search_apart(pattern, texts, flags)


async def _search_apart(pattern: str, texts: Sequence[str], flags: int) -> list[bool]:
    import asyncio  # late: most of those who read patterns never search

    seconds = int(SECONDS) + 1
    child = _CHILD % (_MEMORY, _MEMORY, seconds, seconds)
    asked = json.dumps({"pattern": pattern, "flags": flags, "texts": list(texts)})
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", "-W", "ignore", "-c", child,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        out, _ = await asyncio.wait_for(process.communicate(asked.encode()), SECONDS)
    except TimeoutError:
        raise Unsearchable(f"the pattern took over {SECONDS:g} seconds") from None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if process.returncode != 0:
        raise Unsearchable("the pattern took too much memory or time")
    found: list[bool] = json.loads(out)
    return found
