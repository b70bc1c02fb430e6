"""A running ``skilleval serve``, for tests that talk to it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path


class Served:
    """A running ``skilleval serve``."""

    def __init__(self, *words: str, cwd: Path | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "skilleval", "serve", *words],
            cwd=cwd,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        assert self.url, self.process.communicate()[1]
        self.host, _, port = self.url.removeprefix("http://").rpartition(":")
        self.port = int(port)

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        """End it; its exit code, and what it wrote after the first line."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out, err
