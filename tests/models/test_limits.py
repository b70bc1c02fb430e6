"""The gate and the allowances: never too much, and nothing lost."""

from __future__ import annotations

import asyncio
import random
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skilleval.models.limits import Gate, Rate

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def turns(times: int = 4) -> None:
    """Let whoever is ready go on."""
    for _ in range(times):
        await asyncio.sleep(0)


class Visitors:
    """Tasks that pass a gate, one by one, and stay until they are let out or cancelled."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        self.inside: dict[asyncio.Task[None], asyncio.Event] = {}
        self.tasks: list[asyncio.Task[None]] = []

    def come(self) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(self._pass())
        self.tasks.append(task)
        return task

    async def _pass(self) -> None:
        me = asyncio.current_task()
        assert me
        async with self.gate:
            self.inside[me] = asyncio.Event()
            try:
                assert len(self.inside) == self.gate.in_flight
                await self.inside[me].wait()
            finally:
                del self.inside[me]

    async def let_out(self) -> None:
        for event in self.inside.values():
            event.set()
        await turns()


async def nothing_is_lost(visitors: Visitors) -> None:
    """When all have gone the gate is empty, and as many get in as at the start."""
    gate = visitors.gate
    for task in visitors.tasks:
        task.cancel()
    await asyncio.gather(*visitors.tasks, return_exceptions=True)
    assert gate.in_flight == 0
    gate.limit = float(gate.most)
    again = Visitors(gate)
    for _ in range(gate.most + 1):
        again.come()
    await turns()
    assert len(again.inside) == gate.most
    await again.let_out()
    assert len(again.inside) == 1
    await again.let_out()
    assert gate.in_flight == 0


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["come", "cancel", "leave", "refuse", "well", "step"]), st.integers(0, 99)
    ),
    max_size=60,
)


@patient
@given(st.integers(1, 5), STEPS)
def test_the_gate_never_lets_too_many_in_and_loses_no_place(
    most: int, steps: list[tuple[str, int]]
) -> None:
    async def run() -> None:
        clock = Clock()
        visitors = Visitors(gate := Gate(most, clock))
        for what, which in steps:
            clock.now += 1
            alive = [task for task in visitors.tasks if not task.done()]
            if what == "come":
                visitors.come()
            elif what == "cancel" and alive:
                alive[which % len(alive)].cancel()
            elif what == "leave" and visitors.inside:
                list(visitors.inside.values())[which % len(visitors.inside)].set()
            elif what == "refuse":
                gate.refused(clock.now - which % 3)
            elif what == "well":
                gate.went_well()
            else:
                await turns(which % 3)
            assert 1 <= gate.limit <= most
            assert gate.in_flight <= most
        await turns()
        waiting = [t for t in visitors.tasks if not t.done() and t not in visitors.inside]
        assert not waiting or gate.in_flight >= int(gate.limit)
        await nothing_is_lost(visitors)

    asyncio.run(run())


@pytest.mark.parametrize("delay", range(6))
def test_whoever_is_cancelled_while_being_let_in_passes_the_place_on(delay: int) -> None:
    async def run() -> None:
        visitors = Visitors(Gate(1))
        first, second, third = (visitors.come() for _ in range(3))
        await turns()
        assert list(visitors.inside) == [first]
        visitors.inside[first].set()
        await turns(delay)
        second.cancel()
        await turns()
        assert list(visitors.inside) == [third]
        await nothing_is_lost(visitors)

    asyncio.run(run())


def test_those_who_wait_come_in_order() -> None:
    async def run() -> None:
        order: list[int] = []
        gate = Gate(2)

        async def one(number: int) -> None:
            async with gate:
                order.append(number)
                await asyncio.sleep(0)

        await asyncio.gather(*(one(number) for number in range(20)))
        assert order == list(range(20))

    asyncio.run(run())


def test_an_error_inside_gives_the_place_back() -> None:
    async def run() -> None:
        gate = Gate(1)
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                async with gate:
                    raise ZeroDivisionError
        assert gate.in_flight == 0

    asyncio.run(run())


def test_a_refusal_cuts_once_for_all_that_were_under_way() -> None:
    clock = Clock()
    gate = Gate(100, clock)
    gate.in_flight = 100
    clock.now = 10
    for began in range(10):
        gate.refused(began)
    assert gate.limit == pytest.approx(70)
    gate.in_flight = 70
    gate.refused(10)
    assert gate.limit == pytest.approx(49)


def test_the_gate_grows_again_by_one_each_round() -> None:
    gate = Gate(10)
    gate.in_flight = 10
    gate.refused(0)
    for expected in (8, 9, 10, 10):
        for _ in range(int(gate.limit) + 1):
            gate.went_well()
        assert int(gate.limit) == expected
    assert gate.limit == 10


def test_a_gate_never_closes() -> None:
    clock = Clock()
    gate = Gate(5, clock)
    for _ in range(50):
        clock.now += 1
        gate.refused(clock.now)
    assert gate.limit == 1


@patient
@given(
    st.integers(1, 500),
    st.lists(st.floats(0, 30, allow_nan=False), min_size=1, max_size=120),
)
def test_no_minute_sees_more_requests_than_allowed(per_minute: int, pauses: list[float]) -> None:
    clock = Clock()
    rate = Rate(per_minute, clock)
    sent: list[float] = []
    for pause in pauses:
        clock.now += pause
        sent.append(clock.now + rate.take(1))
    assert all(later >= earlier - 1e-6 for earlier, later in pairwise(sent))
    for start in sent:
        assert sum(start <= at < start + 60 - 1e-6 for at in sent) <= per_minute


@patient
@given(
    st.integers(60, 100_000),
    st.lists(st.tuples(st.floats(0, 30), st.integers(0, 20_000)), min_size=1, max_size=60),
)
def test_no_minute_sees_more_tokens_but_for_the_last_request(
    per_minute: int, requests: list[tuple[float, int]]
) -> None:
    clock = Clock()
    rate = Rate(per_minute, clock)
    sent: list[tuple[float, int]] = []
    for pause, amount in requests:
        clock.now += pause
        sent.append((clock.now + rate.take(amount), amount))
    for start, _ in sent:
        window = [amount for at, amount in sent if start <= at < start + 60 - 1e-6]
        assert sum(window[:-1]) <= per_minute + 1e-6


def test_a_steady_stream_gets_what_is_allowed() -> None:
    clock = Clock()
    rate = Rate(600, clock)
    for _ in range(6_000):
        clock.now += rate.take(1)
    assert clock.now == pytest.approx(600, rel=0.03)


def test_what_was_not_used_is_given_back() -> None:
    clock = Clock()
    rate = Rate(6_000, clock)
    assert rate.take(100) == 0
    assert rate.take(100) > 0
    rate.settle(-200)
    assert rate.take(100) == 0
    rate.settle(-(10**9))  # never more than a second's worth
    assert rate.take(100) == 0
    assert rate.take(100) > 0


def test_what_was_used_beyond_is_made_up_for() -> None:
    clock = Clock()
    rate = Rate(6_000, clock)
    assert rate.take(1) == 0
    rate.settle(6_000)
    assert rate.take(1) == pytest.approx(60, rel=0.05)


def test_the_order_of_cancellations_does_not_matter() -> None:
    async def run(seed: int) -> None:
        dice = random.Random(seed)
        visitors = Visitors(Gate(3))
        for _ in range(200):
            visitors.come()
            if dice.random() < 0.6:
                dice.choice(visitors.tasks).cancel()
            if dice.random() < 0.3 and visitors.inside:
                dice.choice(list(visitors.inside.values())).set()
            if dice.random() < 0.5:
                await asyncio.sleep(0)
            assert visitors.gate.in_flight <= 3
        await nothing_is_lost(visitors)

    for seed in range(10):
        asyncio.run(run(seed))
