"""The Messages API over HTTP, answered by an offline model: a test double for clients.

It answers as the API does, for every model name: streams, error bodies, ``request-id`` and
``retry-after`` headers, and connections that drop where a turn says so. Any key will do, but
there has to be one.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from skilleval.models.messages import Event
from skilleval.models.offline.checks import MAX_BYTES, problem_of, refused, too_large
from skilleval.models.offline.model import Answer, OfflineModel
from skilleval.models.offline.tokens import estimate
from skilleval.models.offline.turns import ApiError
from skilleval.models.tiers import TIERS, Tier

__all__ = ["DroppingProtocol", "application"]

_TRANSPORT = "skilleval.transport"
_UNKNOWN_DATE = "1970-01-01T00:00:00Z"
_BY_STATUS = {404: "not_found_error", 401: "authentication_error", 500: "api_error"}


def application(model: OfflineModel) -> Starlette:
    """The API as an ASGI application."""
    messages = _Messages(model)
    routes = [
        Route("/", _hello, methods=["GET", "HEAD"]),
        Route("/v1/messages", messages.create, methods=["POST"]),
        Route("/v1/messages/count_tokens", messages.count, methods=["POST"]),
        Route("/v1/models", _models, methods=["GET"]),
        Route("/v1/models/{id:path}", _model, methods=["GET"]),
    ]
    return Starlette(routes=routes, exception_handlers={HTTPException: _failed, Exception: _failed})


class _Messages:
    def __init__(self, model: OfflineModel) -> None:
        self._model = model

    async def create(self, request: Request) -> ASGIApp:
        """``POST /v1/messages``"""
        body, problem = await _read(request)
        if problem:
            return _error(problem, _id_of(b""))
        answer = self._model.answer(body)
        if answer.delay:
            await asyncio.sleep(answer.delay)
        if answer.is_refused and answer.error:
            return _error(answer.error, answer.request_id)
        if body.get("stream") is True:
            return _Stream(answer)
        if answer.drop_after is not None:
            return _Drop()
        if answer.error:
            return _error(answer.error, answer.request_id)
        return _json(answer.message, answer.request_id)

    async def count(self, request: Request) -> ASGIApp:
        """``POST /v1/messages/count_tokens``"""
        body, problem = await _read(request)
        problem = problem or problem_of(body, counting=True)
        if problem:
            return _error(problem, _id_of(b""))
        return _json({"input_tokens": estimate(body)}, _id_of(b"count"))


class _Stream:
    """An answer as server-sent events; it breaks off where the answer says so."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._answer.drop_after == 0:
            await _drop(scope, receive)
            return
        headers = {
            "content-type": "text/event-stream; charset=utf-8",
            "cache-control": "no-cache",
            "request-id": self._answer.request_id,
        }
        raw = [(key.encode(), value.encode()) for key, value in headers.items()]
        await send({"type": "http.response.start", "status": 200, "headers": raw})
        for event in self._events():
            await send({"type": "http.response.body", "body": _framed(event), "more_body": True})
        if self._answer.drop_after is not None:
            await _drop(scope, receive)
            return
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _events(self) -> Iterator[Event]:
        for number, event in enumerate(self._answer.events()):
            yield event
            if not number:
                yield {"type": "ping"}
        if self._answer.error:
            yield _error_body(self._answer.error, self._answer.request_id)


class _Drop:
    """No answer: the connection drops."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await _drop(scope, receive)


async def _drop(scope: Scope, receive: Receive) -> None:
    """Close the connection as it stands; what was sent before still arrives."""
    scope[_TRANSPORT].close()
    while (await receive())["type"] != "http.disconnect":
        pass


class DroppingProtocol(H11Protocol):
    """HTTP that shows the application its connection, so that it can drop it."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        inner = self.app

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            scope[_TRANSPORT] = transport
            await inner(scope, receive, send)

        self.app = app


async def _read(request: Request) -> tuple[dict[str, Any], ApiError | None]:
    """The body of a request that may be answered; else why it may not."""
    if not _has_key(request):
        return {}, _no_key()
    chunks, size = [], 0
    async for chunk in _stream(request):
        size += len(chunk)
        if size <= MAX_BYTES:
            chunks.append(chunk)
    if size > MAX_BYTES:  # read to its end all the same, or the client never sees the answer
        return {}, too_large()
    try:
        body = json.loads(b"".join(chunks))
    except (ValueError, RecursionError) as error:
        return {}, refused(f"The request body is not valid JSON: {error}")
    if not isinstance(body, dict):
        return {}, refused("The request body is not a JSON object")
    return body, None


async def _stream(request: Request) -> AsyncIterator[bytes]:
    try:
        async for chunk in request.stream():
            yield chunk
    except ClientDisconnect:
        return


def _has_key(request: Request) -> bool:
    return bool(request.headers.get("x-api-key") or request.headers.get("authorization"))


def _no_key() -> ApiError:
    return ApiError(401, "authentication_error", "x-api-key header is required")


async def _hello(request: Request) -> Response:
    return PlainTextResponse("The Messages API of an offline model: POST /v1/messages\n")


async def _models(request: Request) -> Response:
    if not _has_key(request):
        return _error(_no_key(), _id_of(b"models"))
    found = [_about(tier) for tier in TIERS]
    ends = {"first_id": found[0]["id"], "last_id": found[-1]["id"], "has_more": False}
    return _json({"data": found, **ends}, _id_of(b"models"))


async def _model(request: Request) -> Response:
    if not _has_key(request):
        return _error(_no_key(), _id_of(b"model"))
    name = request.path_params["id"]
    for tier in TIERS:
        if tier.id == name:
            return _json(_about(tier), _id_of(name.encode()))
    return _error(ApiError(404, "not_found_error", f"model: {name}"), _id_of(b"model"))


def _about(tier: Tier) -> dict[str, Any]:
    return {
        "type": "model",
        "id": tier.id,
        "display_name": tier.id.replace("-", " ").title(),
        "created_at": _UNKNOWN_DATE,
        "lifecycle": "active",
        "max_input_tokens": tier.context_window,
        "max_tokens": tier.max_output,
    }


async def _failed(request: Request, error: Exception) -> Response:
    """What no route answers: an unknown path, a wrong method, a mistake of ours."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    said = {404: "Not found", 405: "Method not allowed"}.get(status, "Internal server error")
    kind = _BY_STATUS.get(status, "invalid_request_error")
    answer = _error(ApiError(status, kind, said), _id_of(request.url.path.encode()))
    if isinstance(error, HTTPException) and error.headers:
        answer.headers.update(error.headers)
    return answer


def _error(error: ApiError, request_id: str) -> Response:
    answer = _json(_error_body(error, request_id), request_id, error.status)
    if error.retry_after is not None:
        answer.headers["retry-after"] = f"{error.retry_after:g}"
    return answer


def _error_body(error: ApiError, request_id: str) -> dict[str, Any]:
    said = {"type": error.type, "message": error.message}
    return {"type": "error", "error": said, "request_id": request_id}


def _json(data: object, request_id: str, status: int = 200) -> Response:
    body = json.dumps(data).encode()
    return Response(body, status, {"request-id": request_id}, "application/json")


def _framed(event: Mapping[str, Any]) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def _id_of(data: bytes) -> str:
    return f"req_01{hashlib.sha256(data).hexdigest()[:22]}"
