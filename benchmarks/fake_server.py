"""The fake Messages API that benchmarks run against: a native one, so that it costs little."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

SHARED = Path(__file__).resolve().parents[2] / "shared" / "bench"


@contextlib.contextmanager
def fake_server() -> Iterator[str]:
    """The address of a running fake API; its behaviour is in the path below it."""
    rustc = shutil.which("rustc")
    if rustc is None or not SHARED.is_dir():
        sys.exit("this benchmark needs ../shared/bench and rustc: nothing to measure")
    with tempfile.TemporaryDirectory() as scratch:
        command = str(Path(scratch) / "fakeapi")
        subprocess.run([rustc, "-O", "-o", command, str(SHARED / "fakeapi.rs")], check=True)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        address = f"http://127.0.0.1:{port}"
        with subprocess.Popen([command, str(port)]) as process:
            try:
                _wait_for(address)
                yield address
            finally:
                process.kill()


def _wait_for(address: str) -> None:
    for _ in range(200):
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{address}/reset"):
            return
        time.sleep(0.02)
    sys.exit("the fake API did not start")
