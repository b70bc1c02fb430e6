"""Which MCP servers to connect, as ``.mcp.json`` writes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from skilleval.errors import InputError

__all__ = ["ServerConfig", "read_servers"]

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_HTTP = ("http", "streamable-http", "streamable_http")


class ServerConfig(NamedTuple):
    """An MCP server.

    Attributes:
        name: what its tools' names hold.
        command: what starts it; none where it is reached by HTTP.
        environment: variables that it gets.
        url: where it is reached by HTTP; empty where it is started.
        headers: of each HTTP request.
    """

    name: str
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = {}
    url: str = ""
    headers: Mapping[str, str] = {}


def read_servers(content: object, environment: Mapping[str, str]) -> list[ServerConfig]:
    """The servers that the content of an ``.mcp.json`` names, in its order.

    Args:
        content: an object with ``mcpServers``.
        environment: what ``${NAME}`` and ``${NAME:-otherwise}`` stand for; nothing else is
            looked up, so that no server gets what it was not given.

    Raises:
        InputError: it makes no sense; it says where.
    """
    servers = content.get("mcpServers") if isinstance(content, Mapping) else None
    if not isinstance(servers, Mapping):
        raise InputError("the MCP settings have no object called mcpServers")
    return [_server(str(name), entry, environment) for name, entry in servers.items()]


def _server(name: str, entry: object, environment: Mapping[str, str]) -> ServerConfig:
    if not isinstance(entry, Mapping):
        raise InputError(f"MCP server {name}: an object is expected")
    kind = entry.get("type", "http" if "url" in entry else "stdio")
    reader = _Reader(name, entry, environment)
    if kind == "stdio":
        command = (reader.text("command"), *reader.texts("args"))
        return ServerConfig(name, command, reader.mapping("env"))
    if kind in _HTTP:
        url = reader.text("url")
        if not url.startswith(("http://", "https://")):
            raise InputError(f"MCP server {name}: url must begin with http:// or https://")
        return ServerConfig(name, url=url, headers=reader.mapping("headers"))
    raise InputError(
        f"MCP server {name}: servers of type {kind!r} can't be connected",
        remedy="Use stdio or http.",
    )


class _Reader:
    """Reads the values of one server."""

    def __init__(self, name: str, entry: Mapping[Any, Any], environment: Mapping[str, str]) -> None:
        self.name = name
        self.entry = entry
        self.environment = environment

    def text(self, key: str) -> str:
        value = self.entry.get(key)
        if not isinstance(value, str) or not value:
            raise InputError(f"MCP server {self.name}: {key} must be a text")
        return self._expanded(value)

    def texts(self, key: str) -> list[str]:
        value = self.entry.get(key, [])
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise InputError(f"MCP server {self.name}: {key} must be a list of texts")
        return [self._expanded(each) for each in value]

    def mapping(self, key: str) -> dict[str, str]:
        value = self.entry.get(key, {})
        if not isinstance(value, Mapping) or not all(
            isinstance(each, str) for each in value.values()
        ):
            raise InputError(f"MCP server {self.name}: {key} must be an object of texts")
        return {str(each): self._expanded(text) for each, text in value.items()}

    def _expanded(self, text: str) -> str:
        def put(found: re.Match[str]) -> str:
            value = self.environment.get(found[1], found[2])
            if value is None:
                raise InputError(
                    f"MCP server {self.name}: the variable {found[1]} is not set",
                    remedy=f"Set it, or write ${{{found[1]}:-…}} with what to take otherwise.",
                )
            return value

        return _VARIABLE.sub(put, text)
