"""The other keys: what is said of odd values, and what is not."""

from __future__ import annotations

from cli.kit import lint, skill_md
from conftest import Write


def test_a_parenthesis_that_never_closes_is_no_unlimited_tool(write: Write) -> None:
    write({"a/SKILL.md": skill_md("a", extra="allowed-tools: Bash(git add *\n")})
    rules = lint().rules
    assert "allowed-tools-format" in rules and "allowed-tools-unlimited" not in rules
