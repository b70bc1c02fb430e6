"""The tools that a model calls: read, change and find files, run commands, load skills.

Every path is opened beneath the sandbox's mounts (``beneath.py``), every command runs in the
sandbox, and every result keeps to the budgets and says what it left out.
"""

from __future__ import annotations

from skilleval.harness.tools.background import Background
from skilleval.harness.tools.base import Block, Tool, ToolContext, ToolError, ToolResult
from skilleval.harness.tools.budgets import Budgets
from skilleval.harness.tools.checking import check_input
from skilleval.harness.tools.ledger import FileLedger, Known
from skilleval.harness.tools.mcp import McpServers
from skilleval.harness.tools.mcp_config import ServerConfig, read_servers
from skilleval.harness.tools.registry import standard_tools

__all__ = [
    "Background",
    "Block",
    "Budgets",
    "FileLedger",
    "Known",
    "McpServers",
    "ServerConfig",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolResult",
    "check_input",
    "read_servers",
    "standard_tools",
]
