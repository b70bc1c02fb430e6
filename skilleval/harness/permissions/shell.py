"""Walking the tree of a shell command, and noting every command in it.

No kind of node is passed over: what is not known makes the whole unclear. The walk does not
recurse, so that no depth of nesting is too much for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from skilleval.harness.permissions.checks import (
    check_brackets,
    check_evaluated,
    check_expansion,
    check_opening,
)
from skilleval.harness.permissions.nodes import (
    ARGUMENTS,
    DEEP,
    DEEPEST,
    EXPANSIONS,
    EXPRESSIONS,
    HIDDEN,
    LEAVES,
    QUIET,
    REDIRECTS,
    RESERVED,
    SETS,
    STATEMENTS,
)
from skilleval.harness.permissions.parsing import Budget, check_gaps, here_document, parse
from skilleval.harness.permissions.quotes import Hole, Unclear
from skilleval.harness.permissions.units import Redirect, Script, Unit
from skilleval.harness.permissions.words import Word, decode, decode_body, known

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["read_script"]

Scope = Mapping[str, tuple[Word, ...]]


class _Place(NamedTuple):
    """A node that is still to be looked at, and what is known of where it stands."""

    node: Node
    scope: Scope
    repeated: bool = False
    inside: bool = False
    depth: int = 0


def read_script(command: str, home: str, budget: Budget, *, posix: bool = False) -> Script:
    """All commands of a text, those in its substitutions and bodies as well.

    With ``posix`` another shell than bash may run it, to which some things mean something else.
    """
    script = Script()
    try:
        source = command.encode()
        root = parse(source, budget)
    except UnicodeEncodeError:
        script.doubt = "it is no proper text"
    except Unclear as why:
        script.doubt = str(why)
    else:
        _Walker(source, home, script, posix).walk(root)
    return script


class _Walker:
    def __init__(self, source: bytes, home: str, script: Script, posix: bool) -> None:
        self._posix = posix
        self._source = source
        self._home = home
        self._script = script
        self._stack: list[_Place] = []
        self._functions = bool(re.search(rb"\(\s*\)|\bfunction\b", source))

    def walk(self, root: Node) -> None:
        self._stack.append(_Place(root, {}))
        while self._stack:
            place = self._stack.pop()
            try:
                self._visit(place)
            except Unclear as why:
                self._script.doubt = self._script.doubt or str(why)

    def _visit(self, place: _Place) -> None:
        node = place.node
        kind = node.type
        if kind in DEEP:
            place = place._replace(depth=place.depth + 1)
            if place.depth > DEEPEST:
                raise Unclear("it is nested too deep")
        if self._posix and kind in ("ansi_c_string", "translated_string", "function"):
            raise Unclear("to other shells than bash it means something else")
        if not node.is_named:
            return
        if kind in QUIET:
            if kind == "comment" and place.inside:
                raise Unclear("there is a comment in a substitution")
        elif kind in _HANDLERS:
            _HANDLERS[kind](self, place)
        elif kind in LEAVES:
            if HIDDEN.search(self._text(node)):
                raise Unclear("there is an expansion where the parser sees none")
        else:
            raise Unclear(f"it uses a construct that is not known here ({kind})")

    def _unit(self, place: _Place) -> Unit:
        self._script.units.append(Unit(repeated=place.repeated, posix=self._posix))
        return self._script.units[-1]

    def _alone(self, place: _Place) -> None:
        """A redirection without a command."""
        unit = self._unit(place)
        self._redirect(place, unit)

    def _plain(self, place: _Place) -> None:
        self._push(place, place.node.children)

    def _statement(self, place: _Place) -> None:
        node = place.node
        check_gaps(self._source, node.start_byte, node.end_byte, node.children)
        if node.type == "subshell":
            check_opening(self._source, node)
        if node.children and node.children[0].type == "((":
            self._evaluated(place)
        else:
            loop = node.type in ("while_statement", "c_style_for_statement")
            self._push(place._replace(repeated=place.repeated or loop), node.children)

    def _text(self, node: Node) -> bytes:
        return self._source[node.start_byte : node.end_byte]

    def _push(self, place: _Place, nodes: Iterable[Node]) -> None:
        self._stack += [place._replace(node=node) for node in reversed(list(nodes))]

    # Words

    def _words(self, node: Node, place: _Place, unit: Unit) -> list[Word]:
        """What an argument stands for; what it runs on the way is put on the stack."""
        holes = self._holes(node, place)
        try:
            return decode(
                self._source, node.start_byte, node.end_byte, holes, self._home, place.scope
            )
        except Unclear as why:
            unit.question(str(why), anything=True)
            return [Word((None,), True)]

    def _holes(self, node: Node, place: _Place) -> dict[int, Hole]:
        holes: dict[int, Hole] = {}
        found: list[Node] = []
        queue = [node]
        while queue:
            each = queue.pop()
            if self._posix and each.type == "ansi_c_string":
                raise Unclear("to other shells than bash it means something else")
            if each.type not in EXPANSIONS:
                queue += reversed(each.children)
                continue
            text = self._text(each)
            start = each.start_byte + len(text) - len(text.lstrip())
            match = re.fullmatch(rb"\s*\$\{?(\w+)\}?", text)
            name = match[1].decode() if match else ""
            holes[start] = Hole(each.end_byte, name, b"@" in text)
            found.append(each)
        self._stack += [place._replace(node=each) for each in reversed(found)]
        return holes

    # Commands

    def _command(self, place: _Place, children: list[Node] | None = None) -> None:
        """Note a command; those in its substitutions come after it."""
        node = place.node
        unit = self._unit(place)
        children = node.children if children is None else children
        dashes = check_gaps(self._source, node.start_byte, node.end_byte, children, line=True)
        words: list[Word] = []
        for at, child in enumerate(children):
            words += [known("-")] if at in dashes else []
            if child.type == "variable_assignment":
                name, value = self._assignment(child, place, unit)
                unit.assigned.append((name, value))
                if node.type == "declaration_command":
                    words.append(Word((f"{name}=", *value.pieces)))
            elif child.type in REDIRECTS:
                words += self._redirect(place._replace(node=child), unit)
            elif child.type in STATEMENTS - EXPANSIONS or child.type == "test_command":
                self._push(place, [child])
            elif child.type == "command_name" and self._text(child).decode() in RESERVED:
                raise Unclear("the parser takes a word of the shell for a command")
            else:
                words += self._words(child, place, unit)
        unit.words = tuple(words)

    def _redirected(self, place: _Place) -> None:
        """A command or a block with redirections after it, and maybe more arguments."""
        node = place.node
        body, others = node.children[0], node.children[1:]
        if body.type in ("command", "declaration_command", "unset_command"):
            self._command(place, [*body.children, *others])
            return
        unit = self._unit(place)
        block = body.type not in REDIRECTS
        check_gaps(self._source, node.start_byte, node.end_byte, node.children)
        for child in others if block else node.children:
            if self._redirect(place._replace(node=child), unit):
                raise Unclear("there are words after the redirection of a block")
        if block:
            self._push(place, [body])

    def _redirect(self, place: _Place, unit: Unit) -> list[Word]:
        """Note a redirection; the words after it belong to the command and are given back."""
        node = place.node
        if node.type == "heredoc_redirect":
            return self._here(place, unit)
        if node.type not in REDIRECTS:
            raise Unclear("something stands where a redirection should")
        parts = [child for child in node.children if child.type != "file_descriptor"]
        if len(parts) < 2:
            if parts and parts[0].type in (">&-", "<&-"):
                return []
            raise Unclear("a redirection leads nowhere")
        check_gaps(self._source, parts[0].end_byte, node.end_byte, parts[1:], line=True)
        operator, target = parts[0].type, self._words(parts[1], place, unit)
        numbered = len(parts) != len(node.children)
        more = [word for child in parts[2:] for word in self._words(child, place, unit)]
        if len(target) != 1:
            raise Unclear("a redirection leads to several files")
        if operator == "<<<":
            self._feed(unit, None if numbered else target[0])
        elif operator in (">", ">>", ">|", "&>", "&>>"):
            unit.redirects.append(Redirect("write", target[0]))
        elif operator == "<":
            unit.redirects.append(Redirect("read", target[0]))
            self._feed(unit, None)
        elif operator not in ("<&", ">&"):
            raise Unclear(f"the redirection {operator} is not known here")
        elif not re.fullmatch(r"[\w./~%:,@+-]+", target[0].literal or "?"):
            raise Unclear("it is not known where a redirection leads")
        elif operator == "<&":
            self._feed(unit, None)
        elif not re.fullmatch(r"\d+-?|-", target[0].literal or "?"):
            unit.redirects.append(Redirect("write", target[0]))
        return more

    def _feed(self, unit: Unit, text: Word | None) -> None:
        """Note what a command is fed; of two inputs it is not known which one counts."""
        unit.stdin = None if unit.fed else text
        unit.fed = True

    def _here(self, place: _Place, unit: Unit) -> list[Word]:
        node = place.node
        start, end, quoted = here_document(self._source, node)
        words: list[Word] = []
        numbered = False
        body = known(self._source[start:end].decode("utf-8", "replace"))
        for child in node.children:
            if child.type == "heredoc_body":
                holes = self._holes(child, place)
                if not quoted:
                    body = decode_body(self._source, start, end, holes)
            elif child.type in ("file_redirect", "herestring_redirect"):
                words += self._redirect(place._replace(node=child), unit)
            elif child.type in ("heredoc_start", "heredoc_end") or not child.is_named:
                continue
            elif child.type == "file_descriptor":
                numbered = True
            elif child.type in ARGUMENTS:
                words += self._words(child, place, unit)
            else:
                self._push(place, [child])
        self._feed(unit, None if numbered else body)
        return words

    # Variables, loops, functions

    def _assignment(self, node: Node, place: _Place, unit: Unit) -> tuple[str, Word]:
        if any(a.end_byte != b.start_byte for a, b in pairwise(node.children)):
            raise Unclear("an assignment is torn apart")
        name = re.match(rb"\w*", self._text(node))
        value = node.children[-1]
        if len(node.children) < 3 or value.type == "array":
            self._holes(node, place)
            word = known("") if value.type != "array" else Word((None,))
        else:
            index = node.children[0]
            if index.type == "subscript":
                self._stack.append(place._replace(node=index))
            found = self._words(value, place, unit)
            word = found[0] if len(found) == 1 else Word((None,))
        return (name[0].decode() if name else "", word)

    def _assignments(self, place: _Place) -> None:
        node = place.node
        single = node.type == "variable_assignment"
        unit = self._unit(place)
        for child in [node] if single else node.children:
            unit.assigned.append(self._assignment(child, place, unit))

    def _binding(self, place: _Place) -> None:
        """A loop over words, or a function."""
        node = place.node
        check_gaps(self._source, node.start_byte, node.end_byte, node.children)
        kind = "word" if node.type == "function_definition" else "variable_name"
        name = next((child for child in node.children if child.type == kind), None)
        if name is None:
            raise Unclear("a loop or a function has no name")
        if node.type == "function_definition":
            head = [
                child for child in node.children if child.type in ("function", "word", "(", ")")
            ]
            check_gaps(self._source, node.start_byte, head[-1].end_byte, head, line=True)
            self._script.functions.add(self._text(name).decode("utf-8", "replace"))
            rest = [child for child in node.children if child is not name]
            self._push(place._replace(scope={}, repeated=True), rest)
            return
        unit = Unit()
        values: list[Word] = []
        body: list[Node] = []
        for child in node.children:
            if child.type in ("do_group", "compound_statement"):
                body.append(child)
            elif child.is_named and child is not name:
                values += self._words(child, place, unit)
        if unit.doubt:
            raise Unclear(unit.doubt)
        scope = dict(place.scope)
        bound = self._text(name).decode()
        scope.pop(bound, None)
        fixed = all(value.literal is not None or value.pattern for value in values)
        if values and fixed and len(scope) < 3 and self._keeps_variables(body):
            scope[bound] = tuple(values)
        self._push(place._replace(scope=scope, repeated=True), body)

    def _keeps_variables(self, body: list[Node]) -> bool:
        """Whether nothing in the body of a loop can change the loop's variable."""
        if self._functions:
            return False
        queue = list(body)
        while queue:
            node = queue.pop()
            queue += node.children
            kind = node.type
            if kind in ("variable_assignment", "declaration_command", "unset_command"):
                return False
            if kind in ("((", "$((", "$[", "=", ":="):
                return False
            if kind == "command_name" and SETS.fullmatch(
                self._text(node).decode("utf-8", "replace")
            ):
                return False
        return True

    # Places where bash evaluates text once more

    def _evaluated(self, place: _Place) -> None:
        """Tests and arithmetic."""
        check_brackets(self._source, place.node, self._posix)
        check_evaluated(self._source, place.node)
        self._push(place, place.node.children)

    def _expansion(self, place: _Place) -> None:
        check_expansion(self._source, place.node)
        self._push(place, place.node.children)

    def _substitution(self, place: _Place) -> None:
        node = place.node
        check_opening(self._source, node)
        check_gaps(self._source, node.start_byte, node.end_byte, node.children)
        self._push(place._replace(inside=True), node.children)


_HANDLERS: dict[str, Callable[[_Walker, _Place], None]] = {
    **dict.fromkeys(EXPRESSIONS, _Walker._plain),
    **dict.fromkeys(STATEMENTS, _Walker._statement),
    **dict.fromkeys(REDIRECTS, _Walker._alone),
    **dict.fromkeys(("command", "declaration_command", "unset_command"), _Walker._command),
    **dict.fromkeys(("variable_assignment", "variable_assignments"), _Walker._assignments),
    **dict.fromkeys(("test_command", "arithmetic_expansion"), _Walker._evaluated),
    **dict.fromkeys(("for_statement", "function_definition"), _Walker._binding),
    "redirected_statement": _Walker._redirected,
    "expansion": _Walker._expansion,
    "command_substitution": _Walker._substitution,
}
"""What is done about each kind of node; there are no others."""
