"""Reading a long trace: memory and speed, of the reader alone and of `skilleval audit`.

    python benchmarks/trace.py [--mb 1000] [--rounds 1]

A trace of that size is written into a temporary folder, with results of a few kilobytes and a
decision for each call, as sessions have them.

Target: under 100 MB of memory for a trace of 1 GB.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator

from measure import Command

from skilleval.trace.events import EventType
from skilleval.trace.writer import TraceWriter

TARGET = 100.0
"""Megabytes."""
READ = (
    "import sys; from collections import Counter; from skilleval.trace.reader import read_events\n"
    "print(Counter(event['type'] for event in read_events(sys.argv[1])))"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mb", type=int, default=1000, help="size of the trace")
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    skilleval = [sys.executable, "-m", "skilleval"]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.jsonl")
        events = write(path, options.mb * 1_000_000)
        megabytes = os.path.getsize(path) / 1e6
        print(f"{events:,} events, {megabytes:,.0f} MB")
        commands = [
            Command("nothing (start-up)", [*skilleval, "--version"]),
            Command("read_events", [sys.executable, "-c", READ, path]),
            Command("skilleval audit", [*skilleval, "audit", path]),
            Command("skilleval audit, as JSON", [*skilleval, "audit", "--format", "json", path]),
        ]
        print(f"{'':<28}{'wall s':>9}{'MB/s':>7}{'CPU s':>9}{'memory MB':>11}")
        for command in commands:
            for _ in range(options.rounds):
                command.run()
            wall, cpu = statistics.median(command.wall), statistics.median(command.cpu)
            speed = "" if command is commands[0] else f"{megabytes / wall:.0f}"
            print(
                f"{command.name:<28}{wall:>9.2f}{speed:>7}{cpu:>9.2f}{max(command.memory):>11.0f}"
            )
    peak = max(max(command.memory) for command in commands)
    print(f"target {TARGET:.0f} MB: {'met' if peak < TARGET else 'MISSED'}")


def write(path: str, size: int) -> int:
    """Write a trace of about so many bytes: real events from the writer, over and over."""
    with TraceWriter(path, "benchmark", clock=lambda: 0.0) as trace:
        trace.write(EventType.START, version=1, driver="native", model="none")
        start = os.path.getsize(path)
        for type, fields in turn():
            trace.write(type, **fields)
        one = os.path.getsize(path) - start
    with open(path, "rb") as file:
        file.seek(start)
        lines = file.read()
    times = size // one - 1
    with open(path, "ab") as file:
        for _ in range(times):
            file.write(lines)
    return 1 + (1 + times) * lines.count(b"\n")


def turn() -> Iterator[tuple[EventType, dict[str, object]]]:
    """The events of a few turns of a session: a long result among short ones."""
    for number in range(50):
        identity = f"toolu_{number}"
        call = {"tool": "Bash", "input": {"command": f"cat part-{number}.txt | wc -l"}}
        yield EventType.REQUEST, {"messages": 2 * number, "tokens": 1000 * number}
        content = [{"type": "tool_use", "id": identity, "name": "Bash", "input": call["input"]}]
        yield EventType.REPLY, {"content": content, "outcome": "tool use", "cost": 0.01}
        yield EventType.TOOL, {"tool_use": identity, "name": "Bash", "input": call["input"]}
        yield (
            EventType.PERMISSION,
            {
                "tool_use": identity,
                "call": call,
                "allowed": True,
                "step": "allow rule",
                "decided_by": "Bash(cat:*)",
                "reason": "every part of it is covered by a rule",
                "capabilities": [{"kind": "execute", "target": "/usr/bin/cat"}],
                "covered": True,
            },
        )
        text = "a line of output\n" * (15_000 if number == 25 else 200)
        yield EventType.RESULT, {"tool_use": identity, "name": "Bash", "content": text}


if __name__ == "__main__":
    main()
