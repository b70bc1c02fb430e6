"""Recordings: what a model answered, kept in a folder, and answered again from it.

``recording.json`` says which version the folder has; each exchange is a file of its own,
``KEY-N.json``, where KEY is a hash of the request and N counts the answers to the same
request. Metadata of a request (who asks) does not count. Keys are redacted before anything is
hashed or written, so that a recording can be shared, and replayed where there is no key.
"""

from __future__ import annotations

import asyncio
import contextlib
import glob
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import count, islice, zip_longest
from typing import Any

from skilleval.errors import Failure, InputError, ModelError, SkillevalError
from skilleval.files import write_new
from skilleval.models.endpoint import Answers, cost_of
from skilleval.models.messages import OnEvent, Reply, Request, read_json, read_reply
from skilleval.models.settings import Model
from skilleval.models.streams import events_of
from skilleval.redaction import redact, redact_data
from skilleval.skill import disk

__all__ = ["Recorder", "Replay", "open_recording", "start_recording"]

_VERSION = 1
_HEAD = "recording.json"
_LARGEST = 128 * 1024 * 1024
"""Bytes of an exchange: a request and an answer."""
_DEEPEST = 200
_LOOKED_AT, _LOOKED_THROUGH = 2_000, 64 * 1024 * 1024
"""Exchanges, and bytes of them, that are searched for the one that is most like a request."""
_COMPARED = 4_000
"""Characters of two requests that are compared where they differ in as much."""
_SHOWN = 5
"""Differences that are shown."""
_NOTHING = object()
"""Stands for what one of two requests does not have."""


def start_recording(folder: str) -> str:
    """Make a folder ready to be recorded into; what it holds already stays.

    Raises:
        InputError: it holds something else, or a recording of another version, or can't be
            written.
    """
    try:
        os.makedirs(folder, exist_ok=True)
        if all(name.startswith(".skilleval-") for name in os.listdir(folder)):
            head = {"skilleval": "recording", "version": _VERSION}
            with contextlib.suppress(FileExistsError):  # somebody else began at the same time
                write_new(os.path.join(folder, _HEAD), json.dumps(head).encode() + b"\n")
    except OSError as error:
        raise _not_written(folder, error) from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _not_written(folder, PermissionError(0, "it is not writable"))
    return open_recording(folder)


def _not_written(folder: str, error: OSError) -> InputError:
    return InputError(
        f"can't record into {folder}: {error.strerror or error}",
        remedy="Name a folder that can be written, or that does not exist yet.",
    )


def open_recording(folder: str) -> str:
    """Check that a folder holds a recording that we can read.

    Raises:
        InputError: it does not.
    """
    remedy = "Name a folder that --record has written."
    try:
        head = _read(os.path.join(folder, _HEAD))
    except FileNotFoundError:
        what = "there is no such folder" if not os.path.isdir(folder) else "it has no " + _HEAD
        raise InputError(f"{folder} is no recording: {what}", remedy=remedy) from None
    except NotADirectoryError:
        raise InputError(f"{folder} is no recording: it is a file", remedy=remedy) from None
    except (OSError, ValueError) as error:
        raise InputError(
            f"{folder} is no recording: {_HEAD}: {_why(error)}", remedy=remedy
        ) from None
    if not isinstance(head, dict) or head.get("skilleval") != "recording":
        raise InputError(f"{folder} is no recording: {_HEAD} says otherwise", remedy=remedy)
    if head.get("version") != _VERSION:
        raise InputError(
            f"{folder} is a recording of version {str(head.get('version'))[:40]}; "
            f"this skilleval reads version {_VERSION}",
            remedy="Record it again, or use the skilleval that wrote it.",
        )
    return folder


class Recorder:
    """Passes requests on, and keeps them with what was answered."""

    def __init__(self, answers: Answers, folder: str) -> None:
        self.model: Model = answers.model
        self._answers = answers
        self._folder = folder

    async def answer(
        self, request: Request, *, deadline: float | None = None, on_event: OnEvent | None = None
    ) -> Reply:
        """As Endpoint.answer; errors that would come again are kept, too.

        Raises:
            ModelError: there was no answer.
            InputError: it could not be written.
        """
        try:
            reply = await self._answers.answer(request, deadline=deadline, on_event=on_event)
        except ModelError as error:
            if error.failure in (Failure.INVALID_REQUEST, Failure.TOO_LONG):
                kept = {"failure": error.failure, "message": error.message, "status": error.status}
                await self._keep("messages", request, {"error": kept})
            raise
        await self._keep("messages", request, {"message": reply.raw})
        return reply

    async def count_tokens(self, request: Request) -> int:
        """As Endpoint.count_tokens."""
        tokens = await self._answers.count_tokens(request)
        await self._keep("count_tokens", request, {"tokens": tokens})
        return tokens

    async def _keep(self, kind: str, request: Request, answer: dict[str, Any]) -> None:
        try:
            await asyncio.to_thread(_keep, self._folder, kind, request, answer)
        except OSError as error:
            raise _not_written(self._folder, error) from None


class Replay:
    """Answers from a recording.

    The same request asked again gets the next answer that was recorded for it, and the first
    one again after the last.
    """

    def __init__(self, model: Model, folder: str) -> None:
        self.model = model
        self._folder = folder
        self._turns: dict[str, Iterator[int]] = {}

    async def answer(
        self, request: Request, *, deadline: float | None = None, on_event: OnEvent | None = None
    ) -> Reply:
        """Answer a request as it was answered before.

        Raises:
            ModelError: it was not recorded, or recorded as an error.
        """
        path, exchange = await asyncio.to_thread(self._find, "messages", request)
        if error := exchange.get("error"):
            raise _recorded_error(path, error)
        try:
            reply = read_reply(exchange.get("message"))
        except ModelError:
            raise _broken(path, "it holds no message") from None
        if on_event is not None:
            for event in events_of(reply.raw):
                on_event(event)
        return replace(reply, cost=cost_of(self.model, reply.usage))

    async def count_tokens(self, request: Request) -> int:
        """The tokens of a request, as they were counted before.

        Raises:
            ModelError: that was not recorded.
        """
        path, exchange = await asyncio.to_thread(self._find, "count_tokens", request)
        tokens = exchange.get("tokens")
        if not isinstance(tokens, int):
            raise _broken(path, "it holds no count of tokens")
        return tokens

    def _find(self, kind: str, request: Request) -> tuple[str, dict[str, Any]]:
        asked = _canonical(kind, request)
        key = _key(asked)
        recorded = _recorded(self._folder, key)
        if not recorded:
            raise self._miss(asked)
        number = next(self._turns.setdefault(key, count())) % recorded
        path = os.path.join(self._folder, f"{key}-{number}.json")
        try:
            exchange = _read(path)
        except (OSError, ValueError) as error:
            raise _broken(path, _why(error)) from None
        if not isinstance(exchange, dict):
            raise _broken(path, "it holds no exchange")
        return path, exchange

    def _miss(self, asked: dict[str, Any]) -> ModelError:
        closest, lines = "", ["nothing like it was recorded"]
        best = 0.0
        for path, exchange in self._exchanges():
            recorded = exchange.get("request")
            if isinstance(recorded, dict) and (same := _likeness(asked, recorded)) > best:
                best, closest = same, os.path.basename(path)
                lines = list(islice(_differences(recorded, asked, "request"), _SHOWN))
                lines = lines or ["nothing: it was renamed"]
        about = f"; the nearest, {closest}, differs in " if closest else "; "
        return ModelError(
            Failure.NOT_RECORDED,
            f"{self.model.name}: this request is not in {self._folder}{about}{'; '.join(lines)}",
            remedy="Record again with --record and a key, or ask as it was asked then.",
        )

    def _exchanges(self) -> Iterator[tuple[str, dict[str, Any]]]:
        left = _LOOKED_THROUGH
        for path in islice(sorted(glob.iglob(f"{glob.escape(self._folder)}/*-0.json")), _LOOKED_AT):
            try:
                left -= os.path.getsize(path)
                exchange = _read(path) if left >= 0 else None
            except (OSError, ValueError):
                continue
            if isinstance(exchange, dict):
                yield path, exchange


def _recorded_error(path: str, error: object) -> SkillevalError:
    kinds = [failure.value for failure in Failure]
    if not isinstance(error, dict) or error.get("failure") not in kinds:
        return _broken(path, "it holds no error that we know")
    status = error.get("status")
    return ModelError(
        Failure(error["failure"]),
        redact(str(error.get("message"))),
        status=status if isinstance(status, int) else None,
    )


def _broken(path: str, why: str) -> InputError:
    return InputError(f"can't read {path}: {why}", remedy="Record it again.")


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else "") or str(error)


def _canonical(kind: str, request: Request) -> dict[str, Any]:
    """What counts of a request, without keys."""
    counts = {name: value for name, value in request.items() if name not in ("metadata", "stream")}
    asked: dict[str, Any] = redact_data({"kind": kind, **counts})
    return asked


def _key(asked: dict[str, Any]) -> str:
    data = json.dumps(asked, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(data.encode()).hexdigest()[:32]


def _keep(folder: str, kind: str, request: Request, answer: dict[str, Any]) -> None:
    asked = _canonical(kind, request)
    data = json.dumps({"request": asked, **redact_data(answer)}, indent=1) + "\n"
    key = _key(asked)
    number = _recorded(folder, key)
    while True:
        try:
            write_new(os.path.join(folder, f"{key}-{number}.json"), data.encode())
            return
        except FileExistsError:  # somebody else records into the same folder
            number += 1


def _recorded(folder: str, key: str) -> int:
    """How many answers to a request there are."""
    numbers = (n for n in count() if not os.path.exists(os.path.join(folder, f"{key}-{n}.json")))
    return next(numbers)


def _read(path: str) -> Any:
    return read_json(disk.read(path, _LARGEST, follow=True), _DEEPEST)


def _likeness(asked: dict[str, Any], recorded: dict[str, Any]) -> float:
    """How much two requests have in common: the model, what stays, and messages in a row.

    Where that is equal, those are nearer whose texts begin alike.
    """
    if recorded.get("kind") != asked.get("kind"):
        return 0
    same: float = 1
    same += sum(asked.get(name) == recorded.get(name) for name in ("model", "system", "tools"))
    for ours, theirs in zip(_turns(asked), _turns(recorded), strict=False):
        if ours != theirs:
            break
        same += 2
    texts = (json.dumps([each.get("system"), each.get("messages")]) for each in (asked, recorded))
    return same + _alike(*(text[:_COMPARED] for text in texts)) / (_COMPARED + 1)


def _turns(request: dict[str, Any]) -> list[Any]:
    messages = request.get("messages")
    return messages if isinstance(messages, list) else []


def _differences(recorded: Any, asked: Any, where: str) -> Iterator[str]:
    """Each place where two requests differ, and how; none where their JSON is the same."""
    if isinstance(recorded, dict) and isinstance(asked, dict):
        for name in sorted({*recorded, *asked}):
            pair = recorded.get(name, _NOTHING), asked.get(name, _NOTHING)
            yield from _differences(*pair, f"{where}.{name}")
    elif isinstance(recorded, list) and isinstance(asked, list):
        for index, pair in enumerate(zip_longest(recorded, asked, fillvalue=_NOTHING)):
            yield from _differences(*pair, f"{where}[{index}]")
    elif (texts := [_shown(recorded), _shown(asked)])[0] != texts[1]:
        theirs, ours = _around(*texts)
        yield f"{where.removeprefix('request.')} (recorded {theirs}, asked {ours})"


def _shown(value: Any) -> str:
    return "nothing" if value is _NOTHING else redact(json.dumps(value, ensure_ascii=False))


def _around(recorded: str, asked: str) -> tuple[str, str]:
    """Two values, cut to where they begin to differ."""
    start = max(0, _alike(recorded, asked) - 20)
    theirs, ours = (
        ("…" if start else "") + text[start : start + 60] + ("…" if text[start + 60 :] else "")
        for text in (recorded, asked)
    )
    return theirs, ours


def _alike(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))
