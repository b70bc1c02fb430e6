"""The simulated prompt cache."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from models.offline.kit import assistant, call, request, result, user
from models.offline.kit import text as block

from skilleval.models.offline.cache import CacheUse, PromptCache, minimum
from skilleval.models.offline.tokens import estimate, pieces_of

SONNET = "claude-sonnet-5-5"
LONG = "x" * 4_096  # 1,024 tokens, just enough


class Clock:
    """Seconds that pass when told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def marked(words: str, **more: str) -> dict[str, Any]:
    return block(words) | {"cache_control": {"type": "ephemeral", **more}}


def use(cache: PromptCache, *blocks: dict[str, Any], model: str = SONNET) -> CacheUse:
    body = request(user(*blocks))
    used = cache.use(model, pieces_of(body))
    assert sum(used) == estimate(body)
    return used


def test_without_marks_nothing_is_cached() -> None:
    assert use(PromptCache(), block(LONG)) == (1024, 0, 0)


def test_written_then_read() -> None:
    cache = PromptCache()
    assert use(cache, marked(LONG), block("tail")) == (1, 0, 1024)
    assert use(cache, marked(LONG), block("else")) == (1, 1024, 0)
    assert use(cache, marked(LONG + "y"), block("else")) == (1, 0, 1025)


def test_a_growing_conversation_reads_what_it_wrote() -> None:
    cache = PromptCache()
    assert use(cache, block(LONG), marked("one.")) == (0, 0, 1025)
    assert use(cache, block(LONG), block("one."), marked("two.")) == (0, 1025, 1)
    assert use(cache, block(LONG), block("one."), block("two."), block("end.")) == (1027, 0, 0)


def test_too_short_to_cache() -> None:
    cache = PromptCache()
    assert use(cache, marked(LONG[:-4])) == (1023, 0, 0)
    assert use(cache, marked(LONG[:-4])) == (1023, 0, 0)


@pytest.mark.parametrize(
    ("model", "size"),
    [
        ("claude-opus-5", 512),
        ("claude-opus-5-5", 512),
        ("claude-fable-5-2", 512),
        ("claude-sonnet-5-5", 1024),
        ("claude-sonnet-4-5", 1024),
        ("claude-opus-4-8", 1024),
        ("claude-opus-4-7", 2048),
        ("claude-opus-4-6", 4096),
        ("claude-haiku-4-5-20251001", 4096),
        ("claude-3-5-haiku-20241022", 2048),
        ("anything", 1024),
    ],
)
def test_minima(model: str, size: int) -> None:
    assert minimum(model) == size


def test_models_do_not_share() -> None:
    cache = PromptCache()
    use(cache, marked(LONG))
    assert use(cache, marked(LONG), model="claude-sonnet-5").read == 0


@pytest.mark.parametrize(("ttl", "life"), [({}, 300), ({"ttl": "5m"}, 300), ({"ttl": "1h"}, 3600)])
def test_entries_live_from_their_last_use(ttl: dict[str, str], life: float) -> None:
    clock = Clock()
    cache = PromptCache(clock)
    use(cache, marked(LONG, **ttl))
    for _ in range(3):
        clock.now += life - 1
        assert use(cache, marked(LONG, **ttl)).read == 1024
    clock.now += life
    assert use(cache, marked(LONG, **ttl)) == (0, 0, 1024)


@pytest.mark.parametrize(("added", "read"), [(19, 1024), (20, 0)])
def test_a_breakpoint_looks_at_twenty_positions(added: int, read: int) -> None:
    cache = PromptCache()
    use(cache, marked(LONG))
    more = [block("more") for _ in range(added - 1)]
    assert use(cache, block(LONG), *more, marked("last")).read == read


def test_a_second_breakpoint_looks_further() -> None:
    cache = PromptCache()
    use(cache, marked(LONG))
    more = [block("more") for _ in range(40)]
    assert use(cache, marked(LONG), *more, marked("last")) == (0, 1024, 41)


def test_parallel_calls_are_one_position() -> None:
    cache = PromptCache()
    cache.use(SONNET, pieces_of(request(user(marked(LONG)))))
    calls = [call("Bash", f"t{i}", command="x") for i in range(30)]
    results = [result("out.", f"t{i}") for i in range(30)]
    results[-1] |= {"cache_control": {"type": "ephemeral"}}
    used = cache.use(SONNET, pieces_of(request(LONG, assistant(*calls), user(*results))))
    assert used.read == 1024


def test_the_oldest_entries_go() -> None:
    cache = PromptCache(capacity=3)
    for number in range(5):
        use(cache, marked(f"{number}{LONG}"))
    assert use(cache, marked(f"0{LONG}")).read == 0
    assert use(cache, marked(f"4{LONG}")).read > 0


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6000), st.booleans()), max_size=8))
def test_numbers_add_up(parts: list[tuple[int, int, bool]]) -> None:
    cache = PromptCache()
    for end in range(len(parts) + 1):
        blocks = [
            marked(str(key) * size) if mark else block(str(key) * size)
            for key, size, mark in parts[:end]
        ]
        used = use(cache, *blocks)
        assert min(used) >= 0
