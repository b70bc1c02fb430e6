"""Shared by the tests beside other tools: a clean environment, an index, the real client."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from conftest import PROJECT
from integration.kit import CLIENT, Api, FakeApi

# What a shell, a git hook, or a CI job around these tests would pass on.
_OUTER = ("GIT_", "GITHUB_", "INPUT_", "PRE_COMMIT", "PYTHON", "RUNNER_", "VIRTUAL_ENV", "XDG_")

Completed = subprocess.CompletedProcess[str]


def start(
    words: Sequence[str | Path], folder: Path, env: Mapping[str, str], timeout: float = 60.0
) -> Completed:
    """Run a command to its end, whatever its exit code."""
    return subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        env=dict(env),
        capture_output=True,
        encoding="utf-8",
        timeout=timeout,
        check=False,
    )


@pytest.fixture(scope="session")
def pip_cache() -> str:
    """Where pip keeps downloads, so that a home folder of a test needs none anew."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "cache", "dir"],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    return done.stdout.strip()


@pytest.fixture
def env(tmp_path: Path, pip_cache: str) -> dict[str, str]:
    """The environment of a fresh user: an empty home folder, a git identity, the same PATH."""
    home = tmp_path / "home"
    home.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OUTER)}
    return kept | {
        "HOME": str(home),
        "PIP_CACHE_DIR": pip_cache,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "A Tester",
        "GIT_AUTHOR_EMAIL": "tester@example.com",
        "GIT_COMMITTER_NAME": "A Tester",
        "GIT_COMMITTER_EMAIL": "tester@example.com",
    }


@pytest.fixture
def index(env: dict[str, str], tmp_path: Path) -> None:
    """Skip where pip can't fetch what a build of this project needs."""
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    needs = settings["build-system"]["requires"]
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--retries", "0"]
    done = start([*pip, "--timeout", "10", "--dest", tmp_path / "probe", *needs], tmp_path, env)
    if done.returncode:
        pytest.skip(f"the package index can't be reached: pip download {' '.join(needs)} failed")


@pytest.fixture(scope="session")
def client(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of the real Claude Code client, installed from npm."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not here to install the client")
    folder = tmp_path_factory.mktemp("client")
    words = [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder)]
    done = subprocess.run(
        [*words, f"@anthropic-ai/claude-code@{CLIENT}"], capture_output=True, text=True
    )
    command = folder / "node_modules" / ".bin" / "claude"
    if done.returncode or not command.exists():
        pytest.skip(f"the client could not be installed: {done.stderr.strip()[-200:]}")
    return str(command)


@pytest.fixture
def api() -> Iterator[Api]:
    """A fake Messages API that listens on loopback."""
    api = Api()
    handler = type("Handler", (FakeApi,), {"api": api})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    api.address = f"http://127.0.0.1:{server.server_address[1]}"
    yield api
    server.shutdown()
    server.server_close()
    thread.join()
