"""Bash: what a command prints, where it leaves the shell, and how it is stopped."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest
from harness.tools.kit import TOOLS, call, make_context, text, trouble

from skilleval.harness.sandbox import KINDS
from skilleval.harness.tools import Budgets, ToolContext, standard_tools


def test_output_and_errors_together(context: ToolContext) -> None:
    result = call(context, "Bash", command="echo one; echo two >&2; echo three")
    assert text(result) == "one\ntwo\nthree"
    assert result.facts["exit_code"] == 0 and result.full_output == ""
    assert text(call(context, "Bash", command="true")) == "(It printed nothing.)"
    assert not os.listdir(context.outputs_folder)


def test_a_failure_shows_its_exit_code(context: ToolContext) -> None:
    assert trouble(call(context, "Bash", command="echo out; exit 3")) == "Exit code 3\nout"
    assert "Exit code 127" in trouble(call(context, "Bash", command="no-such-program"))
    said = trouble(call(context, "Bash", command="echo 'unfinished"))
    assert "Exit code 2" in said and "unexpected EOF" in said


def test_the_working_directory_is_kept(context: ToolContext, work: Path) -> None:
    (work / "a b/c").mkdir(parents=True)
    call(context, "Bash", command="cd 'a b'")
    assert text(call(context, "Bash", command="pwd")) == "/workspace/a b"
    trouble(call(context, "Bash", command="cd c && exit 1"))
    assert context.cwd == "/workspace/a b/c"
    (work / "a b/c/x").write_text("here")
    assert text(call(context, "Read", file_path="x")) == "     1\there"
    call(context, "Bash", command="(cd /workspace)")
    assert context.cwd == "/workspace/a b/c"
    call(context, "Bash", command="cd /tmp")
    assert context.cwd == "/tmp"


def test_a_directory_that_is_not_kept_is_left(context: ToolContext, work: Path) -> None:
    said = text(call(context, "Bash", command="cd /usr"))
    assert "/usr" in said and "/workspace again" in said and context.cwd == "/workspace"
    (work / "a").mkdir()
    call(context, "Bash", command="cd a")
    (work / "a").rmdir()
    said = text(call(context, "Bash", command="pwd"))
    assert (
        said == "/workspace\n(The working directory /workspace/a is gone; this ran in /workspace.)"
    )


def test_a_command_can_not_name_any_directory(context: ToolContext, work: Path) -> None:
    (work / "out").symlink_to("/etc")
    lies = ("/etc", "/workspace/out", "nonsense", "/workspace/../etc", "x" * 9_000, r"/\xff")
    for lie in lies:
        command = f"for n in /proc/self/fd/*; do printf '{lie}' >&${{n##*/}}; done 2>/dev/null"
        said = text(call(context, "Bash", command=f"{command}; trap - EXIT"))
        assert context.cwd == "/workspace"
        assert "/workspace again" in said and said.encode() and len(said) < 20_000


def test_the_traps_of_a_command_are_its_own(context: ToolContext) -> None:
    said = text(call(context, "Bash", command="trap 'echo bye' EXIT; cd /tmp"))
    assert said == "bye" and context.cwd == "/workspace"


@pytest.mark.parametrize("line", ["a line of some length", "é" * 30])
def test_long_output_is_cut_in_the_middle(context: ToolContext, line: str) -> None:
    command = f"for n in $(seq 1 5000); do echo $n {line}; done"
    result = call(context, "Bash", command=command)
    shown = text(result)
    head, notice, tail = shown.split("\n\n")
    assert head.startswith(f"1 {line}\n2 ") and tail.endswith(f"5000 {line}")
    assert 25_000 < len(head) + len(tail) < 30_000
    whole = "".join(f"{n} {line}\n" for n in range(1, 5_001))
    size = len(whole.encode())
    gone = size - len(f"{head}\n{tail}\n".encode())
    assert f"{gone:,} of {size:,} bytes are cut" in notice
    assert result.full_output in notice and result.facts["total"] == size
    kept = Path(context.outputs_folder, os.path.basename(result.full_output))
    assert kept.read_text() == whole
    offset = int(notice.split("offset=")[1].split(",")[0])
    rest = text(call(context, "Read", file_path=result.full_output, offset=offset, limit=1))
    assert rest.startswith(f"{offset:>6}\t{offset} {line}") and f"\n{offset} " not in head


def test_output_of_no_encoding_is_shown(context: ToolContext) -> None:
    assert text(call(context, "Bash", command=r"printf 'a\xff\0b'")) == "a\ufffd\0b"


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "auto"])
def test_a_time_out_ends_everything(tmp_path: Path, kind: str) -> None:
    if kind == "bubblewrap" and not shutil.which("bwrap"):
        pytest.skip("bubblewrap is not here")
    context = make_context(tmp_path, kind)
    work = Path(context.workspace)
    command = "(while :; do date +%N >>ticks; sleep 0.01; done) & echo started; wait"
    start = time.monotonic()
    said = trouble(call(context, "Bash", command=command, timeout=300))
    assert time.monotonic() - start < 5
    assert "longer than 300 ms" in said and "timeout higher" in said and "started" in said
    size = (work / "ticks").stat().st_size
    assert size > 0
    call(context, "Bash", command="sleep 0.1")
    assert (work / "ticks").stat().st_size == size


def test_what_is_left_running_is_ended(context: ToolContext, work: Path) -> None:
    command = "nohup sh -c 'while :; do echo x >>ticks; sleep 0.01; done' >/dev/null 2>&1 &"
    call(context, "Bash", command=command)
    call(context, "Bash", command="true")
    size = (work / "ticks").stat().st_size if (work / "ticks").exists() else 0
    call(context, "Bash", command="sleep 0.05")
    assert ((work / "ticks").stat().st_size if size else 0) == size


def test_no_secret_is_inherited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "do not tell")
    for kind in ("auto", "none"):
        context = make_context(tmp_path, kind, environment={"GIVEN": "yes"})
        shown = text(call(context, "Bash", command="env; cat /proc/self/environ | tr '\\0' '\\n'"))
        assert "do not tell" not in shown and "GIVEN=yes" in shown


def test_nothing_is_read_from_our_input(context: ToolContext) -> None:
    assert text(call(context, "Bash", command="cat; read x || echo none")) == "none"


def test_calls_that_can_not_be_run(context: ToolContext) -> None:
    said = trouble(call(context, "Bash", command="sleep 1", run_in_background=True))
    assert "off here" in said and "timeout" in said
    said = trouble(call(context, "Bash", command="true", timeout=600_001))
    assert "600001 ms" in said and "600000 ms is the most" in said
    said = trouble(call(context, "Bash", command="#" * 100_001))
    assert "100,001 bytes" in said and "Write" in said
    assert "NUL" in trouble(call(context, "Bash", command="echo \0"))
    assert "lone surrogate" in trouble(call(context, "Bash", command="echo \ud800"))


def test_a_long_command_runs(context: ToolContext) -> None:
    command = "cat <<'END' | wc -c\n" + "x" * 99_000 + "\nEND"
    assert text(call(context, "Bash", command=command)) == "99001"


def test_the_definition_names_the_budgets() -> None:
    bash = next(tool for tool in standard_tools(Budgets(bash_timeout_ms=7)) if tool.name == "Bash")
    assert "7 unless given" in str(bash.definition)
    assert "120000 unless given" in str(TOOLS["Bash"].definition)
