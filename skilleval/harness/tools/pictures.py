"""What a file's first bytes say it is, and how large a picture is."""

from __future__ import annotations

import struct

__all__ = ["image_size", "media_type"]


def media_type(data: bytes) -> str:
    """The kind of an image or PDF by its content; empty for anything else."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return "application/pdf" if data.startswith(b"%PDF-") else ""


def image_size(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels; None where the image does not say, since it is broken."""
    try:
        match media_type(data):
            case "image/png":
                size = struct.unpack_from(">II", data, 16)
            case "image/gif":
                size = struct.unpack_from("<HH", data, 6)
            case "image/webp":
                size = _webp(data)
            case "image/jpeg":
                size = _jpeg(data)
            case _:
                return None
    except (struct.error, IndexError):
        return None
    width, height = int(size[0]), int(size[1])
    return (width, height) if width and height else None


def _webp(data: bytes) -> tuple[int, int]:
    kind = data[12:16]
    if kind == b"VP8X":
        low, high = data[24:27], data[27:30]
        if len(high) < 3:
            raise IndexError
        return int.from_bytes(low, "little") + 1, int.from_bytes(high, "little") + 1
    if kind == b"VP8L":
        (bits,) = struct.unpack_from("<I", data, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    width, height = struct.unpack_from("<HH", data, 26)
    return width & 0x3FFF, height & 0x3FFF


def _jpeg(data: bytes) -> tuple[int, int]:
    """The size that the frame header states; the segments before it are passed over."""
    at = 2
    while True:
        if data[at] != 0xFF:
            raise IndexError
        kind = data[at + 1]
        if kind == 0xFF:  # filling
            at += 1
        elif 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        else:
            (length,) = struct.unpack_from(">H", data, at + 2)
            at += 2 + max(length, 2)
