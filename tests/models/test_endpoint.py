"""Asking until there is an answer: retries, pauses, deadlines, allowances, costs.

Time is made up: the event loop jumps to the next thing that is due.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import Any, TypeVar

import pytest
from models.fake_api import (
    REQUEST,
    FakeApi,
    Reaction,
    error,
    message,
    raw,
    reply,
    silent,
    stream,
    streamed,
    text,
)
from models.valid_requests import watch

from skilleval.errors import ExitCode, Failure, ModelError
from skilleval.models import endpoint as endpoint_module
from skilleval.models.api import Api
from skilleval.models.endpoint import Endpoint
from skilleval.models.limits import Gate
from skilleval.models.messages import Event, OnEvent, Outcome, Request
from skilleval.models.settings import Limits, Model
from skilleval.models.streams import events_of
from skilleval.models.tiers import TIERS, Tier

T = TypeVar("T")
MODEL = Model("m", TIERS[0])
Answer = ModelError | dict[str, Any] | Callable[[], Awaitable[dict[str, Any]]]


class _Selector(selectors.DefaultSelector):
    """Does not wait: passes the time."""

    passed = 0.0

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if not ready:
            assert timeout is not None, "everybody waits for ever"
            self.passed += timeout
        return ready


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._made_up = _Selector()
        super().__init__(self._made_up)

    def time(self) -> float:
        return 1_000.0 + self._made_up.passed


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run something in made-up time."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(main)


def now() -> float:
    return asyncio.get_running_loop().time()


class Scripted:
    """A transport that answers from a list, the last answer for ever."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.times: list[float] = []
        self.requests: list[Request] = []

    async def send(self, request: Request, on_event: OnEvent | None) -> tuple[dict[str, Any], str]:
        answer = await self._next(request)
        if on_event:
            for event in events_of(answer):
                on_event(event)
        return answer, "req_1"

    async def count_tokens(self, request: Request) -> int:
        return int((await self._next(request))["input_tokens"])

    async def _next(self, request: Request) -> dict[str, Any]:
        self.times.append(now())
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        await asyncio.sleep(0)
        if isinstance(answer, ModelError):
            raise ModelError(
                answer.failure,
                answer.message,
                retry_after=answer.retry_after,
                passing=answer.passing,
            )
        return await answer() if callable(answer) else answer

    @property
    def pauses(self) -> list[float]:
        return [b - a for a, b in zip(self.times, self.times[1:], strict=False)]


def failed(failure: Failure, **values: Any) -> ModelError:
    return ModelError(failure, f"{failure}!", **values)


def limited(**limits: Any) -> Model:
    return replace(MODEL, limits=Limits(**limits))


def refusal(main: Coroutine[Any, Any, Any]) -> ModelError:
    with pytest.raises(ModelError) as caught:
        run(main)
    return caught.value


# Answers


def test_an_answer_with_what_it_took() -> None:
    transport = Scripted(message())
    found = run(Endpoint(MODEL, transport).answer(REQUEST))
    assert found.text == "Hello"
    assert found.outcome is Outcome.COMPLETED
    assert found.attempts == 1
    assert found.request_id == "req_1"
    assert found.seconds >= 0
    assert found.cost == pytest.approx((10 * 0.10 + 5 * 0.50 + 3 * 0.01 + 2 * 0.125) / 1e6)
    assert transport.requests == [REQUEST]


def test_a_cost_that_is_not_known_is_none() -> None:
    unknown = replace(MODEL, tier=Tier("x", 1, 1, None))
    assert run(Endpoint(unknown, Scripted(message())).answer(REQUEST)).cost is None
    for usage in ({}, None, {"input_tokens": "many"}):
        without = Scripted(message(usage=usage))
        assert run(Endpoint(MODEL, without).answer(REQUEST)).cost is None


def test_what_is_free_costs_nothing() -> None:
    from skilleval.models.settings import find_model

    free = find_model("offline/literal", {})
    assert run(Endpoint(free, Scripted(message())).answer(REQUEST)).cost == 0


@pytest.mark.parametrize("reason", ["refusal", "max_tokens", "pause_turn", "news"])
def test_an_odd_end_is_an_answer_too(reason: str) -> None:
    transport = Scripted(message(stop_reason=reason))
    assert run(Endpoint(MODEL, transport).answer(REQUEST)).stop_reason == reason
    assert len(transport.requests) == 1


def test_what_is_no_message_is_malformed_and_not_asked_for_again() -> None:
    transport = Scripted({"type": "x"})
    assert refusal(Endpoint(MODEL, transport).answer(REQUEST)).failure is Failure.MALFORMED
    assert len(transport.requests) == 1


# Trying again

AGAIN = [Failure.RATE_LIMIT, Failure.OVERLOADED, Failure.SERVER, Failure.TIMEOUT]
NEVER = sorted(set(Failure) - {*AGAIN, Failure.CUT, Failure.UNREACHABLE})


@pytest.mark.parametrize("failure", AGAIN)
def test_what_passes_is_tried_again(failure: Failure) -> None:
    transport = Scripted(failed(failure), failed(failure), message())
    found = run(Endpoint(MODEL, transport).answer(REQUEST))
    assert found.attempts == 3
    assert transport.requests == [REQUEST] * 3


@pytest.mark.parametrize("failure", AGAIN)
def test_but_not_for_ever(failure: Failure) -> None:
    transport = Scripted(failed(failure))
    assert refusal(Endpoint(MODEL, transport).answer(REQUEST)).failure is failure
    assert len(transport.requests) == 1 + Limits().retries


@pytest.mark.parametrize("failure", NEVER)
def test_what_does_not_pass_is_not_tried_again(failure: Failure) -> None:
    transport = Scripted(failed(failure))
    assert refusal(Endpoint(MODEL, transport).answer(REQUEST)).failure is failure
    assert len(transport.requests) == 1


@pytest.mark.parametrize("retries", [0, 1, 100])
def test_the_settings_say_how_often(retries: int) -> None:
    transport = Scripted(failed(Failure.SERVER))
    refusal(Endpoint(limited(retries=retries), transport).answer(REQUEST))
    assert len(transport.requests) == retries + 1


def test_the_endpoint_may_say_so_itself() -> None:
    transport = Scripted(failed(Failure.RATE_LIMIT, passing=False))
    refusal(Endpoint(MODEL, transport).answer(REQUEST))
    assert len(transport.requests) == 1
    transport = Scripted(failed(Failure.INVALID_REQUEST, passing=True), message())
    assert run(Endpoint(MODEL, transport).answer(REQUEST)).attempts == 2


def test_a_stream_that_is_cut_is_asked_for_once_more() -> None:
    transport = Scripted(failed(Failure.CUT), message())
    assert run(Endpoint(MODEL, transport).answer(REQUEST)).attempts == 2
    transport = Scripted(failed(Failure.CUT), failed(Failure.SERVER), failed(Failure.CUT))
    assert refusal(Endpoint(MODEL, transport).answer(REQUEST)).failure is Failure.CUT
    assert len(transport.requests) == 3


def test_an_address_that_never_answered_is_tried_twice() -> None:
    async def use() -> None:
        transport = Scripted(failed(Failure.UNREACHABLE))
        endpoint = Endpoint(MODEL, transport)
        with pytest.raises(ModelError) as caught:
            await endpoint.answer(REQUEST)
        assert caught.value.exit_code == ExitCode.USAGE
        assert len(transport.requests) == 2
        transport.answers = [message()]
        await endpoint.answer(REQUEST)
        transport.answers = [failed(Failure.UNREACHABLE)]
        with pytest.raises(ModelError):
            await endpoint.answer(REQUEST)
        assert len(transport.requests) == 3 + 1 + Limits().retries

    run(use())


def test_events_begin_anew() -> None:
    seen: list[Event] = []
    transport = Scripted(failed(Failure.CUT), message())
    run(Endpoint(MODEL, transport).answer(REQUEST, on_event=seen.append))
    assert seen == [{"type": "restart"}, *events_of(message())]


# Pauses


def test_pauses_double_with_jitter() -> None:
    transport = Scripted(failed(Failure.SERVER))
    refusal(Endpoint(limited(retries=12), transport).answer(REQUEST))
    for number, pause in enumerate(transport.pauses):
        whole = min(30.0, 0.5 * 2**number)
        assert whole / 2 <= pause <= whole
    assert len(set(transport.pauses)) == 12


@pytest.mark.parametrize("seconds", [0.001, 3.0, 250.0])
def test_a_pause_is_as_long_as_the_endpoint_asks(seconds: float) -> None:
    transport = Scripted(failed(Failure.RATE_LIMIT, retry_after=seconds), message())
    run(Endpoint(MODEL, transport).answer(REQUEST))
    assert seconds <= transport.pauses[0] <= seconds + min(1.0, seconds / 10)


@pytest.mark.parametrize("seconds", [301.0, 1e9, 1e300])
def test_nobody_waits_for_hours(seconds: float) -> None:
    transport = Scripted(failed(Failure.RATE_LIMIT, retry_after=seconds))
    found = refusal(Endpoint(MODEL, transport).answer(REQUEST))
    assert found.failure is Failure.RATE_LIMIT
    assert f"it asks to wait {seconds:.0f} s, which is too long" in found.message
    assert str(found) == found.message
    assert len(transport.requests) == 1


def test_a_request_keeps_its_place_while_it_waits() -> None:
    async def use() -> None:
        transport = Scripted(failed(Failure.RATE_LIMIT, retry_after=10.0), message())
        endpoint = Endpoint(limited(concurrency=1), transport)
        began = now()
        await asyncio.gather(*(endpoint.answer(REQUEST) for _ in range(3)))
        assert transport.times[0] == began
        assert all(time >= began + 10 for time in transport.times[1:])

    run(use())


def test_refusals_make_the_gate_narrower_and_answers_wider() -> None:
    async def use() -> None:
        transport = Scripted(*[failed(Failure.OVERLOADED)] * 10, message())
        endpoint = Endpoint(limited(concurrency=10), transport)
        gate: Gate = endpoint._gate
        waiting = asyncio.gather(*(endpoint.answer(REQUEST) for _ in range(10)))
        for _ in range(4):
            await asyncio.sleep(0)
        assert gate.limit == pytest.approx(7)
        await waiting
        for _ in range(30):
            await endpoint.answer(REQUEST)
        assert gate.limit == 10
        assert gate.in_flight == 0

    run(use())


def test_other_failures_leave_the_gate_as_it_is() -> None:
    endpoint = Endpoint(limited(concurrency=10), Scripted(failed(Failure.SERVER)))
    refusal(endpoint.answer(REQUEST))
    assert endpoint._gate.limit == 10


# Deadlines


async def never() -> dict[str, Any]:
    await asyncio.Event().wait()
    raise AssertionError


def test_a_deadline_ends_it() -> None:
    async def use() -> None:
        began = now()
        with pytest.raises(ModelError) as caught:
            await Endpoint(MODEL, Scripted(never)).answer(REQUEST, deadline=began + 5)
        assert caught.value.failure is Failure.DEADLINE
        assert not caught.value.passing
        assert "m had not answered" in caught.value.message
        assert now() - began == pytest.approx(5)

    run(use())


@pytest.mark.parametrize("past", [0.0, 1.0, 1_000.0])
def test_a_deadline_may_have_passed(past: float) -> None:
    transport = Scripted(message())
    assert refusal(Endpoint(MODEL, transport).answer(REQUEST, deadline=past)).failure is (
        Failure.DEADLINE
    )


def test_a_deadline_holds_while_waiting_for_a_place() -> None:
    async def use() -> None:
        endpoint = Endpoint(limited(concurrency=1), Scripted(never))
        first = asyncio.ensure_future(endpoint.answer(REQUEST, deadline=now() + 9))
        await asyncio.sleep(0)
        began = now()
        with pytest.raises(ModelError):
            await endpoint.answer(REQUEST, deadline=began + 2)
        assert now() - began == pytest.approx(2)
        with pytest.raises(ModelError):
            await first
        assert endpoint._gate.in_flight == 0

    run(use())


def test_a_pause_beyond_the_deadline_is_not_begun() -> None:
    async def use() -> None:
        for failure, said in (
            (failed(Failure.RATE_LIMIT, retry_after=10.0), "it asks to wait 10 s"),
            (failed(Failure.SERVER), "the time is up before another try"),
        ):
            began = now()
            with pytest.raises(ModelError) as caught:
                await Endpoint(MODEL, Scripted(failure)).answer(REQUEST, deadline=began + 0.2)
            assert caught.value.failure is failure.failure
            assert said in caught.value.message
            assert now() == began

    run(use())


@pytest.mark.parametrize("steps", range(8))
@pytest.mark.parametrize("answer", [failed(Failure.SERVER), message()], ids=["error", "message"])
def test_whoever_is_cancelled_loses_no_place(steps: int, answer: Answer) -> None:
    async def use() -> None:
        endpoint = Endpoint(limited(concurrency=2), Scripted(answer))
        tasks = [asyncio.ensure_future(endpoint.answer(REQUEST)) for _ in range(5)]
        for _ in range(steps):
            await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert endpoint._gate.in_flight == 0
        endpoint._transport = Scripted(message())
        assert (await endpoint.answer(REQUEST)).text == "Hello"

    run(use())


# Allowances


def test_requests_keep_to_their_allowance() -> None:
    async def use() -> None:
        transport = Scripted(message())
        endpoint = Endpoint(limited(requests_per_minute=60), transport)
        await asyncio.gather(*(endpoint.answer(REQUEST) for _ in range(10)))
        assert transport.times[-1] - transport.times[0] >= 9

    run(use())


@pytest.mark.parametrize(
    ("limit", "usage"),
    [
        ("input_tokens_per_minute", {"input_tokens": 6_000, "output_tokens": 1}),
        ("input_tokens_per_minute", {"cache_creation_input_tokens": 6_000}),
        ("output_tokens_per_minute", {"output_tokens": 6_000}),
    ],
)
def test_what_was_used_counts(limit: str, usage: dict[str, Any]) -> None:
    async def use() -> None:
        transport = Scripted(message(usage=usage))
        endpoint = Endpoint(limited(**{limit: 6_000}), transport)
        await endpoint.answer(REQUEST)
        await endpoint.answer(REQUEST)
        assert transport.pauses[0] > 50

    run(use())


def test_what_a_cache_serves_does_not_count() -> None:
    async def use() -> None:
        transport = Scripted(message(usage={"cache_read_input_tokens": 10**6}))
        endpoint = Endpoint(limited(input_tokens_per_minute=6_000), transport)
        for _ in range(5):
            await endpoint.answer(REQUEST)
        assert now() == transport.times[0]

    run(use())


def test_an_absurd_count_does_not_stop_everything() -> None:
    async def use() -> None:
        transport = Scripted(message(usage={"input_tokens": 10**40, "output_tokens": 10**40}))
        limits = {"input_tokens_per_minute": 6_000, "output_tokens_per_minute": 6_000}
        endpoint = Endpoint(limited(**limits), transport)
        await endpoint.answer(REQUEST)
        await endpoint.answer(REQUEST)
        assert transport.pauses[0] < 60

    run(use())


def test_what_was_never_sent_is_given_back() -> None:
    async def use() -> None:
        transport = Scripted(message())
        endpoint = Endpoint(limited(requests_per_minute=60), transport)
        await endpoint.answer(REQUEST)
        tasks = [
            asyncio.ensure_future(endpoint.answer(REQUEST, deadline=now() + 0.1)) for _ in range(50)
        ]
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(each, ModelError) for each in found)
        await endpoint.answer(REQUEST)
        assert transport.pauses[0] < 3

    run(use())


# Counting


def test_counting_is_tried_again_too() -> None:
    transport = Scripted(failed(Failure.RATE_LIMIT, retry_after=2.0), {"input_tokens": 7})
    endpoint = Endpoint(MODEL, transport)
    assert run(endpoint.count_tokens(REQUEST)) == 7
    assert 2 <= transport.pauses[0] < 3
    assert endpoint._gate.in_flight == 0
    assert refusal(Endpoint(MODEL, Scripted(failed(Failure.NOT_FOUND))).count_tokens(REQUEST))


# Over real sockets


def over_http(
    *reactions: Reaction, deadline: float | None = None, on_event: OnEvent | None = None
) -> Any:
    async def use() -> Any:
        async with FakeApi(*reactions) as fake:
            model = replace(MODEL, base_url=fake.url, key_env=None)
            api = Api(model)
            try:
                until = now() + deadline if deadline else None
                found = await Endpoint(model, api).answer(
                    REQUEST, deadline=until, on_event=on_event
                )
            finally:
                await api.close()
            return found

    return asyncio.run(use())


def test_an_endpoint_that_pulls_itself_together() -> None:
    busy = {"retry_after_ms": 1}
    found = over_http(
        reply(error("rate_limit_error", "Slow down"), 429, **busy),
        reply(error("overloaded_error", "Overloaded"), 529, **busy),
        reply("<html>", 503, content_type="text/html", **busy),
        reply(message()),
    )
    assert found.attempts == 4


def test_a_stream_that_is_cut_comes_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint_module, "_FIRST_PAUSE", 0.001)
    whole = message(text("x" * 1_000))
    events = list(events_of(whole))
    seen: list[Event] = []
    found = over_http(stream(events[:3], end=False), streamed(whole), on_event=seen.append)
    assert found.raw == whole
    assert seen == [*events[:3], {"type": "restart"}, *events]


def test_a_stream_that_is_cut_twice_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint_module, "_FIRST_PAUSE", 0.001)
    events = list(events_of(message()))[:3]
    with pytest.raises(ModelError) as caught:
        over_http(stream(events, end=False), on_event=lambda event: None)
    assert caught.value.failure is Failure.CUT
    assert caught.value.exit_code == ExitCode.UNMEASURED


def test_what_is_no_endpoint_is_found_out_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint_module, "_FIRST_PAUSE", 0.001)
    with pytest.raises(ModelError) as caught:
        over_http(raw(b"220 mail.example ESMTP\r\n"))
    assert caught.value.failure is Failure.UNREACHABLE
    assert caught.value.exit_code == ExitCode.USAGE


def test_a_deadline_ends_a_silent_connection() -> None:
    with pytest.raises(ModelError) as caught:
        over_http(silent(), deadline=0.03)
    assert caught.value.failure is Failure.DEADLINE


# The watch over what the tests send


@pytest.mark.broken_requests
def test_broken_requests_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = watch(monkeypatch)
    run(Endpoint(MODEL, Scripted(message())).answer(REQUEST))
    assert wrong == []
    run(Endpoint(MODEL, Scripted(message())).answer({**REQUEST, "max_token": 7}))
    assert wrong == ["request.max_token: unknown field"]
