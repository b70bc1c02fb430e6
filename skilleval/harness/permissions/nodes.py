"""The kinds of nodes in the parser's tree, by what has to be done about them."""

from __future__ import annotations

import re

__all__ = [
    "ARGUMENTS",
    "DEEP",
    "DEEPEST",
    "EXPANSIONS",
    "EXPRESSIONS",
    "HIDDEN",
    "LEAVES",
    "OPERATORS",
    "QUIET",
    "QUOTES",
    "REDIRECTS",
    "RESERVED",
    "SETS",
    "STATEMENTS",
    "STRINGS",
]

EXPANSIONS = frozenset(
    "simple_expansion expansion command_substitution arithmetic_expansion "
    "process_substitution".split()
)
STATEMENTS = frozenset(
    "program list pipeline subshell compound_statement if_statement elif_clause else_clause "
    "while_statement do_group case_statement case_item negated_command process_substitution "
    "c_style_for_statement".split()
)
EXPRESSIONS = frozenset(
    "binary_expression unary_expression ternary_expression postfix_expression "
    "parenthesized_expression simple_expansion string concatenation array brace_expression "
    "translated_string subscript heredoc_body".split()
)
REDIRECTS = frozenset("file_redirect herestring_redirect heredoc_redirect".split())
DEEP = EXPANSIONS | frozenset(
    "subshell compound_statement if_statement while_statement for_statement case_statement "
    "function_definition parenthesized_expression".split()
)
DEEPEST = 100
QUIET = frozenset(["raw_string", "ansi_c_string", "comment", "heredoc_start", "heredoc_end"])
LEAVES = frozenset(
    "word number string_content variable_name special_variable_name regex extglob_pattern "
    "test_operator heredoc_content file_descriptor".split()
)
ARGUMENTS = EXPANSIONS | frozenset(
    "word string raw_string ansi_c_string translated_string concatenation number "
    "brace_expression".split()
)
HIDDEN = re.compile(rb"`|\$\(|[<>]\(")
"""What begins an expansion that the parser should have seen."""
RESERVED = frozenset(
    "if then else elif fi for while until do done case esac select function { } ! [[ ]] in".split()
)
"""Words that are no commands where a command begins."""
STRINGS = frozenset("string raw_string ansi_c_string translated_string".split())
OPERATORS = re.compile(rb"[\n;&|<>()]")
QUOTES = re.compile(rb"['\"\\`]")
SETS = re.compile(
    r"read|mapfile|readarray|printf|eval|source|\.|getopts|let|unset|local|declare|typeset"
    r"|export|readonly|[^\w./+-].*|.*[^\w./+-].*",
    re.DOTALL,
)
"""Commands that may change a variable, or whose name is not plain."""
