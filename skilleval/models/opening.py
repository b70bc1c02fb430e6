"""Opening models: from a name to something that answers."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING

from skilleval.errors import InputError
from skilleval.models.endpoint import Answers, Endpoint, Transport
from skilleval.models.settings import DEFAULT_KEY, Model, ModelSettings, find_model, read_models

if TYPE_CHECKING:
    from skilleval.models.api import Api

__all__ = ["Models", "default_model"]


def default_model() -> str:
    """Who answers where nobody was named: Claude where there is a key, else a policy."""
    keys = (DEFAULT_KEY, "ANTHROPIC_AUTH_TOKEN")
    return "sonnet" if any(os.environ.get(key) for key in keys) else "offline/literal"


class Models:
    """The models of a command or a run: each is opened once, and shared.

    Use it as an asynchronous context; leaving it closes the connections.
    """

    def __init__(
        self,
        settings: dict[str, ModelSettings] | None = None,
        *,
        record: str | None = None,
        replay: str | None = None,
    ) -> None:
        """Prepare to open models; nothing is opened yet.

        Args:
            settings: what the user's settings say of models (default: read them).
            record: a folder to keep every exchange in.
            replay: a folder to answer from, in place of the models.

        Raises:
            InputError: the settings or a folder make no sense.
        """
        from skilleval.models.recordings import open_recording, start_recording

        if record and replay:
            raise InputError("a replay asks no model, so there is nothing to record")
        self._settings = read_models() if settings is None else settings
        self._record = start_recording(record) if record else None
        self._replay = open_recording(replay) if replay else None
        self._opened: dict[str, Answers] = {}
        self._clients: dict[object, Api] = {}
        self._opening = asyncio.Lock()

    async def __aenter__(self) -> Models:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for client in self._clients.values():
            await client.close()

    async def open(self, name: str) -> Answers:
        """The model of a name.

        Raises:
            InputError: the name makes no sense, a key is missing, a file is broken.
        """
        async with self._opening:  # a local model takes its time, and is started once
            if name not in self._opened:
                self._opened[name] = await self._open(find_model(name, self._settings))
            return self._opened[name]

    async def _open(self, model: Model) -> Answers:
        from skilleval.models.recordings import Recorder, Replay

        if self._replay:
            return Replay(model, self._replay)
        answers: Answers
        if model.provider == "local":
            answers = await self._local(model)
        else:
            answers = Endpoint(model, self._transport(model))
        return Recorder(answers, self._record) if self._record else answers

    def _transport(self, model: Model) -> Transport:
        if model.provider == "offline":
            from skilleval.models.offline import open_offline

            return open_offline(model.name)
        return self._api(model)

    async def _local(self, model: Model) -> Endpoint:
        """A model in a file: it has the window of its server, which answers one at a time."""
        from skilleval.models.local import local_server

        server = await asyncio.to_thread(local_server, model.name.removeprefix("local/"))
        window = server.context_window
        tier = model.tier._replace(context_window=window, max_output=min(window // 4, 4_096))
        limits = model.limits._replace(concurrency=1)
        model = replace(model, tier=tier, limits=limits, base_url=server.base_url)
        return Endpoint(model, self._api(model, server.api_key))

    def _api(self, model: Model, key: str | None = None) -> Api:
        from skilleval.models.api import Api

        endpoint = (model.base_url, model.key_env, tuple(model.headers.items()))
        if endpoint not in self._clients:
            self._clients[endpoint] = Api(model, key)
        return self._clients[endpoint]
