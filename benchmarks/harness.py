"""What the harness costs beside a bare SDK loop that makes the same calls and tool runs.

    python benchmarks/harness.py [--rounds 5] [--trials 400]

A conversation of three answers with two tool runs, 200 at once, 50 ms an answer; a tool run is
``echo`` in a shell. All are whole processes, start-up included. The bare loop sends the same
requests, system prompt and tools included, but has no guardrail: no checks, permissions,
budgets, or trace. It runs its tools as they are, and once more through bubblewrap, with the
command line that the harness has, so that what bubblewrap costs can be told apart: target is
CPU time at most 1.3 x that of the bare loop that runs its tools in the same way.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from fake_server import fake_server
from measure import Command, compare

MODEL = "claude-sonnet-4-5-20250929"
AT_ONCE = 200
ADD: dict[str, Any] = {
    "name": "add",
    "description": "Add two numbers.",
    "input_schema": {
        "type": "object",
        "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}},
        "required": ["x", "y"],
    },
}


def question(number: int) -> str:
    return f"Sample {number}: what is 40+2?"


async def in_shell(line: str) -> str:
    """What a line prints."""
    process = await asyncio.create_subprocess_exec("sh", "-c", line, stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    return out.decode()


def in_bubblewrap(folder: str) -> Callable[[str], Awaitable[str]]:
    """The same through bubblewrap, started as the harness starts it, and not watched."""
    from skilleval.harness.sandbox import Mount, Policy
    from skilleval.harness.sandbox.bubblewrap import READY, Bubblewrap
    from skilleval.harness.sandbox.confined import Order

    sandbox = Bubblewrap(Policy((Mount(folder, "/workspace", writable=True),)))
    pipe = asyncio.subprocess.PIPE

    async def run(line: str) -> str:
        start = sandbox.prepare(Order(["sh", "-c", line], "/workspace", sandbox.environment))
        try:
            process = await asyncio.create_subprocess_exec(
                *start.words, stdin=pipe, stdout=pipe, pass_fds=start.inherit, env={}, cwd="/"
            )
        finally:
            for handle in (*start.own, start.notes):
                os.close(handle)
        out, _ = await process.communicate(b"\n")
        return out.removeprefix(READY).decode()

    return run


async def bare(trials: int, base_url: str, run: Callable[[str], Awaitable[str]]) -> None:
    """The loop without anything around it."""
    from anthropic import AsyncAnthropic

    from skilleval.harness.tools.registry import standard_tools
    from skilleval.prompt.system import build_prompt

    definitions = [*(tool.definition for tool in standard_tools(skills=False)), ADD]
    system: Any = build_prompt(None, tools=definitions).system
    tools: Any = definitions
    room = asyncio.Semaphore(AT_ONCE)

    async def tool(x: int, y: int) -> str:
        return await run(f"echo $(({x}+{y}))")

    async with AsyncAnthropic(api_key="k", base_url=base_url) as client:

        async def one(number: int) -> str:
            messages: list[Any] = [{"role": "user", "content": question(number)}]
            async with room:
                while True:
                    reply = await client.messages.create(
                        model=MODEL,
                        max_tokens=1024,
                        messages=messages,
                        tools=tools,
                        system=system,
                    )
                    content = [block.model_dump(exclude_none=True) for block in reply.content]
                    calls = [block for block in content if block["type"] == "tool_use"]
                    if not calls:
                        return str(content[0]["text"])
                    results = [
                        {
                            "type": "tool_result",
                            "tool_use_id": call["id"],
                            "content": await tool(**call["input"]),
                        }
                        for call in calls
                    ]
                    messages.append({"role": "assistant", "content": content})
                    messages.append({"role": "user", "content": results})

        check(await asyncio.gather(*(one(number) for number in range(trials))))


async def harness(trials: int, base_url: str, sandbox: str) -> None:
    """The same work through the harness, with all that is around it."""
    from skilleval.harness import opening
    from skilleval.harness.loop import State, work
    from skilleval.harness.opening import Setup, open_session
    from skilleval.harness.permissions import Mode
    from skilleval.harness.session import SessionLimits
    from skilleval.harness.tools.base import Tool, ToolContext, ToolResult
    from skilleval.harness.tools.registry import standard_tools
    from skilleval.models.opening import Models
    from skilleval.models.settings import ModelSettings

    class Add(Tool):
        name = "add"
        definition = ADD

        async def call(self, input: Mapping[str, Any], context: ToolContext) -> ToolResult:
            words = ["sh", "-c", f"echo $(({input['x']}+{input['y']}))"]
            done = await context.sandbox.run(words, cwd=context.cwd, timeout=60)
            return ToolResult(done.output.decode())

    vars(opening)["standard_tools"] = lambda *a, **k: [*standard_tools(*a, **k), Add()]
    room = asyncio.Semaphore(AT_ONCE)
    with tempfile.TemporaryDirectory() as scratch:
        async with Models(
            {"fake": ModelSettings(id=MODEL, base_url=base_url, concurrency=AT_ONCE)}
        ) as models:

            async def one(number: int) -> str:
                folder = f"{scratch}/{number}"
                os.mkdir(folder)
                setup = Setup(
                    "fake",
                    folder,
                    mode=Mode.BYPASS,
                    sandbox=sandbox,
                    limits=SessionLimits(output_tokens=1024),
                )
                async with (
                    room,
                    open_session(setup, models, f"{folder}.jsonl") as session,
                ):
                    last = State()
                    async for item in work(session, question(number)):
                        if isinstance(item, State):
                            last = item
                return last.ended.text if last.ended else ""

            check(await asyncio.gather(*(one(number) for number in range(trials))))


def check(answers: list[str]) -> None:
    if not all(answer.startswith("The answer is 42") for answer in answers):
        sys.exit(f"a wrong answer: {answers[0]!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument("--run", nargs=2, metavar=("KIND", "BASE_URL"), help="one measured run")
    options = parser.parse_args()
    if options.run:
        kind, base_url = options.run
        run(kind, base_url, options.trials)
        return
    with fake_server() as address:
        base = f"{address}/c-l=50,turns=3,tool=add"
        words = [sys.executable, __file__, "--trials", str(options.trials), "--run"]
        print(f"{options.trials} trials, {AT_ONCE} at once, three answers, two tool runs each")
        commands = [
            Command("bare SDK loop", [*words, "bare", base]),
            Command("harness, no sandbox", [*words, "none", base]),
            Command("bare loop in bubblewrap", [*words, "bare-bubblewrap", base]),
            Command("harness, bubblewrap", [*words, "bubblewrap", base]),
        ]
        compare(commands, options.rounds)
        loop, _, confined, full = commands
        print(
            f"bubblewrap's share: {median_ratio(confined.cpu, loop.cpu) - 1:.2f} x the CPU time "
            f"of the bare loop; harness to bare loop, both in bubblewrap: CPU "
            f"{median_ratio(full.cpu, confined.cpu):.2f} x, "
            f"wall {median_ratio(full.wall, confined.wall):.2f} x"
        )


def run(kind: str, base_url: str, trials: int) -> None:
    """One measured run."""
    if kind == "bare":
        asyncio.run(bare(trials, base_url, in_shell))
    elif kind == "bare-bubblewrap":
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(bare(trials, base_url, in_bubblewrap(folder)))
    else:
        asyncio.run(harness(trials, base_url, kind))


def median_ratio(ours: list[float], theirs: list[float]) -> float:
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))


if __name__ == "__main__":
    main()
