"""Landlock rulesets: which files can be reached, written as the kernel wants to have it."""

from __future__ import annotations

import ctypes
import functools
import os
import stat
import struct
from collections.abc import Iterable

from skilleval.errors import InputError

__all__ = ["MINIMUM", "SIGNALS", "build", "version"]

MINIMUM = 3
"""The first version (Linux 6.2) that can keep a file from being cut to nothing."""
SIGNALS = 6
"""The first version (Linux 6.12) that keeps signals within the sandbox."""

_CREATE, _ADD_RULE = 444, 445
_EXECUTE, _WRITE, _READ, _LIST = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_DEVICES = 1 << 6 | 1 << 11
_REFER, _TRUNCATE, _IOCTL = 1 << 13, 1 << 14, 1 << 15
_ALL = (1 << 16) - 1
_OF_A_FILE = _EXECUTE | _WRITE | _READ | _TRUNCATE | _IOCTL
_LOOK = _EXECUTE | _READ | _LIST
_CHANGE = _ALL & ~_DEVICES & ~_IOCTL


@functools.cache
def version() -> int:
    """The version of Landlock's interface that this kernel has; 0 for none."""
    return max(_call(_CREATE, None, 0, 1), 0)


def build(look: Iterable[str], change: Iterable[str], *, network: bool) -> int:
    """A descriptor of a ruleset that allows nothing but what is named.

    Args:
        look: files and folders to read and execute.
        change: files and folders to write as well.
        network: leave TCP alone.

    Raises:
        OSError: the kernel refused it, or a path is not there.
        InputError: the kernel has no Landlock.
    """
    abi = version()
    if abi < MINIMUM:
        raise InputError("Landlock is missing or too old here")
    files = _ALL if abi >= 5 else _ALL & ~_IOCTL
    ports = 0 if network or abi < 4 else 0b11
    scope = 0b11 if abi >= SIGNALS else 0
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    attributes = struct.pack("<QQQ", files, ports, scope)[:size]
    ruleset = _call(_CREATE, attributes, len(attributes), 0)
    if ruleset < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), "Landlock")
    try:
        for path in look:
            _allow(ruleset, path, _LOOK & files)
        for path in change:
            _allow(ruleset, path, _CHANGE & files)
    except BaseException:
        os.close(ruleset)
        raise
    return ruleset


def _allow(ruleset: int, path: str, rights: int) -> None:
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= _OF_A_FILE
        if _call(_ADD_RULE, ruleset, 1, struct.pack("<Qi", rights, place), 0) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)
    finally:
        os.close(place)


def _call(number: int, *arguments: int | bytes | None) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    words = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    return int(libc.syscall(ctypes.c_long(number), *words))
