"""What the head of a GGUF file says of the model in it, read without loading the model."""

from __future__ import annotations

import contextlib
import os
import struct
from typing import Any, NamedTuple

from skilleval.errors import InputError
from skilleval.terminal import escape

__all__ = ["Gguf", "read_gguf"]

_HEADER = 32 << 20
"""Bytes of a file in which its metadata are looked for; a large vocabulary takes 16 MiB."""
_VERSIONS = (2, 3)


class Gguf(NamedTuple):
    """What a GGUF file says of its model; empty or 0 where it does not.

    ``chat_template`` is the one for tools where there are several.
    """

    name: str = ""
    architecture: str = ""
    context_window: int = 0
    chat_template: str = ""


def read_gguf(path: str) -> Gguf:
    """What a GGUF file says of its model, without loading it.

    Raises:
        InputError: it is missing, can't be read, or is no GGUF file.
    """
    shown = escape(path)
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            data = file.read(_HEADER) or b""
    except FileNotFoundError:
        raise InputError(f"{shown}: no such file", remedy="Name a GGUF file.") from None
    except IsADirectoryError:
        raise InputError(f"{shown}: is a folder", remedy="Name the GGUF file in it.") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{shown}: can't be read: {why}", remedy="Name a GGUF file.") from None
    if data[:4] != b"GGUF":
        raise InputError(
            f"{shown}: is no GGUF file",
            remedy="Name a model in llama.cpp's format; other formats have to be converted.",
        )
    version = int.from_bytes(data[4:8], "little")
    if version not in _VERSIONS or len(data) < 24:
        broken = "is cut off" if len(data) < 24 else f"is GGUF of version {version:,}"
        raise InputError(
            f"{shown}: {broken}", remedy="Get the file anew: GGUF version 2 or 3, little-endian."
        )
    return _facts(_Metadata(data).entries())


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # a pipe must not block us


def _facts(entries: dict[str, object]) -> Gguf:
    def text(key: str) -> str:
        value = entries.get(key)
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""

    architecture = text("general.architecture")
    template = "tokenizer.chat_template"
    window = entries.get(f"{architecture}.context_length")
    return Gguf(
        name=text("general.name")[:200],
        architecture=architecture[:200],
        context_window=window if isinstance(window, int) and 0 < window < 1 << 31 else 0,
        chat_template=text(f"{template}.tool_use") or text(template),
    )


class _Metadata:
    """The key-value pairs at the head of a GGUF file; arrays are passed over."""

    _FORMS = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}
    _STRING, _ARRAY = 8, 9

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 16

    def entries(self) -> dict[str, object]:
        """All that are there, up to where the data end or stop making sense."""
        found: dict[str, object] = {}
        with contextlib.suppress(struct.error, KeyError, UnicodeDecodeError):
            for _ in range(self._number("Q")):  # each takes bytes, so the data bound them
                key = self._string().decode("ascii")
                found[key] = self._value(self._number("I"))
        return found

    def _number(self, form: str) -> Any:
        (value,) = struct.unpack_from(f"<{form}", self._data, self._at)
        self._at += struct.calcsize(f"<{form}")
        return value

    def _string(self) -> bytes:
        size = self._number("Q")
        start, self._at = self._at, self._at + size
        if self._at > len(self._data):
            raise struct.error("a string that ends outside")
        return self._data[start : self._at]

    def _value(self, kind: int) -> object:
        if kind == self._STRING:
            return self._string()
        if kind != self._ARRAY:
            return self._number(self._FORMS[kind])
        kind, count = self._number("I"), self._number("Q")
        if kind == self._STRING:
            for _ in range(count):
                self._string()
        else:
            self._at += count * struct.calcsize(f"<{self._FORMS[kind]}")
        return None
