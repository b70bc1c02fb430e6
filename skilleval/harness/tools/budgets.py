"""How much a tool may give back at once; every number is a setting."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BYTES_PER_TOKEN", "DEFAULT", "Budgets", "tokens_of"]

BYTES_PER_TOKEN = 4
"""Tokens are estimates: this many bytes of UTF-8 each."""


@dataclass(frozen=True)
class Budgets:
    """What the tools keep to.

    Attributes:
        read_lines: lines of a file that one Read shows.
        read_tokens: estimated tokens of a file that one Read shows.
        read_bytes: size of the largest text file that Read goes through, in bytes.
        line_characters: characters of one line that Read and a detailed Grep show.
        image_bytes: size of the largest image, in bytes of the file; the Messages API takes
            5 MB of base64.
        image_pixels: longest side of the largest image, in pixels.
        pdf_bytes: size of the largest PDF, in bytes of the file.
        edit_bytes: size of the largest file that Edit changes, and of what Write writes.
        grep_results: lines or files that one Grep shows.
        grep_seconds: time that a search may take.
        glob_results: files that one Glob shows.
        entries: files and folders that Glob, or Grep without ripgrep, looks at.
        search_characters: characters of a result of Grep or Glob.
        bash_characters: characters of a command's output that Bash shows.
        bash_timeout_ms: time that a command has where the model says nothing, in milliseconds.
        bash_longest_ms: the longest time that a model may ask for, in milliseconds.
        output_bytes: bytes of a whole output that are kept in a file.
        memory_characters: characters of one file of the memory.
        mcp_start_seconds: time that an MCP server has to start and to list its tools.
        mcp_call_seconds: time that a call of an MCP tool may take.
        mcp_warning_tokens: estimated tokens of an MCP result from which on it says how large
            it is.
        mcp_tokens: estimated tokens of an MCP result that are shown; a tool that states
            ``anthropic/maxResultSizeChars`` has that limit in its place.
        mcp_most_characters: the highest value of ``anthropic/maxResultSizeChars`` that counts.
    """

    read_lines: int = 2_000
    read_tokens: int = 25_000
    read_bytes: int = 200_000_000
    line_characters: int = 2_000
    image_bytes: int = 3_750_000
    image_pixels: int = 8_000
    pdf_bytes: int = 10_000_000
    edit_bytes: int = 10_000_000
    grep_results: int = 250
    grep_seconds: float = 20.0
    glob_results: int = 100
    entries: int = 200_000
    search_characters: int = 100_000
    bash_characters: int = 30_000
    bash_timeout_ms: int = 120_000
    bash_longest_ms: int = 600_000
    output_bytes: int = 50_000_000
    memory_characters: int = 100_000
    mcp_start_seconds: float = 30.0
    mcp_call_seconds: float = 120.0
    mcp_warning_tokens: int = 10_000
    mcp_tokens: int = 25_000
    mcp_most_characters: int = 500_000


DEFAULT = Budgets()


def tokens_of(size: int) -> int:
    """The estimated tokens of so many bytes."""
    return -(-size // BYTES_PER_TOKEN)
