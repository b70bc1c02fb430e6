"""Commands that start others in ways of their own: builtins of the shell, find, xargs, git."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable

from skilleval.harness.permissions.units import Unit
from skilleval.harness.permissions.unwrap import (
    STDIN,
    UNKNOWN,
    Code,
    Inside,
    Start,
    filled,
    guess,
    joined,
    run_stdin,
    run_text,
    skip_options,
    unwrap,
)
from skilleval.harness.permissions.words import Word, known
from skilleval.harness.permissions.wrappers import GIT_CODE_KEY, WRAPPERS, Wrapper

__all__ = ["SPECIAL"]


def _env(unit: Unit, inside: Inside) -> None:
    """``env -S 'a command'`` is split by env itself; the rest is as with other wrappers."""
    for at, word in enumerate(unit.words[1:], 1):
        text = word.literal or ""
        match = re.match(r"--split-string=?|-[i0v]*S", text)
        if match:
            _split_string(unit, at, text[match.end() :], inside)
            return
        if text and not text.startswith("-") and "=" not in text:
            break
    unwrap(unit, WRAPPERS["env"], inside)
    if any(re.match(r"-[i0v]*C|--chdir", word.literal or "") for word in unit.words[1:8]):
        unit.question("it changes the working directory")


def _split_string(unit: Unit, at: int, text: str, inside: Inside) -> None:
    """The text is split into more arguments of env, in a way of its own."""
    unit.question("it splits a text into a command")
    rest = unit.words[at + 1 :]
    if not text and rest:
        text, rest = rest[0].literal or "$", rest[1:]
    try:
        words = [known(word) for word in shlex.split(text)]
    except ValueError:
        words = []
    if not words or re.search(r"[\\$#]", text):
        unit.question("what it runs is known only when it runs", anything=True)
    inside.commands.append(Start(at, (known("env"), *words, *rest)))


def _xargs(unit: Unit, inside: Inside) -> None:
    how = Wrapper("0oprtx", "adEInPsL", "arg-file delimiter max-args max-procs max-chars")
    words = unit.words
    optional = re.compile(
        r"-[0oprtx]*[ile][^ ]*|--(?:replace|max-lines|eof|null|no-run-if-empty).*"
    )
    kept = [word for word in words if not optional.fullmatch(word.literal or "")]
    shift = len(words) - len(kept)
    at, sure = skip_options(kept, how)
    mark = ""
    for place, word in enumerate(words[: at + shift]):
        text = word.literal or ""
        if match := re.match(r"-[0oprtx]*I(.*)|-[0oprtx]*i(.*)|--replace(?:=(.*))?", text):
            value = next((each for each in match.groups() if each), "")
            after = words[place + 1].literal if "I" in text and place + 1 < len(words) else ""
            mark = value or after or "{}"
    if not sure:
        unit.question("it has options that are not known here")
        guess(unit, 1, inside)
    elif at < len(kept):
        rest = tuple(filled(word, mark) for word in kept[at:])
        tail = () if mark else (UNKNOWN,)
        inside.commands.append(Start(at + shift, (*rest, *tail)))
        inside.clear = True


def _coproc(unit: Unit, inside: Inside) -> None:
    unwrap(unit, WRAPPERS["coproc"], inside)
    if any(word.literal == "{" for word in unit.words):
        unit.question("it is a block with a name")
        guess(unit, 1, inside)


def _parallel(unit: Unit, inside: Inside) -> None:
    """Its words are a text for a shell, and without one its input is."""
    words = unit.words
    unit.question("what it runs depends on its input")
    marks = [at for at, word in enumerate(words) if re.fullmatch(r":{3,4}\+?", word.literal or "")]
    end = marks[0] if marks else len(words)
    for at in range(1, end):
        text = words[at].literal
        if text is None or not text.startswith("-"):
            inside.commands.append(Start(at, (*words[at:end], UNKNOWN), maybe=True))
            if text:
                inside.code.append(Code(at, text))
    for at in range(end + 1, len(words)):
        run_text(unit, at, words[at], inside)
    if all((word.literal or "").startswith("-") for word in words[1:end]) and not marks:
        unit.question("it runs what it is fed", anything=True)


def _find(unit: Unit, inside: Inside) -> None:
    words = unit.words
    if any(word.literal is None and word.many and not word.pattern for word in words[1:]):
        unit.question("what it does depends on text that is known only when it runs", anything=True)
    starts: list[Word] = []
    for word in words[1:]:
        if (word.literal or "-")[:1] in "-(!":
            break
        starts.append(Word((None,), True, f"{word.literal}/**"))
    starts = starts or [Word((None,), True, "./**")]
    file = Word((None,), options=tuple(starts))
    at = 1
    while at < len(words):
        if words[at].literal in ("-exec", "-execdir", "-ok", "-okdir"):
            end = at + 1
            while end < len(words) and words[end].literal not in (";", "+"):
                end += 1
            command = (file if w.literal == "{}" else filled(w, "{}") for w in words[at + 1 : end])
            inside.commands.append(Start(at + 1, tuple(command)))
            at = end
        at += 1


def _eval(unit: Unit, inside: Inside) -> None:
    if len(unit.words) > 1:
        run_text(unit, 1, joined(unit.words[1:]), inside, unit.posix)
    inside.clear = True


def _source(unit: Unit, inside: Inside) -> None:
    file = unit.words[1].literal if len(unit.words) > 1 else None
    if file is None:
        unit.question("the file that it runs is known only when it runs", anything=True)
    elif STDIN.fullmatch(file):
        run_stdin(unit, inside, unit.posix)
    else:
        inside.commands.append(Start(1, unit.words[1:], maybe=True))


def _trap(unit: Unit, inside: Inside) -> None:
    operands = [word for word in unit.words[1:] if (word.literal or "?")[0] != "-"]
    if operands and len(unit.words) > 2:
        run_text(unit, 1, operands[0], inside, unit.posix)


def _alias(unit: Unit, inside: Inside) -> None:
    for at, word in enumerate(unit.words[1:], 1):
        text = word.literal
        if text is None:
            unit.question("an alias is known only when it runs", anything=True)
        elif "=" in text:
            inside.code.append(Code(at, text.partition("=")[2], unit.posix))


def _shuffles(unit: Unit, inside: Inside) -> None:
    """Builtins that change what words mean."""
    if any(
        (word.literal or "-").startswith(("-", "expand_", "extglob")) for word in unit.words[1:]
    ):
        unit.question("it changes what later commands mean", anything=True)


def _evaluates(unit: Unit, inside: Inside) -> None:
    """Builtins that take names of variables: an index in such a name is run."""
    texts = [*unit.words[1:], *([unit.stdin] if unit.stdin else [])]
    if any(re.search(r"`|\$\(", piece or "") for word in texts for piece in word.pieces):
        unit.question("it may run a part of its arguments", anything=True)
    if unit.program in ("mapfile", "readarray") and len(unit.words) > 2:
        unit.question("it may call a command for each line", anything=True)


def _git(unit: Unit, inside: Inside) -> None:
    """Settings and subcommands of git that run something else."""
    words = unit.words
    at = 1
    while at < len(words):
        text = words[at].literal
        if text is None:
            unit.question("git's options are known only when it runs", anything=words[at].many)
            return
        if text in ("-c", "--config-env") and at + 1 < len(words):
            _git_setting(unit, at + 1, words[at + 1].literal, inside)
            at += 1
        elif text.startswith(("--exec-path=", "--config-env=")):
            unit.question("git is told where to find its programs or settings")
        elif text in ("-C", "--git-dir", "--work-tree", "--namespace", "--super-prefix"):
            at += 1
        elif not text.startswith("-"):
            break
        at += 1
    rest = words[at:]
    if len(rest) > 2 and (rest[0].literal, rest[1].literal) == ("bisect", "run"):
        inside.commands.append(Start(at + 2, rest[2:]))
    elif len(rest) > 2 and (rest[0].literal, rest[1].literal) == ("submodule", "foreach"):
        options = [word for word in rest[2:] if not (word.literal or "").startswith("-")]
        run_text(unit, at + 2, joined(options), inside)
    elif rest and rest[0].literal == "filter-branch":
        unit.question("it runs its arguments", anything=True)


def _git_setting(unit: Unit, at: int, text: str | None, inside: Inside) -> None:
    key, _, value = (text or "").partition("=")
    if text is None or GIT_CODE_KEY.search(key):
        unit.question("git is given a setting that may be run", anything=text is None)
        if value.startswith("!") or not key.lower().startswith("alias."):
            inside.code.append(Code(at, value.removeprefix("!")))
        else:
            inside.commands.append(Start(at, (known("git"), known(value)), maybe=True))


def _doubtful(unit: Unit, inside: Inside) -> None:
    unit.question("it may run other commands", anything=True)


SPECIAL: dict[str, Callable[[Unit, Inside], None]] = {
    ".": _source,
    "alias": _alias,
    "bind": _doubtful,
    "compgen": _doubtful,
    "complete": _doubtful,
    "coproc": _coproc,
    "declare": _evaluates,
    "enable": _shuffles,
    "env": _env,
    "eval": _eval,
    "export": _evaluates,
    "find": _find,
    "git": _git,
    "hash": _shuffles,
    "let": _evaluates,
    "local": _evaluates,
    "mapfile": _evaluates,
    "parallel": _parallel,
    "printf": _evaluates,
    "read": _evaluates,
    "readarray": _evaluates,
    "readonly": _evaluates,
    "shopt": _shuffles,
    "source": _source,
    "test": _evaluates,
    "trap": _trap,
    "typeset": _evaluates,
    "unset": _evaluates,
    "xargs": _xargs,
}
"""What is done about each of them."""
