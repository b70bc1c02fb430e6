"""The hosts that a call talks to, as far as they are named."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from skilleval.harness.permissions.units import Unit
from skilleval.harness.permissions.words import Word

__all__ = ["host_of", "hosts"]

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s'\"<>]+")
_TALKERS = frozenset(
    "curl wget http https xh aria2c lynx w3m links ssh scp sftp rsync nc ncat netcat telnet ftp "
    "socat ping dig nslookup host whois".split()
)
_BARE = re.compile(r"(?:[\w.-]+@)?([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+|localhost)(?::\S*|/\S*)?")
_DEVICE = re.compile(r"/dev/(?:tcp|udp)/([^/]+)/")


def host_of(url: str) -> str | None:
    """The host of an address; None where readers of addresses do not agree on it."""
    if re.search(r"[\\\s\x00-\x1f\x7f]", url):
        return None
    try:
        host = urlsplit(url if "://" in url else f"//{url}").hostname
    except ValueError:
        return None
    return host.rstrip(".").lower() if host else None


def hosts(unit: Unit) -> Iterator[str | None]:
    """The hosts that a command names; None for one that is not known."""
    for redirect in unit.redirects:
        match = _DEVICE.match(redirect.word.literal or "")
        if match:
            yield match[1].lower()
    talks = bool(unit.names & _TALKERS)
    for word in unit.words[1:]:
        yield from _named(word, talks)


def _named(word: Word, talks: bool) -> Iterator[str | None]:
    text = word.literal
    if text is None:
        first = word.pieces[0] or "" if word.pieces else ""
        known = _URL.match(f"{first}x") if "://" in first else None
        if known and first.count("/") > 2:
            yield host_of(known[0])
        elif talks:
            yield None
        return
    urls = _URL.findall(text) if "://" in text else []
    for url in urls:
        yield host_of(url)
    if talks and not urls and not text.startswith("-") and (match := _BARE.fullmatch(text)):
        yield match[1].lower()
