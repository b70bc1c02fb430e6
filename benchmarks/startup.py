"""How long `skilleval --version` takes beside `python -c "import click"`.

    python benchmarks/startup.py [--rounds 21]

Target: at most 1.5 times as long.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from measure import Command, compare


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=21)
    options = parser.parse_args()
    skilleval = str(Path(sys.executable).parent / "skilleval")
    compare(
        [
            Command('python -c "import click"', [sys.executable, "-c", "import click"]),
            Command("skilleval --version", [skilleval, "--version"]),
            Command("skilleval --help", [skilleval, "--help"]),
        ],
        options.rounds,
    )


if __name__ == "__main__":
    main()
