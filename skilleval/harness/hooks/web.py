"""Posting a payload to an address. Importing this is slow, so it is imported where it is used."""

from __future__ import annotations

import functools
import ssl
from collections.abc import Sequence
from typing import NamedTuple

import httpx2

from skilleval.harness.hooks.process import KEPT, Capped

__all__ = ["Response", "Unreachable", "post"]


class Response(NamedTuple):
    """What came back; of the body no more is read than is kept."""

    status: int
    body: Capped


class Unreachable(Exception):
    """There was no answer, or none in HTTP."""


async def post(url: str, payload: bytes, headers: Sequence[tuple[str, str]]) -> Response:
    """Post JSON. Redirects are not followed, and proxies of the environment are not used.

    The caller limits the time by cancelling it.

    Raises:
        Unreachable: there was no answer.
    """
    fixed = [("content-type", "application/json"), ("accept-encoding", "identity")]
    named = {name.lower() for name, _ in headers}
    sent = [pair for pair in fixed if pair[0] not in named] + list(headers)
    body = Capped()
    try:
        async with (
            httpx2.AsyncClient(verify=_context(), trust_env=False, timeout=None) as client,
            client.stream("POST", url, content=payload, headers=sent) as response,
        ):
            async for chunk in response.aiter_raw():
                body.add(chunk)
                if body.total > KEPT:
                    break
            return Response(response.status_code, body)
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError, ValueError) as error:
        raise Unreachable(f"{type(error).__name__}: {error}") from None


@functools.cache
def _context() -> ssl.SSLContext:
    return ssl.create_default_context()
