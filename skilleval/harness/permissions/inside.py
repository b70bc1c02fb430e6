"""Looking into a command for those that it starts."""

from __future__ import annotations

from skilleval.harness.permissions.edits import is_plain_sed
from skilleval.harness.permissions.special import SPECIAL
from skilleval.harness.permissions.units import Unit
from skilleval.harness.permissions.unwrap import (
    STDIN,
    Code,
    Inside,
    Start,
    guess,
    run_stdin,
    run_text,
    unwrap,
)
from skilleval.harness.permissions.words import known
from skilleval.harness.permissions.wrappers import (
    CODE_OPTIONS,
    CODE_VARIABLE,
    INTERPRETER,
    LOOSE,
    READS_COMMANDS,
    SHELLS,
    WRAPPERS,
)

__all__ = ["look_inside"]


def look_inside(unit: Unit) -> Inside:
    """What a command starts; where that can't be told, the command gets its doubt."""
    inside = Inside()
    words = unit.words
    for name, value in unit.assigned:
        if CODE_VARIABLE.fullmatch(name):
            unit.question(f"it sets {name}, whose value may be run")
            if value.literal:
                inside.code.append(Code(0, value.literal))
    if not words:
        return inside
    if unit.program is None:
        unit.question("what it runs is known only when it runs", anything=True)
        return inside
    names = unit.names
    if names & SHELLS:
        _shell(unit, inside)
    elif name := next((name for name in sorted(names) if name in SPECIAL), ""):
        SPECIAL[name](unit, inside)
    elif name := next((name for name in sorted(names) if name in WRAPPERS), ""):
        unwrap(unit, WRAPPERS[name], inside)
    elif name := next((name for name in sorted(names) if name in LOOSE), ""):
        _loose(unit, LOOSE[name], inside)
    for name in names & CODE_OPTIONS.keys():
        _code_options(unit, CODE_OPTIONS[name], inside)
    if names & READS_COMMANDS:
        run_stdin(unit, inside)
    plain_sed = "sed" in names and is_plain_sed(words)
    if any(INTERPRETER.fullmatch(name) for name in names) and not plain_sed:
        texts = [word.literal for word in words[1:]] + [unit.stdin.literal if unit.stdin else None]
        unit.code = tuple(text for text in texts if text)
    return inside


def _shell(unit: Unit, inside: Inside) -> None:
    """``sh -c text``, ``sh file``, or a shell that reads its commands."""
    words = unit.words
    at, command = 1, False
    while at < len(words):
        text = words[at].literal
        if text is None:
            unit.question("what the shell is told is known only when it runs", anything=True)
            return
        if text in ("-", "--"):
            at += 1
            break
        if text[:1] not in ("-", "+"):
            break
        if text.startswith("--"):
            at += 2 if text in ("--rcfile", "--init-file", "--init-command") else 1
            if text.startswith(("--rcfile", "--init")):
                unit.question("it begins with the commands of a file")
            continue
        command = command or (text[0] == "-" and "c" in text)
        at += 1 + sum(text[1:].count(letter) for letter in "oO")
    if not unit.names & {"sh", "bash", "dash", "ash", "ksh", "mksh", "rbash"}:
        unit.question("it is a shell of another kind", anything=True)
    posix = not unit.names & {"bash", "rbash"}
    if at >= len(words) or (not command and STDIN.fullmatch(words[at].literal or "?")):
        run_stdin(unit, inside, posix)
        inside.clear = True
    elif command:
        run_text(unit, at, words[at], inside, posix)
        inside.clear = True
    elif words[at].literal is None:
        unit.question("the file that it runs is known only when it runs", anything=True)
    else:
        inside.commands.append(Start(at, words[at:], maybe=True))


def _loose(unit: Unit, after: frozenset[str], inside: Inside) -> None:
    if not after:
        guess(unit, 1, inside)
        return
    for at, word in enumerate(unit.words[1:6], 1):
        if word.literal in after:
            guess(unit, at + 1, inside)
            return


def _code_options(unit: Unit, options: frozenset[str], inside: Inside) -> None:
    words = unit.words
    for at, word in enumerate(words[1:], 1):
        text = word.literal
        if text is None:
            if word.pieces and any(str(word.pieces[0]).startswith(each) for each in options):
                unit.question("an option that it runs is known only when it runs", anything=True)
            continue
        name, equals, value = text.partition("=")
        short = next((each for each in options if len(each) == 2 and text.startswith(each)), "")
        if name in options and equals:
            run_text(unit, at, known(value.removeprefix("exec=")), inside)
        elif text in options and at + 1 < len(words):
            run_text(unit, at + 1, words[at + 1], inside)
        elif short and text != short:
            run_text(unit, at, known(text[2:]), inside)
