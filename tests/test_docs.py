"""The documentation is true: generated pages are fresh, and every command in the README runs."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from conftest import PROJECT

MAKE = {"make demo", "make test", "make check", "make docs"}
"""Run by CI itself; here only their presence in the Makefile is checked."""
INSTALLS = {"pip install ."}


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", PROJECT / "docs" / "generate.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PAGES = ["rules.md", "commands.md", "hooks.md", "harness.md", "records.md"]


@pytest.mark.parametrize("name", PAGES)
def test_generated_page_is_fresh(name: str) -> None:
    pages = {path.name: text for path, text in generator().pages().items()}
    written = (PROJECT / "docs" / name).read_text(encoding="utf-8")
    assert written == pages[name], "stale: run `make docs`"


def readme_commands() -> list[str]:
    text = (PROJECT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the README's commands touch, as a repository with a second commit."""
    folder = tmp_path_factory.mktemp("readme")
    for name in ("skills", "evals"):
        shutil.copytree(PROJECT / name, folder / name)
    (folder / "people.csv").write_text("name; Age \n a ;1\n a ;1\n")
    identity = {f"GIT_{who}_{what}": "readme@example.invalid"
                for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}  # fmt: skip
    environment = os.environ | identity | {"HOME": str(folder)}
    for words in (
        ["git", "init", "--quiet"],
        ["git", "add", "."],
        ["git", "commit", "--quiet", "--message", "one"],
        ["git", "commit", "--quiet", "--message", "two", "--allow-empty"],
    ):
        subprocess.run(words, cwd=folder, env=environment, check=True)
    return folder


def test_readme_commands_run_in_order(checkout: Path) -> None:
    lines = readme_commands()
    assert len(lines) > 20
    for line in lines:
        if line in MAKE:
            target = line.split()[1]
            assert re.search(rf"^{target}:", (PROJECT / "Makefile").read_text(), re.MULTILINE)
            continue
        if line in INSTALLS:
            assert (PROJECT / "pyproject.toml").is_file()
            continue
        words = shlex.split(line)
        assert words[0] == "skilleval", f"the README names {line}, which this test does not know"
        done = subprocess.run(
            [sys.executable, "-m", *words], cwd=checkout, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr, line
