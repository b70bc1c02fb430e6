"""A denied program is denied however it is spelt, wrapped, linked or copied."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from harness.permissions.kit import bash, make_tools

from skilleval.harness.permissions import Mode, PermissionPolicy, Rules

PROGRAMS = (
    "awk base64 bash cat cp echo env find git head id ln ls nice nohup printf rev setsid sh sleep "
    "sort stdbuf tar timeout touch true which xargs"
)
LINES = (Path(__file__).parent / "spellings.txt").read_text(encoding="utf-8").splitlines()
SPELLINGS = [line for line in LINES if not line.startswith("#")]
RULES = Rules.parse(["Bash(forbidden:*)"], [], ["Bash"])


class Machine:
    """A machine with one program that is denied, and notes when it runs."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.bin = make_tools(root / "bin", PROGRAMS)
        self.hit = root / "hit"
        self.program = Path(self.bin) / "forbidden"
        self.program.write_text(f'#!{self.bin}/sh\n: > "{self.hit}"\n')
        self.program.chmod(0o755)

    def workspace(self) -> Path:
        """A new workspace, with the program under other names."""
        folder = self.root / "ws"
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "sub").mkdir(parents=True)
        (folder / "a.txt").write_text("k\n")
        shutil.copy(self.program, folder / "sub" / "harmless")
        (folder / "sub" / "link").symlink_to(self.program)
        return folder

    def policy(self, folder: Path, rules: Rules = RULES) -> PermissionPolicy:
        return PermissionPolicy(Mode.BYPASS, rules, str(folder), path=self.bin, home=str(folder))

    def runs(self, command: str, folder: Path) -> bool:
        """Whether the program is run in the end."""
        self.hit.unlink(missing_ok=True)
        environment = {"PATH": self.bin, "HOME": str(folder)}
        words = [f"{self.bin}/bash", "-c", command]
        try:
            subprocess.run(
                words,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=20,
            )
        except subprocess.TimeoutExpired:
            pass
        return self.hit.exists()


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return Machine(tmp_path_factory.mktemp("machine"))


def command_of(line: str, machine: Machine) -> str:
    return line[2:].replace("␤", "\n").replace("@bin", machine.bin)


def test_there_are_enough() -> None:
    assert len(SPELLINGS) >= 60


@pytest.mark.parametrize("line", SPELLINGS)
def test_denied(line: str, machine: Machine) -> None:
    folder = machine.workspace()
    decision = bash(command_of(line, machine), machine.policy(folder))
    assert (decision.allowed, decision.step) == (False, "deny rule"), decision


def test_they_are_no_straw_men(machine: Machine) -> None:
    """Those that are marked do run the program, so that denying them means something."""
    if any(not os.path.exists(f"{machine.bin}/{name}") for name in PROGRAMS.split()):
        pytest.skip("some usual program is not here")
    marked = [line for line in SPELLINGS if line.startswith("* ")]
    idle = [x for x in marked if not machine.runs(command_of(x, machine), machine.workspace())]
    assert not idle
    assert len(marked) >= 60


def test_a_copy_is_only_what_it_is(machine: Machine) -> None:
    folder = machine.workspace()
    (folder / "sub" / "harmless").write_text("#!/bin/sh\n")
    assert bash("sub/harmless x", machine.policy(folder)).allowed


HARMLESS = [
    "echo forbidden",
    "ls -la",
    "grep -r forbidden .",
    "cat a.txt | wc -l",
    'for f in *.txt; do cat "$f"; done',
    'git commit -m "forbidden fruit"',
    "npm run forbidden",
    "sed -i s/forbidden/x/ a.txt",
    "cd sub && ls",
    "python3 x.py",
    'X=$(ls); echo "$X"',
    "git commit -m \"$(cat <<'EOF'\nno forbidden thing\nEOF\n)\"",
    "[ -f x ] && echo y",
    'while read l; do echo "$l"; done < a.txt',
    "env FOO=1 ls",
    "gcc a.c -o a && ./a",
    "ls | xargs -n1 echo",
    "python3 - <<EOF\nprint(1)\nEOF",
    "which forbidden",
    "ls -l @bin/forbidden",
    "cat > f.sh <<'EOF'\nforbidden x\nEOF",
    "source venv/bin/activate && pip list",
    'test -n "$x" && ls',
    "ls ${DIR}/x",
    "echo $((1 + 2)) ${a[0]} ${b:-c} $? $$",
    "if [[ $a == b* ]]; then echo x; elif ! ls; then echo y; else echo z; fi",
    "case $x in a|b) echo c;; *) echo d;; esac",
    "f() { echo x; }; f; a=(1 2); unset a",
    "# forbidden\nls # forbidden",
]


@pytest.mark.parametrize("command", HARMLESS)
def test_other_commands_are_not(command: str, machine: Machine) -> None:
    folder = machine.workspace()
    assert bash(command.replace("@bin", machine.bin), machine.policy(folder)).allowed
