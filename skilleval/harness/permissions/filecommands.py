"""Which of its arguments a command reads and writes, for the commands that everybody knows.

Of other commands every argument that could be a path counts as one that *may* be read or
written: enough to deny, and never enough to allow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from skilleval.harness.permissions.edits import is_recursive
from skilleval.harness.permissions.units import Unit
from skilleval.harness.permissions.words import Word, known

__all__ = ["LOOKING", "READERS", "Use", "uses"]

How = Literal["read", "write", "both", "maybe"]

READERS = frozenset(
    "cat tac nl head tail less more most bat wc sort uniq cut paste join comm od xxd hexdump hd "
    "strings base64 base32 md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum "
    "diff diff3 sdiff cmp file column fold fmt expand unexpand rev zcat bzcat xzcat zstdcat zgrep "
    "grep egrep fgrep rg ag ack awk gawk mawk nawk jq yq ls dir vdir tree du find".split()
)
"""Commands that read the files they name, and as a rule write none."""
_WRITERS = frozenset(
    "rm rmdir touch mkdir unlink shred truncate chmod chown chgrp tee mkfifo mknod setfacl".split()
)
_BOTH = frozenset("mv ln install rsync scp dd patch sponge".split())
_FIRST_IS_NO_FILE = frozenset(
    "grep egrep fgrep zgrep rg ag ack sed awk gawk mawk nawk jq yq chmod chown chgrp".split()
)
_RECURSIVE = frozenset("rg ag ack tree du find rsync tar zip".split())
_NO_FILES = frozenset(
    "echo printf true false : pwd export declare local readonly typeset unset set shopt exit "
    "return read wait jobs kill sleep seq date which type command hash umask ulimit alias "
    "unalias shift break continue trap eval let whoami id uname hostname yes tr expr bc "
    "basename dirname".split()
)
LOOKING = _NO_FILES | frozenset(
    "ls dir vdir stat file whereis readlink realpath test [ du md5sum sha1sum sha256sum sha512sum "
    "cksum b2sum dpkg rpm man info tree diff cmp wc chmod chown rm".split()
)
"""Commands that can be given the file of a denied program: they neither run nor copy it."""


class Use(NamedTuple):
    """A path that a command uses; ``beneath`` if all that lies in it is meant."""

    how: How
    word: Word
    beneath: bool = False


def uses(unit: Unit) -> Iterator[Use]:
    """What a command reads and writes."""
    for redirect in unit.redirects:
        yield Use(redirect.kind, redirect.word)
    if not unit.words or unit.local or unit.clear or unit.names & _NO_FILES:
        return
    name = next((n for n in sorted(unit.names) if n in _KNOWN), "")
    if not name:
        for word in unit.words[1:]:
            yield from _maybe(word)
        return
    operands = list(_operands(unit.words[1:], name))
    beneath = name in _RECURSIVE or is_recursive(name, unit.words)
    if name in ("cp", "ln") and len(operands) > 1 and not _has_target(unit.words):
        for word in operands[:-1]:
            yield Use("read" if name == "cp" else "both", word, beneath)
        yield Use("write", operands[-1])
        return
    how = _how(name, unit)
    for word in operands:
        yield Use(how, word, beneath)
    if not operands and name in ("rg", "ag", "ack", "tree", "du", "ls", "find", "grep"):
        if name != "grep" or beneath:
            yield Use("read", known("."), beneath)
    for word in unit.words[1:]:
        if (word.literal or "").startswith("-") or word.literal is None:
            yield from _maybe(word)


_KNOWN = READERS | _WRITERS | _BOTH | {"cp", "sed", "tar", "zip"}


def _how(name: str, unit: Unit) -> How:
    if name in _WRITERS:
        return "write"
    if name == "sed":
        changes = any(re.match(r"-[nErsuz]*i|--in-place", w.literal or "") for w in unit.words)
        return "both" if changes else "read"
    if name in READERS:
        deletes = any(word.literal == "-delete" for word in unit.words)
        return "both" if name == "find" and deletes else "read"
    return "both"


def _has_target(words: tuple[Word, ...]) -> bool:
    return any(re.match(r"-[A-Za-z]*t|--target-directory", w.literal or "") for w in words[1:])


def _operands(words: tuple[Word, ...], name: str) -> Iterator[Word]:
    """The arguments that are no options."""
    ended = False
    skip = name in _FIRST_IS_NO_FILE
    texts = [word.literal or "" for word in words]
    if name != "chmod" and any(re.match(r"-[a-zA-Z]*[ef]$|--(regexp|file|expr)", t) for t in texts):
        skip = False
    for word, text in zip(words, texts, strict=True):
        if not ended and text == "--":
            ended = True
        elif not ended and len(text) > 1 and text.startswith("-"):
            if name == "find":
                return  # what follows are tests and actions
        elif skip:
            skip = False
        elif name == "dd":
            yield known(text.partition("=")[2]) if text.startswith(("if=", "of=")) else word
        else:
            yield word


def _maybe(word: Word) -> Iterator[Use]:
    """The paths that an argument may hold."""
    text = word.literal
    if text is None:
        if word.pattern or word.options:
            yield Use("maybe", word)
        return
    parts = {text} if not text.startswith("-") else set()
    if text.startswith("-") and not text.startswith("--") and len(text) > 2:
        parts.add(text[2:])
    if "=" in text:
        parts.add(text.partition("=")[2])
    if ":" in text and len(text) < 4096:
        parts.update(text.split(":"))
    for part in sorted(parts):
        for each in {part, part.removeprefix("@")}:
            if each and "\n" not in each and len(each) < 4096:
                yield Use("maybe", known(each))
