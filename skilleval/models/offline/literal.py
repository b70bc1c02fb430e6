"""The policy that does literally what it is told; no language model.

It compares the words of the query with the descriptions on offer (``words``), loads the skill
that fits best where the score reaches its threshold, runs the shell blocks of its instructions
as they stand, one call a block, and reports what they printed. The three thresholds were
chosen on the sample suites (``evals/``, ``skills/*/evals/``): ``offline/literal`` gets most of
them right, ``offline/eager`` loads a skill for a word in common, ``offline/shy`` hardly ever,
so that evaluations have something to tell apart.
"""

from __future__ import annotations

import posixpath
import shlex
from dataclasses import dataclass
from typing import NamedTuple

from skilleval.models.messages import Request
from skilleval.models.offline.conversation import Conversation, Loaded, Tried, skill_file
from skilleval.models.offline.offered import Listed, tool_input
from skilleval.models.offline.shell import commands_in, files_in, quoted, substitute
from skilleval.models.offline.turns import Turn, text_block, tool_block
from skilleval.models.offline.words import index_of

__all__ = ["EAGER", "LITERAL", "SHY", "Literal"]

_MOST_COMMANDS = 10
_SHOWN = 2_000
"""Characters of a command's output that the report repeats."""
_QUERY = 20_000
"""Characters of a query that are looked at."""


class _Match(NamedTuple):
    skill: Listed
    score: float


@dataclass(frozen=True)
class Literal:
    """Matches words, loads the skill, runs its shell blocks, reports.

    Attributes:
        name: what it is called.
        threshold: the score from which it loads a skill.
    """

    name: str
    threshold: float

    def answer(self, request: Request) -> Turn:
        """The next turn: load a skill, run the next command, or report."""
        seen = Conversation(request)
        match = _best(seen)
        skill = _at_hand(seen)
        wanted = match if match and match.score >= self.threshold else None
        if skill is None and wanted:
            if not _tried_to_load(seen):
                turn = _load(seen, wanted.skill)
                if turn:
                    return turn
            skill = _loaded_before(seen, wanted.skill)
        if skill is None:
            return self._say(_why_not(seen, match, self.threshold))
        return self._carry_out(seen, skill, match)

    def _carry_out(self, seen: Conversation, skill: Loaded, match: _Match | None) -> Turn:
        arguments = quoted(files_in(seen.query[:_QUERY]))
        body = substitute(skill.body, skill.folder, arguments)
        commands = commands_in(body)
        planned, ran = commands[:_MOST_COMMANDS], seen.ran()
        bash = seen.tools.get("bash")
        if bash is not None:
            done = {call.text("command") for call in ran}
            for number, command in enumerate(planned, 1):
                if command not in done:
                    note = f"Run shell block {number} of the skill {skill.name}"
                    given = tool_input(bash, {"command": command}, {"description": note})
                    return Turn((tool_block(str(bash["name"]), given),))
        score = f" (score {match.score:.2f})" if match and _same(match.skill, skill) else ""
        lines = [f"The skill {skill.name} is loaded{score}."]
        if not commands:
            lines.append("Its instructions hold no shell block, so there is nothing to run.")
        elif bash is None:
            lines.append("There is no tool to run commands with. Its instructions say:")
            lines += [_fenced(command) for command in planned]
        else:
            lines.append(f"Run as they stand in its instructions: {_count(ran)}.")
            lines += [_account(call) for call in ran]
        if len(commands) > _MOST_COMMANDS:
            lines.append(f"{len(commands) - _MOST_COMMANDS} further blocks were left out.")
        return self._say("\n\n".join(lines))

    def _say(self, text: str) -> Turn:
        kind = (
            f"{self.name} is no language model: it compares the words of a query with the "
            "descriptions of skills and runs the shell blocks of the skill that fits."
        )
        return Turn((text_block(f"{text}\n\n{kind}"),))


LITERAL = Literal("offline/literal", 0.43)
EAGER = Literal("offline/eager", 0.15)
SHY = Literal("offline/shy", 0.68)


def _best(seen: Conversation) -> _Match | None:
    """The skill on offer that fits the query best, the first of equals."""
    if not seen.listing:
        return None
    index = index_of(tuple(f"{skill.name} {skill.text}" for skill in seen.listing))
    scores = index.scores(seen.query[:_QUERY])
    at = max(range(len(scores)), key=scores.__getitem__)
    return _Match(seen.listing[at], scores[at])


def _at_hand(seen: Conversation) -> Loaded | None:
    """The skill that was loaded for this query; the first, where there are several."""
    return next((skill for skill in seen.loaded if skill.at >= seen.asked_at), None)


def _loaded_before(seen: Conversation, wanted: Listed) -> Loaded | None:
    """A skill that an earlier query loaded: clients do not repeat instructions."""
    return next((skill for skill in reversed(seen.loaded) if _same(wanted, skill)), None)


def _same(listed: Listed, skill: Loaded) -> bool:
    return listed.name.rpartition(":")[2] == skill.name or _base(listed.folder) == skill.name


def _base(folder: str) -> str:
    return posixpath.basename(folder.rstrip("/"))


def _tried_to_load(seen: Conversation) -> Tried | None:
    return next((c for c in seen.since if c.tool == "skill" or skill_file(c)), None)


def _load(seen: Conversation, skill: Listed) -> Turn | None:
    """The call that loads a skill; None where no tool could."""
    tools = seen.tools
    if "skill" in tools:
        arguments = quoted(files_in(seen.query[:_QUERY]))
        extra = {"args": arguments} if arguments else {}
        given = tool_input(tools["skill"], {"skill": skill.name}, extra)
        return Turn((tool_block(str(tools["skill"]["name"]), given),))
    if not skill.folder:
        return None
    path = posixpath.join(skill.folder, "SKILL.md")
    if "read" in tools:
        given = tool_input(tools["read"], {"file_path": path}, {})
        return Turn((tool_block(str(tools["read"]["name"]), given),))
    if "bash" in tools:
        note = {"description": f"Read the skill {skill.name}"}
        given = tool_input(tools["bash"], {"command": f"cat {shlex.quote(path)}"}, note)
        return Turn((tool_block(str(tools["bash"]["name"]), given),))
    return None


def _why_not(seen: Conversation, match: _Match | None, threshold: float) -> str:
    if match is None:
        return "This request lists no skills."
    if match.score < threshold:
        if not match.score:
            return "No skill has a word in common with the query."
        return (
            f"No skill fits the query. The nearest is {match.skill.name} with a score of "
            f"{match.score:.2f}; {threshold:.2f} is needed."
        )
    tried = _tried_to_load(seen)
    if tried is None:
        return f"{match.skill.name} fits the query, but there is no tool to load it with."
    if tried.failed or not tried.result:
        said = _bounded(tried.result or "no result came back")
        return f"{match.skill.name} fits the query, but loading it failed: {said}"
    return f"{match.skill.name} was called and answered:\n\n{_bounded(tried.result)}"


def _count(ran: list[Tried]) -> str:
    failed = sum(call.failed for call in ran)
    said = f"{len(ran)} command{'' if len(ran) == 1 else 's'}"
    return f"{said}, of which {failed} failed" if failed else said


def _account(call: Tried) -> str:
    """A command and what came of it."""
    said = _bounded(call.result or "(no output)")
    return f"{_fenced('$ ' + call.text('command'))}\n{'failed: ' if call.failed else ''}{said}"


def _fenced(command: str) -> str:
    fence = "```"
    while fence in command:
        fence += "`"
    return f"{fence}bash\n{command}\n{fence}"


def _bounded(text: str) -> str:
    if len(text) <= _SHOWN:
        return text
    return f"{text[:_SHOWN]}\n[{len(text) - _SHOWN:,} more characters not repeated]"
