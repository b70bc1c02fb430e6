"""Opening models: by name, once each, and all of them closed in the end."""

from __future__ import annotations

import asyncio
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from models.fake_api import REQUEST, FakeApi, message, reply

from skilleval.errors import Failure, InputError, ModelError
from skilleval.models.endpoint import Endpoint
from skilleval.models.opening import Models
from skilleval.models.recordings import Recorder, Replay
from skilleval.models.settings import ModelSettings


def test_a_model_of_the_settings_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKILLEVAL_KEY", "own-key-0123456789")

    async def run() -> None:
        async with FakeApi(reply(message())) as fake:
            settings = {
                "mine": ModelSettings(
                    id="other", base_url=fake.url, key_env="SKILLEVAL_KEY", input=1, output=2
                )
            }
            async with Models(settings) as models:
                answers = await models.open("mine")
                found = await answers.answer({**REQUEST, **answers.model.tier.parameters(50)})
                assert found.cost == pytest.approx((10 + 3 + 2 + 2 * 5) / 1e6)
            assert fake.bodies[0]["model"] == "other"
            assert fake.bodies[0]["max_tokens"] == 50

    asyncio.run(run())


def test_each_is_opened_once_however_many_ask() -> None:
    async def run() -> None:
        async with Models({}) as models:
            found = await asyncio.gather(*(models.open("offline/literal") for _ in range(9)))
            assert len(set(map(id, found))) == 1
            assert isinstance(found[0], Endpoint)

    asyncio.run(run())


def test_models_of_one_endpoint_share_its_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-0123456789")

    async def run() -> None:
        async with Models({}) as models:
            one, other = await models.open("haiku"), await models.open("sonnet")
            assert isinstance(one, Endpoint)
            assert isinstance(other, Endpoint)
            assert one._transport is other._transport
            assert one is not other

    asyncio.run(run())


def test_a_local_model_is_started_once(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []

    async def run() -> None:
        async with FakeApi(reply(message())) as fake:

            def local_server(path: str) -> Any:
                started.append(path)
                return types.SimpleNamespace(
                    base_url=fake.url, api_key="local-key-0123", context_window=8_192
                )

            stand_in = types.ModuleType("skilleval.models.local")
            stand_in.local_server = local_server  # type: ignore[attr-defined]
            monkeypatch.setitem(sys.modules, "skilleval.models.local", stand_in)
            async with Models({}) as models:
                found = await asyncio.gather(*(models.open("local/a b.gguf") for _ in range(5)))
                reply_ = await found[0].answer(REQUEST)
                assert reply_.cost == 0
            assert fake.received[0].headers["authorization"] == "Bearer local-key-0123"
            assert found[0].model.tier.context_window == 8_192
            assert found[0].model.limits.concurrency == 1
        assert started == ["a b.gguf"]

    asyncio.run(run())


def test_recording_and_replaying(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = str(tmp_path / "r")
    monkeypatch.setenv("SKILLEVAL_KEY", "own-key-0123456789")

    async def run() -> None:
        async with FakeApi(reply(message())) as fake:
            settings = {"mine": ModelSettings(base_url=fake.url, key_env="SKILLEVAL_KEY")}
            async with Models(settings, record=folder) as models:
                answers = await models.open("mine")
                assert isinstance(answers, Recorder)
                await answers.answer(REQUEST)
        monkeypatch.delenv("SKILLEVAL_KEY")  # needs no key, and nobody to answer
        async with Models(settings, replay=folder) as models:
            answers = await models.open("mine")
            assert isinstance(answers, Replay)
            assert (await answers.answer(REQUEST)).raw == message()
            with pytest.raises(ModelError) as caught:
                await answers.answer({**REQUEST, "max_tokens": 7})
            assert caught.value.failure is Failure.NOT_RECORDED

    asyncio.run(run())


def test_a_replay_can_not_be_recorded(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing to record"):
        Models({}, record=str(tmp_path / "a"), replay=str(tmp_path / "b"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", "a b", "offline/nonsense", "claude-haiku-5-5"])
def test_what_can_not_be_opened_is_one_clear_error(name: str) -> None:
    async def run() -> None:
        async with Models({}) as models:
            for _ in range(2):  # and no second one behind a lock
                with pytest.raises(InputError) as caught:
                    await models.open(name)
                assert caught.value.remedy

    asyncio.run(run())


def test_whoever_is_cancelled_while_opening_locks_nobody_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def run() -> None:
        async with Models({}) as models:
            tasks = [asyncio.ensure_future(models.open("offline/literal")) for _ in range(3)]
            await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await models.open("offline/literal")

    asyncio.run(run())
