"""What asking a model costs beside the bare SDK loop, on the same fake server.

    python benchmarks/models.py [--rounds 5] [--requests 1000]

Both are whole processes, start-up included. The bare loop is ../shared/bench/floor.py.
Targets: CPU time at most 1.15 x, wall time at most 1.05 x that of the bare loop.
"""

from __future__ import annotations

import argparse
import asyncio
import sys

from fake_server import SHARED, fake_server
from measure import Command, compare

from skilleval.models.opening import Models
from skilleval.models.settings import ModelSettings

MODEL = "claude-sonnet-4-5-20250929"


async def ask(requests: int, at_once: int, base_url: str) -> None:
    """The loop of floor.py, through our client."""
    room = asyncio.Semaphore(at_once)
    async with Models({"fake": ModelSettings(id=MODEL, base_url=base_url)}) as models:
        model = await models.open("fake")

        async def one(number: int) -> str:
            question = {"role": "user", "content": f"Sample {number}: what is 40+2?"}
            async with room:
                reply = await model.answer(
                    {"model": MODEL, "max_tokens": 1024, "messages": [question]}
                )
            return reply.text

        answers = await asyncio.gather(*(one(number) for number in range(requests)))
    if not all(answer.startswith("The answer is 42") for answer in answers):
        sys.exit("a wrong answer")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=1_000)
    parser.add_argument("--ask", nargs=2, metavar=("AT_ONCE", "BASE_URL"), help="one measured run")
    options = parser.parse_args()
    if options.ask:
        asyncio.run(ask(options.requests, int(options.ask[0]), options.ask[1]))
        return
    with fake_server() as address:
        for latency, at_once in ((50, 50), (50, 100), (500, 100)):
            base = f"{address}/c-l={latency}"
            count, places = str(options.requests), str(at_once)
            bare = [sys.executable, str(SHARED / "floor.py"), "sdk", count, places, base, "1"]
            ours = [sys.executable, __file__, "--requests", count, "--ask", places, base]
            print(f"\n{count} requests, {at_once} in flight, {latency} ms each")
            compare([Command("bare SDK loop", bare), Command("skilleval", ours)], options.rounds)


if __name__ == "__main__":
    main()
