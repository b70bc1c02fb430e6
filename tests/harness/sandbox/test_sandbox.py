"""What a sandbox promises to those who use it."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import stat
import sys
import time
from pathlib import Path

import pytest
from harness.sandbox.kit import (
    ALL,
    CONFINED,
    Limits,
    act,
    alive,
    kinds,
    marked,
    missing,
    need,
    opened,
    settled,
    shell,
    until,
)

from skilleval.errors import InputError, Unmeasured
from skilleval.harness import sandbox as package
from skilleval.harness.sandbox import (
    Mount,
    Policy,
    bubblewrap,
    launched,
    machine,
    open_sandbox,
    ruleset,
)
from skilleval.harness.sandbox.places import Places


@kinds(*ALL)
def test_command_sees_its_workspace_and_says_so(kind: str, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("hello\n")
    sandbox = opened(kind, tmp_path)
    done = shell(sandbox, "cat in; echo made >out; pwd; exit 7")
    workspace = sandbox.policy.mounts[0].inside
    assert (done.exit_code, done.output.decode()) == (7, f"hello\n{workspace}\n")
    assert (tmp_path / "out").read_text() == "made\n"
    assert (done.timed_out, done.killed_by, done.dropped, done.unwritten) == (False, "", 0, 0)
    assert sandbox.name == kind
    assert sandbox.gaps


def test_paths_are_the_same_in_every_trial(tmp_path: Path) -> None:
    seen = set()
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        sandbox = opened("bubblewrap", tmp_path / name)
        seen.add(shell(sandbox, "pwd; echo $HOME $TMPDIR; id; cat /etc/passwd; hostname").output)
    assert len(seen) == 1
    assert seen.pop().startswith(b"/workspace\n/tmp/home /tmp\nuid=1000(user) gid=1000(user)")


@kinds(*ALL)
def test_output_and_errors_come_in_order(kind: str, tmp_path: Path) -> None:
    done = shell(opened(kind, tmp_path), "for i in 1 2 3; do echo o$i; echo e$i >&2; done")
    assert done.output == b"o1\ne1\no2\ne2\no3\ne3\n"


@kinds(*ALL)
def test_only_named_variables_are_there(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    sandbox = opened(kind, tmp_path, environment={"A": "policy", "B": "policy"})
    done = shell(sandbox, "env -0", environment={"B": "run = x\n"})
    pairs = dict(line.split("=", 1) for line in done.output.decode().split("\0") if line)
    assert (pairs["A"], pairs["B"], pairs["LANG"]) == ("policy", "run = x\n", "C.UTF-8")
    made_by_shells = {"PWD", "OLDPWD", "SHLVL", "_"}
    assert set(pairs) - made_by_shells == {"A", "B", "PATH", "HOME", "LANG", "TMPDIR"}


@kinds(*ALL)
def test_variables_work_inside_only(kind: str, tmp_path: Path) -> None:
    """What starts the sandbox must not load a library that a record names."""
    done = shell(opened(kind, tmp_path), "echo on", environment={"LD_PRELOAD": "/no/such.so"})
    assert done.output.endswith(b"on\n")
    assert b"bwrap" not in done.output and b"python" not in done.output


@kinds(*ALL)
def test_home_and_temporary_folder_last_for_the_trial(kind: str, tmp_path: Path) -> None:
    sandbox = opened(kind, tmp_path)
    shell(sandbox, "echo 1 >~/a; echo 2 >$TMPDIR/b; cd; git config --global user.name me")
    done = shell(sandbox, "cat ~/a $TMPDIR/b; git config user.name")
    assert done.output == b"1\n2\nme\n"
    assert shell(opened(kind, tmp_path), "ls ~/a").exit_code != 0
    own = sandbox.policy.mounts[-1]
    assert own.writable and sandbox.inside(own.host) == own.inside
    assert own.inside == ("/tmp" if kind == "bubblewrap" else own.host)


@kinds(*ALL)
def test_temporary_folder_can_be_given(kind: str, tmp_path: Path) -> None:
    for name in ("workspace", "own"):
        (tmp_path / name).mkdir()
    mount = Mount(str(tmp_path / "own"), "/tmp", True)
    sandbox = opened(kind, tmp_path / "workspace", mounts=(mount,))
    assert len(sandbox.policy.mounts) == 2
    assert shell(sandbox, "echo 1 >$TMPDIR/x").exit_code == 0
    assert (tmp_path / "own" / "x").exists()


def test_own_folder_goes_with_the_sandbox(tmp_path: Path) -> None:
    sandbox = open_sandbox("none", Policy((Mount(str(tmp_path), "/workspace", True),)))
    folder = Path(sandbox.policy.mounts[-1].host)
    assert folder.exists() and stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    shell(
        sandbox, "mkdir -p $TMPDIR/a/b; touch $TMPDIR/a/b/c; ln -s / $TMPDIR/l; chmod 0 $TMPDIR/a"
    )
    del sandbox
    assert until(lambda: not folder.exists())  # a thread may just be saying good-bye


@kinds(*ALL)
def test_standard_input(kind: str, tmp_path: Path) -> None:
    data = os.urandom(3_000_000)
    sandbox = opened(kind, tmp_path)
    assert shell(sandbox, "cat", stdin=data).output == data
    assert shell(sandbox, "head -c 5", stdin=data).output == data[:5]
    assert shell(sandbox, "cat").output == b""


@kinds(*ALL)
def test_without_input_a_search_looks_at_files(kind: str, tmp_path: Path) -> None:
    """ripgrep reads standard input if that is a pipe."""
    if not shutil.which("rg", path=machine.shown().path):
        pytest.skip("ripgrep is not here")
    (tmp_path / "file").write_text("needle\n")
    assert b"needle" in shell(opened(kind, tmp_path), "rg needle").output


@kinds(*ALL)
def test_long_output_is_cut_and_counted(kind: str, tmp_path: Path) -> None:
    workspace, kept = tmp_path / "w", tmp_path / "kept"
    workspace.mkdir()
    sandbox = opened(kind, workspace, limits=Limits(file_bytes=4_000_000))
    line = "seq 300000"
    done = shell(sandbox, line, max_output=1000, output_file=str(kept))
    whole = "".join(f"{i}\n" for i in range(1, 300001)).encode()
    assert done.output == whole[:1000]
    assert done.dropped == len(whole) - 1000
    assert kept.read_bytes() == whole and done.unwritten == 0
    done = shell(sandbox, "yes", max_output=10, output_file=str(kept))
    assert done.killed_by == "output"
    assert kept.stat().st_size == 4_000_000
    assert done.unwritten == done.dropped + 10 - 4_000_000


@kinds("none")
def test_output_file_is_never_a_link(kind: str, tmp_path: Path) -> None:
    (tmp_path / "target").write_text("kept")
    (tmp_path / "link").symlink_to("target")
    with pytest.raises(OSError):
        shell(opened(kind, tmp_path), "echo", output_file=str(tmp_path / "link"))
    assert (tmp_path / "target").read_text() == "kept"


@kinds("none")
def test_full_disk_is_counted(kind: str, tmp_path: Path) -> None:
    done = shell(opened(kind, tmp_path), "echo four", output_file="/dev/full")
    assert (done.output, done.unwritten) == (b"four\n", 5)


@kinds(*ALL)
def test_exit_codes(kind: str, tmp_path: Path) -> None:
    sandbox = opened(kind, tmp_path)
    cwd = sandbox.policy.mounts[0].inside
    (tmp_path / "data").write_text("text")

    def run(*words: str) -> tuple[int, bytes]:
        done = act(sandbox.run(words, cwd=cwd, timeout=10))
        return done.exit_code, done.output

    assert run("true") == (0, b"")
    assert run("false") == (1, b"")
    assert run("bash", "-c", "kill -TERM $$")[0] == 128 + 15
    assert run("bash", "-c", "kill -SEGV $$")[0] == 128 + 11
    code, said = run("no-such-program")
    assert code == 127 and b"no-such-program" in said
    assert run("./data")[0] in (126, 127)
    code, said = run("echo", "x" * 3_000_000)
    assert code == 126 and b"echo" in said
    assert run("printf", "%s", "a b;$(id)\n'") == (0, b"a b;$(id)\n'")


@kinds(*ALL)
def test_signals_are_as_a_shell_leaves_them(kind: str, tmp_path: Path) -> None:
    """Python ignores SIGPIPE: what it starts must not."""
    done = shell(opened(kind, tmp_path), "set -o pipefail; yes | head -1; echo ${PIPESTATUS[0]}")
    assert done.output == b"y\n141\n"


@kinds(*ALL)
def test_nothing_is_run_where_it_can_not_be(kind: str, tmp_path: Path) -> None:
    sandbox = opened(kind, tmp_path)
    cwd = sandbox.policy.mounts[0].inside
    for words, where, more in (
        (["true"], f"{cwd}/missing", {}),
        (["true", "a\0b"], cwd, {}),
        (["true"], f"{cwd}\0", {}),
        ([], cwd, {}),
        (["true"], cwd, {"A": "b\0--bind\0/\0/host"}),
        (["true"], cwd, {"A=B": "c"}),
    ):
        with pytest.raises(InputError):
            act(sandbox.run(words, cwd=where, timeout=5, environment=more))


@kinds(*ALL)
def test_folder_that_is_gone_inside_is_an_answer(kind: str, tmp_path: Path) -> None:
    sandbox = opened(kind, tmp_path)
    done = act(sandbox.run(["true"], cwd="/no/such/folder", timeout=5))
    assert done.exit_code == 126 and b"/no/such/folder" in done.output


@kinds(*ALL)
def test_descriptors_are_passed_and_no_others(kind: str, tmp_path: Path) -> None:
    sandbox = opened(kind, tmp_path)
    read, write = os.pipe()
    other = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(other, True)
    try:
        code = f"import os; os.write({write}, b'through')\nfor i in range(3, 99):\n"
        code += "    try: os.fstat(i); print(i)\n    except OSError: pass\n"
        words = ["python3", "-I", "-S", "-c", code]
        cwd = sandbox.policy.mounts[0].inside
        done = act(sandbox.run(words, cwd=cwd, timeout=10, pass_fds=[write]))
        assert os.read(read, 99) == b"through"
        assert done.output.split() == [str(write).encode()]
    finally:
        for handle in (read, write, other):
            os.close(handle)


@kinds(*ALL)
def test_commands_run_side_by_side_and_the_loop_goes_on(kind: str, tmp_path: Path) -> None:
    sandbox = opened(kind, tmp_path)
    cwd = sandbox.policy.mounts[0].inside

    async def work() -> float:
        longest, last = 0.0, time.perf_counter()
        sleeps = [sandbox.run(["sleep", "1"], cwd=cwd, timeout=20) for _ in range(12)]
        running = asyncio.gather(*sleeps, sandbox.run(["yes"], cwd=cwd, timeout=0.5, max_output=9))
        while not running.done():
            await asyncio.sleep(0.001)
            now = time.perf_counter()
            longest, last = max(longest, now - last), now
        await running
        return longest

    began = time.monotonic()
    assert act(work()) < 0.8
    assert time.monotonic() - began < 6


@kinds(*ALL)
def test_command_that_goes_on(kind: str, tmp_path: Path) -> None:
    sandbox = opened(kind, tmp_path)
    cwd = sandbox.policy.mounts[0].inside
    mark = marked()

    async def work() -> None:
        line = f"setsid -f sleep {mark}; echo on $A; echo err >&2; exec cat"
        process = await sandbox.start(["bash", "-c", line], cwd=cwd, environment={"A": "b"})
        assert process.stdin and process.stdout and process.stderr
        assert await process.stdout.readline() == b"on b\n"
        assert await process.stderr.readline() == b"err\n"
        process.stdin.write(b"x" * 100_000 + b"\n")
        assert await process.stdout.readline() == b"x" * 100_000 + b"\n"
        assert await settled(lambda: bool(alive(mark)))
        assert await sandbox.stop(process) == 137
        assert not alive(mark)
        assert await sandbox.stop(process) == 137

    act(work())


@kinds(*ALL)
def test_command_that_goes_on_ends_by_itself(kind: str, tmp_path: Path) -> None:
    sandbox = opened(kind, tmp_path)
    cwd = sandbox.policy.mounts[0].inside
    mark = marked()

    async def work() -> None:
        line = f"setsid -f sleep {mark}; read x; exit 3"
        process = await sandbox.start(["bash", "-c", line], cwd=cwd)
        assert process.stdin
        process.stdin.close()
        assert await process.wait() == 3
        assert await sandbox.stop(process) == 3
        assert not alive(mark)

    act(work())


@kinds(*ALL)
def test_command_that_goes_on_has_limits(kind: str, tmp_path: Path) -> None:
    sandbox = opened(kind, tmp_path, limits=Limits(processes=20, wall_seconds=0.01))
    cwd = sandbox.policy.mounts[0].inside
    mark = marked()

    async def work() -> None:
        line = f"for i in $(seq 40); do sleep {mark} & done; wait"
        process = await sandbox.start(["bash", "-c", line], cwd=cwd)
        await asyncio.wait_for(process.wait(), 10)
        assert await sandbox.stop(process) == 137
        assert not alive(mark)

    act(work())


@kinds(*ALL)
def test_read_only_and_nested_mounts(kind: str, tmp_path: Path) -> None:
    for name in ("workspace", "skills", "out"):
        (tmp_path / name).mkdir()
    (tmp_path / "skills" / "a").write_text("skill\n")
    mounts = (
        Mount(str(tmp_path / "skills"), "/workspace/skills"),
        Mount(str(tmp_path / "out"), "/out", True),
    )
    sandbox = opened(kind, tmp_path / "workspace", mounts=mounts)
    skills, out = (sandbox.policy.mounts[i].inside for i in (1, 2))
    done = shell(sandbox, f"cat {skills}/a; echo 1 >{out}/x; echo 2 >{skills}/b || echo refused")
    assert b"skill\n" in done.output
    assert (tmp_path / "out" / "x").exists()
    if kind != "none":
        assert b"refused" in done.output and not (tmp_path / "skills" / "b").exists()


@kinds(*CONFINED)
def test_network_is_open_where_it_is_asked_for(kind: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        line = f"exec 3<>/dev/tcp/127.0.0.1/{server.getsockname()[1]} && echo through"
        with_it = opened(kind, tmp_path, network=True)
        assert shell(with_it, line).output == b"through\n"
        assert any("network" in gap for gap in with_it.gaps)
        assert b"through" not in shell(opened(kind, tmp_path), line).output


@kinds(*CONFINED)
def test_usual_programs_work(kind: str, tmp_path: Path) -> None:
    line = """set -e
    python3 -c 'import json, subprocess, tempfile, random; print(json.dumps([random.random() < 2]))'
    cat <(echo substituted); echo piped | tee copy | wc -c; mkdir -p d/e; mv copy d/e/; rm -r d
    git init -q . && git add -A && git -c user.name=a -c user.email=b commit -qm x --allow-empty
    printf '#!/bin/sh\\necho script' >s.sh; chmod +x s.sh; ./s.sh; ln -s s.sh l; ./l; mkfifo f
    for i in 1 2 3; do echo $i & done | sort | tr -d '\\n'; timeout 5 true; nice true
    date +%Y | wc -c
    """
    done = shell(opened(kind, tmp_path), line)
    assert done.exit_code == 0, done.output
    assert done.output.split() == b"[true] substituted 6 script script 1235".split(), done.output


@kinds("bubblewrap")
def test_shared_memory_works_with_namespaces(kind: str, tmp_path: Path) -> None:
    line = "python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1, 2]))'"
    assert shell(opened(kind, tmp_path), line).output == b"[1, 2]\n"


@kinds(*CONFINED)
def test_interpreter_is_shown_even_in_a_hidden_folder(kind: str, tmp_path: Path) -> None:
    hidden = str(Path(sys.prefix).parent)
    if Path(hidden) in (Path("/"), Path("/usr")):
        pytest.skip("this Python belongs to the system")
    sandbox = opened(kind, tmp_path, hidden=(hidden,))
    assert shell(sandbox, f"python3 -c 'print(1)' && ls {hidden}/*.toml").output.startswith(
        b"1\nls"
    )


@kinds(*CONFINED)
def test_hidden_folder_may_hold_the_workspace(kind: str, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "other").write_text("secret")
    sandbox = opened(kind, tmp_path / "mine", hidden=(str(tmp_path),))
    done = shell(sandbox, f"echo fine >x; cat {tmp_path}/other")
    assert (tmp_path / "mine" / "x").exists() and b"secret" not in done.output


def test_what_lies_in_the_workspace_can_be_hidden(tmp_path: Path) -> None:
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals" / "a.json").write_text("secret")
    (tmp_path / "answer").write_text("secret")
    hidden = (f"{tmp_path}/evals", f"{tmp_path}/answer")
    sandbox = opened("bubblewrap", tmp_path, hidden=hidden)
    done = shell(
        sandbox, "cat evals/* answer; echo x >evals/new; echo x >answer; rm -rf evals answer"
    )
    assert b"secret" not in done.output
    assert (tmp_path / "evals" / "a.json").read_text() == "secret"
    assert (tmp_path / "answer").read_text() == "secret"
    assert os.listdir(tmp_path / "evals") == ["a.json"]
    if not missing("landlock"):
        with pytest.raises(InputError, match="hide"):
            opened("landlock", tmp_path, hidden=hidden)


@kinds(*ALL)
def test_policy_that_makes_no_sense(kind: str, tmp_path: Path) -> None:
    missing(kind)
    good = Mount(str(tmp_path), "/workspace", True)
    for policy in (
        Policy(()),
        Policy((good._replace(writable=False),)),
        Policy((good._replace(host=f"{tmp_path}/missing"),)),
        Policy((good._replace(inside="workspace"),)),
        Policy((good._replace(inside="/"),)),
        Policy((good._replace(inside="/proc/x"),)),
        Policy((good, good)),
        Policy((good, Mount(str(tmp_path), "/tmp"))),
        Policy((good,), hidden=(f"{tmp_path}/missing",)),
        Policy((good,), hidden=(str(tmp_path),)),
        Policy((good,), environment={"A": "\0"}),
    ):
        with pytest.raises(InputError):
            open_sandbox(kind, policy)


def test_paths_are_translated(tmp_path: Path) -> None:
    host = str(tmp_path)
    places = Places([Mount(host, "/workspace", True), Mount(f"{host}/x/deep", "/deep")])
    assert places.inside(host) == "/workspace"
    assert places.inside(f"{host}/a/b") == "/workspace/a/b"
    assert places.inside(f"{host}/x/deep/c") == "/deep/c"
    assert places.outside("/workspace/a/../b") == f"{host}/b"
    assert places.outside("/deep") == f"{host}/x/deep"
    assert places.outside("/workspacex") is None
    assert places.outside("/workspace/../etc") is None
    (tmp_path / "link").symlink_to("/etc")
    assert places.inside(f"{host}/link") == "/workspace/link"
    with pytest.raises(InputError):
        places.inside("/etc/passwd")


def test_host_paths_may_hold_links(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    sandbox = open_sandbox("none", Policy((Mount(f"{tmp_path}/link", "/workspace", True),)))
    assert sandbox.inside(f"{tmp_path}/link/a") == f"{tmp_path}/real/a"
    assert sandbox.policy.mounts[0].host == f"{tmp_path}/real"


def test_auto_is_the_strongest_and_never_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = Policy((Mount(str(tmp_path), "/workspace", True),))
    if not missing("bubblewrap"):
        assert open_sandbox("auto", policy).name == "bubblewrap"
    monkeypatch.setattr(bubblewrap, "problem", lambda: "no bwrap")
    if not missing("landlock"):
        assert open_sandbox("auto", policy).name == "landlock"
    monkeypatch.setattr(launched, "problem", lambda: "no Landlock")
    with pytest.raises(InputError, match=r"no bwrap.*no Landlock") as caught:
        open_sandbox("auto", policy)
    assert "--sandbox none" in caught.value.remedy
    for kind in CONFINED:
        with pytest.raises(InputError) as caught:
            open_sandbox(kind, policy)
        assert caught.value.remedy
    assert open_sandbox("none", policy).name == "none"
    with pytest.raises(InputError, match="docker"):
        open_sandbox("docker", policy)


@pytest.mark.parametrize("version", [3, 4, 5, 6])
def test_older_kernels(version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before version 6 Landlock lets signals through: the filter then keeps them from us."""
    need("landlock")
    if ruleset.version() < version:
        pytest.skip("this kernel is older")
    monkeypatch.setattr(ruleset, "version", lambda: version)
    sandbox = opened("landlock", tmp_path)
    assert any("signals" in gap for gap in sandbox.gaps) is (version < 6)
    me, group = os.getpid(), os.getpgrp()
    line = f"for p in {me} -{group} $PPID -$PPID -1; do kill -0 -- $p && echo OUT; done; "
    if version >= 6:
        line = f"for p in {me} -{group} $PPID; do kill -0 -- $p && echo OUT; done; "
    done = shell(sandbox, line + "sleep 9 & kill %1 && wait; echo fine; cat /etc/hostname >x")
    assert b"OUT" not in done.output and b"fine" in done.output, done.output
    assert done.exit_code == 0


def test_kernel_that_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    launched.problem.cache_clear()
    try:
        for version, word in ((0, "does not have it"), (2, "version 2")):
            monkeypatch.setattr(ruleset, "version", lambda version=version: version)
            assert word in launched.problem()
            launched.problem.cache_clear()
    finally:
        launched.problem.cache_clear()


def test_other_systems_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package.sys, "platform", "darwin")
    with pytest.raises(InputError, match="Linux"):
        open_sandbox("none", Policy((Mount(str(tmp_path), "/workspace", True),)))


def test_bubblewrap_that_can_not_make_namespaces_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text(
        "#!/bin/sh\necho 'bwrap: No permissions to create a new namespace' >&2; exit 1\n"
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    bubblewrap.problem.cache_clear()
    try:
        assert bubblewrap.problem() == "No permissions to create a new namespace"
    finally:
        bubblewrap.problem.cache_clear()


@kinds(*CONFINED)
def test_sandbox_that_breaks_later_is_no_result(kind: str, tmp_path: Path) -> None:
    """A command that never ran has no exit code."""
    (tmp_path / "workspace").mkdir()
    (tmp_path / "other").mkdir()
    mounts = (Mount(str(tmp_path / "other"), "/other"),)
    sandbox = opened(kind, tmp_path / "workspace", mounts=mounts)
    if kind == "bubblewrap":
        (tmp_path / "other").rmdir()
    else:
        sandbox.filter = b"no filter"  # type: ignore[attr-defined]
    with pytest.raises(Unmeasured, match="set up"):
        shell(sandbox, "echo on")

    async def start() -> None:
        process = await sandbox.start(["cat"], cwd=sandbox.policy.mounts[0].inside)
        await settled(lambda: process.returncode is not None)
        await sandbox.stop(process)

    with pytest.raises(Unmeasured, match="set up"):
        act(start())
