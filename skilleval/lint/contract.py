"""The SKILL.md contract as data: who says what, which keys exist, how long things may be.

Sources as read on 2026-11-30. Where they contradict each other, the rule that rests on them
says so in its message.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "API",
    "BOOLEAN_WORDS",
    "CLAUDE_CODE",
    "CLAUDE_CODE_KEYS",
    "MAX_BODY_LINES",
    "MAX_BODY_TOKENS",
    "MAX_COMPATIBILITY",
    "MAX_DESCRIPTION",
    "MAX_NAME",
    "PACKAGE",
    "PRACTICE",
    "RESERVED_WORDS",
    "SKILLEVAL",
    "SKILLS_REF",
    "SPEC",
    "SPEC_KEYS",
    "UNICODE",
    "YAML",
    "tokens",
]

SPEC: Final = "agentskills.io specification (2026-08-09)"
SKILLS_REF: Final = "skills-ref 0.1.1, the reference library of agentskills.io"
API: Final = "Claude platform documentation, Agent Skills (2026-08-22)"
PACKAGE: Final = "quick_validate.py of anthropics/skills (2026-07-01)"
CLAUDE_CODE: Final = "Claude Code documentation (2026-08-22) and CLI 2.1.332, measured"
PRACTICE: Final = "Claude platform documentation, skill authoring best practices (2026-08-22)"
YAML: Final = "YAML 1.2.2"
UNICODE: Final = "Unicode Technical Standard 39, security mechanisms"
SKILLEVAL: Final = "skilleval: seen to go wrong in public skills"

MAX_NAME: Final = 64
MAX_DESCRIPTION: Final = 1_024
MAX_COMPATIBILITY: Final = 500
MAX_BODY_LINES: Final = 500
MAX_BODY_TOKENS: Final = 5_000

SPEC_KEYS: Final = (
    "name",
    "description",
    "license",
    "compatibility",
    "metadata",
    "allowed-tools",
)

CLAUDE_CODE_KEYS: Final = (
    "when_to_use",
    "argument-hint",
    "arguments",
    "disable-model-invocation",
    "user-invocable",
    "disallowed-tools",
    "model",
    "effort",
    "context",
    "agent",
    "background",
    "hooks",
    "paths",
    "shell",
    "version",
)
"""Keys that Claude Code reads (``version``: accepts) beside those of the specification."""

BOOLEAN_WORDS: Final = frozenset({"true", "false", "yes", "no", "on", "off", "1", "0"})
"""What Claude Code takes for a boolean, in any case."""

RESERVED_WORDS: Final = ("anthropic", "claude")


def tokens(size: int) -> int:
    """About how many tokens a text of so many UTF-8 bytes is, at four bytes a token.

    An estimate: English prose comes to 4 to 4.5 bytes a token, code to about 3.5, and a
    three-byte CJK character to about one token.
    """
    return (size + 3) // 4
