"""How long `skilleval prompt` takes over the public corpus copied four times.

    python benchmarks/prompt.py [--rounds 5]

Needs ../shared/corpus. Targets: under a second, peak memory under 200 MB.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

from measure import Command, compare

CORPUS = Path(__file__).resolve().parents[2] / "shared" / "corpus"
COPIES = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if not CORPUS.is_dir():
        sys.exit("the corpus of public skills is not here: nothing to measure")
    skilleval = str(Path(sys.executable).parent / "skilleval")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for copy in range(COPIES):
            shutil.copytree(CORPUS, folder / f"copy{copy}", symlinks=True)
        skills = sum("SKILL.md" in files for _, _, files in os.walk(folder))
        print(f"{skills:,} SKILL.md, {os.cpu_count()} cores")
        listing = [skilleval, "prompt", "."]
        compare(
            [
                Command("skilleval prompt", listing, folder),
                Command("skilleval prompt --full", [*listing, "--full"], folder),
            ],
            options.rounds,
        )


if __name__ == "__main__":
    main()
