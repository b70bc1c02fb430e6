"""How fast `skilleval lint` is beside its peers, on the public corpus copied four times.

    python benchmarks/lint.py [--rounds 5] [--slow-peers]

Needs ../shared/corpus. The peers are installed from the package index into a folder of their
own, ``.venv-peers``: agnix (Rust, the fastest known) and, with --slow-peers, skillsaw (Python,
the most thorough; one round, since it takes most of a minute).

Targets: faster than agnix; peak memory under 200 MB; one skill, cold, under 0.25 s.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from measure import Command, compare

PROJECT = Path(__file__).resolve().parents[1]
CORPUS = PROJECT.parent / "shared" / "corpus"
SKILLEVAL = Path(sys.executable).parent / "skilleval"
COPIES = 4


def peer(name: str) -> str:
    """The path of a peer's command, installed first if need be."""
    folder = PROJECT / ".venv-peers"
    command = folder / "bin" / name
    if not command.exists():
        venv.create(folder, with_pip=True)
        pip = [str(folder / "bin" / "pip"), "install", "--quiet", name]
        subprocess.run(pip, check=True)
    return str(command)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--slow-peers", action="store_true")
    options = parser.parse_args()
    if not CORPUS.is_dir():
        sys.exit("the corpus of public skills is not here: nothing to measure")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for copy in range(COPIES):
            shutil.copytree(CORPUS, folder / f"copy{copy}", symlinks=True)
        skills = sum("SKILL.md" in files for _, _, files in os.walk(folder))
        print(f"{skills:,} SKILL.md, every rule, JSON out, {os.cpu_count()} cores")
        ours = Command("skilleval", [str(SKILLEVAL), "lint", "--format", "json", "."], folder)
        agnix = Command("agnix", [peer("agnix"), "--format", "json", "."], folder)
        compare([ours, agnix], options.rounds)
        if options.slow_peers:
            words = [peer("skillsaw"), "lint", "--format", "json", "--no-progress", "."]
            compare(
                [Command("skilleval", ours.words, folder), Command("skillsaw", words, folder)], 1
            )
    one = PROJECT / "skills" / "csv-tidy"
    print("\none skill, cold")
    compare(
        [
            Command("python -c pass", [sys.executable, "-c", "pass"]),
            Command("skilleval lint csv-tidy", [str(SKILLEVAL), "lint", str(one)]),
        ],
        options.rounds,
    )


if __name__ == "__main__":
    main()
