"""What programs are known to start other programs, and how they are told which.

A wrapper that is ``clear`` does nothing of its own: what counts is what it starts. Behind an
option that is not known here any of the next words may be the command.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = [
    "CODE_OPTIONS",
    "CODE_VARIABLE",
    "GIT_CODE_KEY",
    "HARMLESS_VARIABLE",
    "INTERPRETER",
    "LOOSE",
    "READS_COMMANDS",
    "RISKY_VARIABLE",
    "SHELLS",
    "WRAPPERS",
    "Wrapper",
]


class Wrapper(NamedTuple):
    """How a wrapper's own arguments are told from the command that it starts.

    Attributes:
        flags: letters of options without a value; ``valued`` of those with one.
        long: long options with a value.
        skip: how many operands come before the command.
        assigns: variables may be set before the command.
        clear: it does nothing but start the command.
        joins: the words of the command are one text for a shell.
        code: letters of options whose value is a text for a shell.
    """

    flags: str = ""
    valued: str = ""
    long: str = ""
    skip: int = 0
    assigns: bool = False
    clear: bool = True
    joins: bool = False
    code: str = ""


_DIGITS = "0123456789"

WRAPPERS: dict[str, Wrapper] = {
    "builtin": Wrapper(),
    "busybox": Wrapper(),
    "chronic": Wrapper("ev"),
    "chroot": Wrapper("", "", "groups userspec", skip=1, clear=False),
    "chrt": Wrapper("abdfimoprRv", "TPD", "sched-runtime sched-period sched-deadline", skip=1),
    "command": Wrapper("p"),
    "coproc": Wrapper(),
    "doas": Wrapper("Lns", "aCu", clear=False),
    "eatmydata": Wrapper(),
    "env": Wrapper("i0v", "uCa", "unset chdir argv0", assigns=True),
    "exec": Wrapper("cl", "a"),
    "fakeroot": Wrapper("", "lsib", "lib faked save load", clear=False),
    "firejail": Wrapper(clear=False),
    "flock": Wrapper("enosuxF", "wE", "timeout conflict-exit-code", 1, clear=False, code="c"),
    "gdb": Wrapper("nqx", clear=False),
    "ionice": Wrapper("t", "cnpPu", "class classdata pid pgid uid"),
    "ltrace": Wrapper("bcCfhiLrStTV", "aAeDFlnopsuwxX", clear=False),
    "nice": Wrapper(_DIGITS, "n", "adjustment"),
    "nohup": Wrapper(),
    "nsenter": Wrapper("amuinpUCTrwFZ", "tSG", "target setuid setgid", clear=False),
    "numactl": Wrapper("la", "mNCip", clear=False),
    "pkexec": Wrapper("", "u", "user", clear=False),
    "prlimit": Wrapper("", "po", "pid output", clear=False),
    "proxychains": Wrapper("q", "f", clear=False),
    "proxychains4": Wrapper("q", "f", clear=False),
    "rlwrap": Wrapper("aAcEhiImMnNrRtTuvwW", "bCDefFgHlopPqsSz", clear=False),
    "runuser": Wrapper("flmp-", "gGsuw", "group supp-group shell user", clear=False, code="c"),
    "script": Wrapper("aefq", "BIOTtEmo", clear=False, code="c"),
    "setarch": Wrapper("3BFILRSTXZv", "", skip=1),
    "setpriv": Wrapper(clear=False),
    "setsid": Wrapper("cfw"),
    "sg": Wrapper("", "", skip=1, clear=False, joins=True, code="c"),
    "ssh": Wrapper(
        "46AaCfGgKkMNnqsTtVvXxYy", "BbcDEeFIiJLlmOoPpQRSWw", skip=1, clear=False, joins=True
    ),
    "stdbuf": Wrapper("", "ioe", "input output error"),
    "strace": Wrapper("cCdDfFhiknNqrtTvVwxyYzZ", "aeEIoObpPsSuUX", clear=False),
    "su": Wrapper("flmpP-", "gGsw", "group supp-group shell", 1, clear=False, code="c"),
    "sudo": Wrapper(
        "AbBEeHiKklnNPSsVv",
        "CDghpRrTtUu",
        "close-from chdir group host prompt chroot role type command-timeout other-user user",
        assigns=True,
        clear=False,
    ),
    "systemd-run": Wrapper("dGqrSt", "EHMpu", clear=False),
    "taskset": Wrapper("ac", "", skip=1),
    "time": Wrapper("apqvlh", "fo", "format output"),
    "timeout": Wrapper("fpv", "ks", "kill-after signal", skip=1),
    "toybox": Wrapper(),
    "unbuffer": Wrapper("p"),
    "unshare": Wrapper("fimnprUuCTc", "RwSG", "root wd setuid setgid", clear=False),
    "valgrind": Wrapper("qvdh", clear=False),
    "watch": Wrapper("bcdegprtwx", "nqs", "interval equexit shotsdir", clear=False, joins=True),
    "xvfb-run": Wrapper("al", "efnpsw", clear=False),
}

LOOSE: dict[str, frozenset[str]] = {
    "at": frozenset(),
    "bunx": frozenset(),
    "bwrap": frozenset(),
    "bundle": frozenset({"exec"}),
    "capsh": frozenset(),
    "dbus-run-session": frozenset(),
    "direnv": frozenset({"exec"}),
    "docker": frozenset({"run", "exec"}),
    "entr": frozenset(),
    "expect": frozenset(),
    "flatpak-spawn": frozenset(),
    "hyperfine": frozenset(),
    "kubectl": frozenset({"run", "exec"}),
    "npm": frozenset({"exec", "x"}),
    "npx": frozenset(),
    "pdm": frozenset({"run"}),
    "perf": frozenset({"record", "stat", "trace"}),
    "pipenv": frozenset({"run"}),
    "pnpm": frozenset({"exec", "dlx"}),
    "podman": frozenset({"run", "exec"}),
    "poetry": frozenset({"run"}),
    "pnpx": frozenset(),
    "screen": frozenset(),
    "start-stop-daemon": frozenset(),
    "tmux": frozenset(),
    "torsocks": frozenset(),
    "uv": frozenset({"run"}),
    "uvx": frozenset(),
    "yarn": frozenset({"exec", "dlx", "run"}),
}
"""Programs that start others in ways of their own, if one of these words is among their first.

Any of the following words may be a command, for rules that deny or ask.
"""

SHELLS = frozenset("sh bash dash ash ksh mksh rbash zsh fish csh tcsh".split())

READS_COMMANDS = frozenset("at batch crontab".split())
"""They run what they are fed."""

INTERPRETER = re.compile(
    r"(?:python|pypy|perl|ruby|node|nodejs|deno|bun|php|lua|luajit|tclsh|[gmn]?awk|osascript"
    r"|Rscript|julia|groovy|erl|elixir|ghc|runghc|expect|n?vim|vi|ex|ed|emacs|gdb|sqlite|psql"
    r"|mysql|m4|sed|ipython|irb|dc|bc|nc|ncat|socat|xterm)[\d.]*"
)
"""Programs whose arguments and input may be programs themselves, which are not looked into."""

CODE_OPTIONS: dict[str, frozenset[str]] = {
    "man": frozenset({"-P", "--pager", "-H", "--html"}),
    "rsync": frozenset({"-e", "--rsh", "--rsync-path"}),
    "scp": frozenset({"-S", "-D"}),
    "sftp": frozenset({"-S", "-D"}),
    "sort": frozenset({"--compress-program"}),
    "split": frozenset({"--filter"}),
    "rg": frozenset({"--pre", "--hostname-bin"}),
    "tar": frozenset(
        "-I -F --use-compress-program --to-command --rsh-command --info-script "
        "--new-volume-script --checkpoint-action".split()
    ),
    "zip": frozenset({"-TT", "--unzip-command"}),
    "git": frozenset({"-x", "--exec", "--extcmd", "-O", "--open-files-in-pager", "--upload-pack"}),
}
"""Options whose value is run."""

GIT_CODE_KEY = re.compile(
    r"alias\.|pager|editor|command|askpass|helper|program|textconv|external|fsmonitor|hookspath"
    r"|\.(?:cmd|path|process|clean|smudge|driver|gitproxy|uploadpack|receivepack|trustexitcode)$"
    r"|^include|template|worktree|sshcommand",
    re.IGNORECASE,
)
"""Settings of git whose value is run, or leads to something that is."""

CODE_VARIABLE = re.compile(
    r"\w*(?:PAGER|EDITOR|VISUAL|BROWSER|COMMAND|ASKPASS|SSH|LESSOPEN|LESSCLOSE|WRAPPER)"
    r"|PS[0-4]|GIT_EXTERNAL_DIFF|BASH_ENV|ENV"
)
"""Variables whose value is run by somebody, sooner or later."""

RISKY_VARIABLE = re.compile(
    rf"{CODE_VARIABLE.pattern}|PATH|IFS|BASH\w*|SHELL\w*|CDPATH|HOME|PWD|OLDPWD|TMPDIR|LD_\w+"
    r"|DYLD_\w+|GIT_\w+|SSH_\w+|PYTHON\w*|PERL\w*|RUBY\w*|GEM_\w+|NODE_\w+|NPM_\w+|_?JAVA\w*|JDK\w*"
    r"|CLASSPATH|GO\w*|CARGO\w*|RUSTC?\w*|CC|CXX|CPP|LESS\w*|MAN\w*|GLOBIGNORE|MAKE\w*"
    r"|\w*(?:OPTIONS|FLAGS|OPTS|PRELOAD|CONFIG|PROXY|_proxy|RC|HOOKS?)"
)
"""Variables that change what the shell or its commands do."""

HARMLESS_VARIABLE = re.compile(
    r"LANG|LANGUAGE|LC_\w+|TZ|TERM|NO_COLOR|FORCE_COLOR|CLICOLOR\w*|COLORTERM|COLUMNS|LINES|CI"
    r"|DEBUG|VERBOSE|NODE_ENV|RUST_LOG|RUST_BACKTRACE|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE"
    r"|PYTHONIOENCODING|PYTHONUTF8|PYTHONHASHSEED|GOOS|GOARCH|CGO_ENABLED|SOURCE_DATE_EPOCH"
)
"""Variables that a command may be given without any rule saying so."""
