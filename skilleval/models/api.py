"""Endpoints over HTTP, through the ``anthropic`` SDK.

The SDK brings the connection, its credentials and their order of precedence, and headers. Its
retries are off: ours know the limits of the endpoint. Bodies are written and read here
(``client.post``), which leaves fields alone that the SDK has no name for, and costs less than
half the time of models of everything. Answers are read here, piece by piece and within a bound,
since an endpoint may send anything; redirects are never followed, since they would take the
prompt, and keys in headers of the user's own, to another host.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any, cast
from urllib.parse import urlsplit
from urllib.request import getproxies

import anthropic
import httpx2
from anthropic import AsyncAnthropic, AsyncStream

from skilleval.errors import Failure, InputError, ModelError
from skilleval.models.connections import Connections
from skilleval.models.failures import failure_of_status, pause_of, shown, words_of
from skilleval.models.messages import OnEvent, Request, read_json
from skilleval.models.settings import DEFAULT_KEY, Model, fill_in
from skilleval.models.streams import Assembly, read_events
from skilleval.redaction import hide, redact, redact_logs

__all__ = ["COUNTED", "Api"]

COUNTED = frozenset(
    "cache_control context_management mcp_servers messages model output_config speed system "
    "thinking tool_choice tools".split()
)
"""What of a request goes into counting its tokens."""

_TIMEOUT = httpx2.Timeout(600.0, connect=10.0)
"""Seconds without a byte; what a whole request may take is the deadline's business."""
_STREAM_FROM = 21_334
"""``max_tokens`` from which on an answer may take over ten minutes: it has to be streamed."""
_WRITER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_LARGEST = 64 * 1024 * 1024
"""Bytes of an answer, unpacked."""
_LARGEST_ERROR = 64 * 1024
_LINGER = 1.0
"""Seconds that a stream gets to end after its message has."""
_LOGGERS = (
    "anthropic._base_client",
    "httpx2",
    "httpcore2.connection",
    "httpcore2.http11",
    "httpcore2.proxy",
)
"""What writes requests and answers to a log, for those who ask for it."""
_CUSTOM = "ANTHROPIC_CUSTOM_HEADERS"
_SECRET_NAME = re.compile(r"auth|key|token|secret|password|cookie|credential", re.I)
_KEY = re.compile(r"[\x21-\x7e]+\Z")
_BAD_REMEDY = "Is it an endpoint of the Anthropic Messages API? Check the base URL."


class Api:
    """A client of one endpoint. Share it: each keeps its own connections."""

    def __init__(self, model: Model, key: str | None = None) -> None:
        """Prepare a client; nothing is sent.

        Args:
            model: where it is, and which variable holds its key.
            key: the key itself, of a server that we started.

        Raises:
            InputError: the address makes no sense, or a key is missing.
        """
        self._key = model.key_env or ""
        self._spoke = False
        redact_logs(*_LOGGERS)
        self._client = _client(model, key, self._look)
        self.base_url = redact(str(self._client.base_url)).removesuffix("/")

    async def send(self, request: Request, on_event: OnEvent | None) -> tuple[dict[str, Any], str]:
        """Ask, once; the message and the request's id.

        Raises:
            ModelError: there was no answer, or none that makes sense.
        """
        streamed = on_event is not None or request.get("max_tokens", 0) >= _STREAM_FROM
        body = {key: value for key, value in request.items() if key != "betas"}
        if streamed:
            body["stream"] = True
        async with self._answer("/v1/messages", body, request) as response:
            request_id = shown(response.headers.get("request-id", ""), 200)
            if streamed and "text/event-stream" in response.headers.get("content-type", ""):
                return await self._read_stream(response, on_event), request_id
            return await self._read(response, str(request.get("model"))), request_id

    async def count_tokens(self, request: Request) -> int:
        """The tokens that a request would send.

        Raises:
            ModelError: there was no answer.
        """
        body = {key: value for key, value in request.items() if key in COUNTED}
        async with self._answer("/v1/messages/count_tokens", body, request) as response:
            counted = (await self._read(response, str(request.get("model")))).get("input_tokens")
            if not isinstance(counted, int) or isinstance(counted, bool) or counted < 0:
                raise self._not_the_api(response)
            return counted

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    @contextlib.asynccontextmanager
    async def _answer(
        self, path: str, body: dict[str, Any], request: Request
    ) -> AsyncIterator[httpx2.Response]:
        """The answer to a request, its body still to be read."""
        model = str(request.get("model"))
        headers = {"anthropic-beta": ",".join(request["betas"])} if request.get("betas") else {}
        try:
            response = await self._post(path, body, headers)
            try:
                yield response
            finally:
                await response.aclose()
        except (anthropic.AnthropicError, httpx2.HTTPError) as error:
            raise self._failure(error, model) from None

    async def _post(
        self, path: str, body: dict[str, Any], headers: dict[str, str]
    ) -> httpx2.Response:
        try:
            # JSON can hold halves of characters (of file names, or of replies), UTF-8 can't.
            content = _WRITER.encode(body).encode("utf-8", "replace")
            response: Any = await self._client.post(  # cast to one, it is one, its body unread
                path,
                cast_to=httpx2.Response,
                content=content,
                options={"headers": headers},
                stream=True,
                stream_cls=AsyncStream[Any],
            )
        except (TypeError, ValueError) as error:
            said = f"this request can't be written as JSON: {_reason(error)}"
            raise ModelError(Failure.INVALID_REQUEST, said) from None
        return cast(httpx2.Response, response)

    async def _look(self, response: httpx2.Response) -> None:
        """Stop an answer that is none before anything else reads or follows it."""
        self._spoke = True
        if not response.is_success:
            body = bytearray()
            with contextlib.suppress(httpx2.HTTPError):
                async for chunk in response.aiter_bytes():
                    body += chunk
                    if len(body) > _LARGEST_ERROR:
                        break
            raise _Refused(response, bytes(body[:_LARGEST_ERROR]))

    async def _read_stream(
        self, response: httpx2.Response, on_event: OnEvent | None
    ) -> dict[str, Any]:
        assembly = Assembly()
        try:
            async with asyncio.timeout(None) as patience:
                async for event in read_events(_chunks(response)):
                    if event["type"] == "error":
                        model = str(assembly.message.get("model", "the model"))
                        raise failure_of_status(None, *words_of(event), model=model, key=self._key)
                    assembly.add(event)
                    if on_event is not None:
                        on_event(event)
                    if assembly.complete and patience.when() is None:
                        patience.reschedule(asyncio.get_running_loop().time() + _LINGER)
        except (TimeoutError, httpx2.HTTPError) as error:
            if not assembly.complete:
                raise ModelError(Failure.CUT, f"the stream broke off: {_reason(error)}") from None
        if not assembly.complete:
            raise ModelError(Failure.CUT, "the stream ended before the message did")
        return assembly.message

    async def _read(self, response: httpx2.Response, model: str) -> dict[str, Any]:
        try:
            body = read_json(b"".join([chunk async for chunk in _chunks(response)]))
        except ValueError:
            raise self._not_the_api(response) from None
        if not isinstance(body, dict):
            raise self._not_the_api(response)
        if body.get("type") == "error":  # with status 200
            raise failure_of_status(None, *words_of(body), model=model, key=self._key)
        return body

    def _not_the_api(self, response: httpx2.Response) -> ModelError:
        kind = response.headers.get("content-type") or "nothing it has a name for"
        broken = "json" in kind
        return ModelError(
            Failure.MALFORMED if broken else Failure.NOT_FOUND,
            f"{self.base_url} answered with {shown(kind, 80)}, "
            f"{'but with none that makes sense' if broken else 'not with a message'}",
            remedy=_BAD_REMEDY,
        )

    def _failure(self, error: Exception, model: str) -> ModelError:
        """Our error for one of the SDK's."""
        wrapped = isinstance(error, anthropic.APIConnectionError)
        cause = (error.__cause__ or error) if wrapped else error
        if isinstance(cause, _Refused):
            return self._refusal(cause, model)
        if isinstance(cause, httpx2.TimeoutException) and not isinstance(
            cause, httpx2.ConnectTimeout
        ):
            return ModelError(Failure.TIMEOUT, f"{self.base_url} did not answer in time")
        if isinstance(cause, httpx2.DecodingError):
            said = f"{self.base_url} answered with what can't be unpacked"
            return ModelError(Failure.MALFORMED, said, remedy=_BAD_REMEDY)
        broke = isinstance(cause, httpx2.NetworkError | httpx2.RemoteProtocolError)
        if self._spoke and broke and not isinstance(cause, httpx2.ConnectError):
            return ModelError(Failure.CUT, f"{self.base_url} broke off: {_reason(cause)}")
        return ModelError(
            Failure.UNREACHABLE,
            f"can't reach {self.base_url}: {_reason(cause)}",
            remedy="Check the base URL and the network.",
        )

    def _refusal(self, refused: _Refused, model: str) -> ModelError:
        response, body = refused.response, refused.body
        if response.is_redirect:
            target = shown(response.headers.get("location", ""), 200)
            return ModelError(
                Failure.NOT_FOUND,
                f"{self.base_url} sends requests on to {target or 'nowhere'}",
                remedy="Set the base URL to where the endpoint is.",
                status=response.status_code,
            )
        try:
            kind, said = words_of(read_json(body))
        except ValueError:
            kind, said = "", _first_line(body)
        should = response.headers.get("x-should-retry", "")
        return failure_of_status(
            response.status_code,
            kind,
            said,
            model=model,
            key=self._key,
            request_id=shown(response.headers.get("request-id", ""), 200),
            retry_after=pause_of(response.headers),
            passing={"true": True, "false": False}.get(should),
        )


class _Refused(Exception):
    """An answer with a status other than success, and the beginning of its body."""

    def __init__(self, response: httpx2.Response, body: bytes) -> None:
        super().__init__(response.status_code)
        self.response = response
        self.body = body


def _client(model: Model, key: str | None, look: Any) -> AsyncAnthropic:
    where = f"model {model.name}"
    headers = fill_in(model.headers, where)
    _hide_secrets(headers)
    key = (key or (os.environ.get(model.key_env) if model.key_env else None) or "").strip()
    hide(key)
    own = model.key_env != DEFAULT_KEY
    if own and model.key_env and not key:
        raise _no_key(model.name, model.key_env)
    token = key or os.environ.get("ANTHROPIC_AUTH_TOKEN")
    if not own and not token and str(model.base_url).startswith("http:"):
        raise _no_key(model.name, DEFAULT_KEY)  # the SDK would look for a profile, and want https
    try:
        # To an address of the settings nothing goes that the environment has for another.
        with _without(_CUSTOM) if own else contextlib.nullcontext():
            client = AsyncAnthropic(
                api_key=key or ("none" if own else None),
                base_url=model.base_url,
                default_headers=headers,
                max_retries=0,
                timeout=_TIMEOUT,
                http_client=_http(model.base_url, look),
            )
    except (anthropic.AnthropicError, httpx2.InvalidURL, ImportError, ValueError, OSError) as error:
        remedy = "Check the base URL, and the proxy that the environment names."
        if isinstance(error, anthropic.AnthropicError):  # no key, and a profile that is broken
            remedy = _no_key(model.name, DEFAULT_KEY).remedy
        raise InputError(f"{where}: {_reason(error)}", remedy=remedy) from None
    if not (client.api_key or client.auth_token or client.credentials):
        raise _no_key(model.name, DEFAULT_KEY)
    for secret in (client.api_key, client.auth_token):
        hide(secret)
        if secret and not _KEY.match(secret):
            raise InputError(
                f"{where}: its key holds blanks or characters that no key has",
                remedy=f"Check {model.key_env or DEFAULT_KEY}.",
            )
    return client


def _http(base_url: str | None, look: Any) -> httpx2.AsyncClient:
    """A client that follows no redirects, and reaches this machine without a proxy.

    Where the environment names a proxy for everything, that is what connects.
    """
    context = httpx2.create_ssl_context()
    direct = Connections(context)
    host = (urlsplit(base_url).hostname or "") if base_url else ""
    here = host in ("localhost", "::1") or host.startswith("127.")
    pattern = f"all://[{host}]" if ":" in host else f"all://{host}"
    return anthropic.DefaultAsyncHttpxClient(
        timeout=_TIMEOUT,
        follow_redirects=False,
        event_hooks={"response": [look]},
        verify=context,
        mounts={
            **({} if getproxies().get("all") else {"all://": direct}),
            **({pattern: direct} if here else {}),
        },
    )


@contextlib.contextmanager
def _without(variable: str) -> Iterator[None]:
    """Run something, at once, that must not see a variable of the environment."""
    value = os.environ.pop(variable, None)
    try:
        yield
    finally:
        if value is not None:
            os.environ[variable] = value


def _hide_secrets(headers: dict[str, str]) -> None:
    """Hide what headers hold that sound secret, those of the environment included.

    The others stay: they may be words, and hiding words would garble texts.
    """
    custom = (line.partition(":") for line in os.environ.get(_CUSTOM, "").split("\n"))
    for name, value in (*headers.items(), *((name, value) for name, _, value in custom)):
        if _SECRET_NAME.search(name):
            hide(value.strip())
            hide(value.rpartition(" ")[2].strip())  # without Bearer and the like


def _no_key(name: str, variable: str) -> InputError:
    return InputError(
        f"there is no key for the model {name}: {variable} is not set",
        remedy=f"Set {variable}, or use an offline model (skilleval models).",
    )


async def _chunks(response: httpx2.Response) -> AsyncIterator[bytes]:
    size = 0
    async for chunk in response.aiter_bytes():
        size += len(chunk)
        if size > _LARGEST:
            raise ModelError(Failure.MALFORMED, "the answer is larger than 64 MiB")
        yield chunk


def _first_line(body: bytes) -> str:
    """What an error page says, where it is no error of the API."""
    lines = body.decode("utf-8", "replace").strip().splitlines()
    return lines[0][:200] if lines and "<" not in lines[0] else ""


def _reason(error: BaseException) -> str:
    return shown(str(error), 300) or type(error).__name__
