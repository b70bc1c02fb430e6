"""Listening on loopback, and serving an offline model there until a signal comes."""

from __future__ import annotations

import asyncio
import ipaddress
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn

from skilleval.errors import InputError
from skilleval.models.offline.model import OfflineModel
from skilleval.models.offline.server import DroppingProtocol, application

__all__ = ["listen", "serve"]

_SILENT = 60
"""A log level above all: what a client does wrong is answered, not logged."""
_PATIENCE = 1
"""Seconds that answers in flight have to end when the server is stopped."""


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens on loopback.

    Args:
        host: an address or a name that means loopback.
        port: 0 for any that is free.

    Raises:
        InputError: the host is none of loopback's, or the port is taken.
    """
    address = "127.0.0.1" if host == "localhost" else host
    try:
        is_loopback = ipaddress.ip_address(address).is_loopback
    except ValueError:
        is_loopback = False
    if not is_loopback:
        raise InputError(
            f"the host {host} is not loopback",
            remedy="This is a test double for this machine: use 127.0.0.1, ::1 or localhost.",
        )
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    taken = socket.socket(family, socket.SOCK_STREAM)
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((address, port))
        taken.listen(128)
    except OSError as error:
        taken.close()
        raise InputError(
            f"can't listen on {host} port {port}: {error.strerror}",
            remedy="Choose another --port, or none for any that is free.",
        ) from None
    return taken


class _Server(uvicorn.Server):
    """A server that says when it is ready, and which signal ended it."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready
        self.signal: int | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        names = (signal.SIGINT, signal.SIGTERM)
        before = {name: signal.signal(name, self._stop) for name in names}
        try:
            yield
        finally:
            for name, handler in before.items():
                signal.signal(name, handler)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True
        self.signal = number


def serve(model: OfflineModel, taken: socket.socket, ready: Callable[[], None]) -> int | None:
    """Serve a model until a signal comes; the signal.

    Args:
        model: answers.
        taken: what ``listen`` gave.
        ready: called once requests are answered.
    """
    config = uvicorn.Config(
        application(model),
        http=DroppingProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level=_SILENT,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_PATIENCE,
    )
    server = _Server(config, ready)
    asyncio.run(server.serve([taken]))
    return server.signal
