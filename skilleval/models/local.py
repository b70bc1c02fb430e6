"""Models on this machine: ``local/PATH.gguf``, served by llama.cpp in a process of its own.

The package ``xllamacpp`` brings llama.cpp's server, which speaks the Messages API itself. It
runs in a child, so that native code that crashes or blocks takes nothing else with it. Its
standard input says what to serve and with which key; its end, however the parent ended, ends
the child. The child answers with one line, its address, when the model is loaded. A file has
one server, whoever asks for it; what runs at exit is stopped.

Two things are not as the server alone has them. Where a model's chat template knows no tools,
the server drops them without a word: such a template gets a prelude that writes them out. And
the window is bounded, since its memory is taken at once.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from typing import Any

from skilleval.errors import InputError
from skilleval.models.gguf import read_gguf
from skilleval.terminal import escape

__all__ = [
    "DEFAULT_WINDOW",
    "PREFIX",
    "LocalServer",
    "is_local",
    "local_server",
    "stop_local_servers",
]

PREFIX = "local/"
"""What a model's name begins with; the path of its file follows."""
DEFAULT_WINDOW = 32_768
"""Tokens that a model gets at most where nobody asks for more."""

_START = 300.0
"""Seconds that loading a model may take."""
_ANSWER = 30.0
"""Seconds that a loaded server may take to say what it serves."""
_CACHE_MIB = 1024
"""Memory for prompts that may come again."""
_TOOLS = """\
{%- if tools or messages | selectattr('role', 'equalto', 'tool') | list %}
{%- set ns = namespace(list=[], tools='', after_tool=false) %}
{%- if tools %}
{%- set ns.tools = '# Tools\\n\\nYou may call functions:\\n<tools>' %}
{%- for tool in tools %}{%- set ns.tools = ns.tools + '\\n' + (tool | tojson) %}{%- endfor %}
{%- set ns.tools = ns.tools + '\\n</tools>\\n\\nTo call one, answer with its name and arguments:\\n\
<tool_call>\\n{"name": "NAME", "arguments": {"ARGUMENT": "VALUE"}}\\n</tool_call>\\n\\n' %}
{%- endif %}
{%- for message in messages %}
{%- set is_tool = message['role'] == 'tool' %}
{%- set role = 'user' if is_tool else message['role'] %}
{%- set ns.text = message['content'] or '' %}
{%- if is_tool %}
{%- set ns.text = '<tool_response>\\n' + ns.text + '\\n</tool_response>' %}
{%- elif role == 'user' %}
{%- set ns.text = ns.tools + ns.text %}{%- set ns.tools = '' %}
{%- elif message['tool_calls'] %}
{%- for call in message['tool_calls'] %}
{%- set ns.text = ns.text + ('\\n' if ns.text else '') + '<tool_call>\\n{"name": ' + \
(call['function']['name'] | tojson) + ', "arguments": ' + \
(call['function']['arguments'] | tojson) + '}\\n</tool_call>' %}
{%- endfor %}
{%- endif %}
{%- if role == 'user' and ns.list and ns.list[-1]['role'] == 'user' and \
(is_tool or ns.after_tool) %}
{%- set ns.text = ns.list[-1]['content'] + '\\n' + ns.text %}{%- set ns.list = ns.list[:-1] %}
{%- endif %}
{%- set ns.list = ns.list + [{'role': role, 'content': ns.text}] %}
{%- set ns.after_tool = is_tool %}
{%- endfor %}
{%- set messages = ns.list %}
{%- endif %}
"""
"""Jinja before a template without tools: they and what comes of them become plain text."""


def is_local(model: str) -> bool:
    """Whether a model's name is that of a file on this machine."""
    return model.startswith(PREFIX)


class LocalServer:
    """A GGUF file that is being served; made by ``local_server``.

    Attributes:
        path: of the file.
        base_url, api_key: for clients of the Messages API. It is an address of this machine,
            not to be reached through a proxy.
        pid: of the server's process.
        context_window: in tokens, for prompt and answer together.
        supports_tools: whether the model is told of tools.
    """

    def __init__(self, path: str, window: int) -> None:
        self.path = path
        self.base_url = ""
        self.api_key = os.urandom(24).hex()
        self.context_window = 0
        self.supports_tools = False
        self._owner = os.getpid()
        self._starting = threading.Lock()
        self._ending = threading.Lock()
        self._late = False
        self._ended = ""
        self._log = tempfile.TemporaryFile()
        try:
            self._child = subprocess.Popen(
                [sys.executable, "-P", "-m", __name__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
            )
        except BaseException:
            self._log.close()
            raise
        self.pid = self._child.pid
        self._wish = {"path": path, "api_key": self.api_key, "window": window}

    def ended(self) -> str:
        """How it ended, with the first error in its log; empty while it runs."""
        with self._ending:
            if not self._ended and (code := self._child.poll()) is not None:
                self._ended = _how(code, self._last_words())
            return self._ended

    def stop(self) -> None:
        """End the server's process; only in the process that started it."""
        if os.getpid() != self._owner:
            return
        if not self.ended():
            self._ended = "was stopped"
        self._child.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(_ANSWER)
        with self._ending:
            for file in (self._child.stdin, self._child.stdout, self._log):
                with contextlib.suppress(OSError):  # what it was still to read
                    if file is not None:
                        file.close()

    def _wait(self) -> None:
        """Wait until it answers.

        Raises:
            InputError: it does not.
        """
        with self._starting:
            if self.base_url:
                return
            timer = threading.Timer(_START, self._give_up)
            timer.daemon = True
            timer.start()
            try:
                url = self._handshake()
            finally:
                timer.cancel()
            if self._late:
                raise InputError(
                    f"{escape(self.path)}: not loaded within {_START:g} seconds",
                    remedy="Take a smaller model.",
                )
            if not url:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._child.wait(_ANSWER)
                raise InputError(
                    f"{escape(self.path)}: the server {self.ended() or 'does not answer'}",
                    remedy="Is the file whole, and a model that this xllamacpp can run? Where "
                    "memory is short, take a smaller model or a smaller context window.",
                )
            self.base_url = url

    def _handshake(self) -> str:
        """Its address, once the model is loaded; empty where it failed."""
        stdin, stdout = self._child.stdin, self._child.stdout
        if stdin is None or stdout is None:
            return ""
        try:
            stdin.write(json.dumps(self._wish).encode() + b"\n")
            stdin.flush()
            url = stdout.readline(1000).decode("ascii", "replace").strip()
            if not url:
                return ""
            about = _get(url, "/props", self.api_key)
            self.context_window = int(about["default_generation_settings"]["n_ctx"])
            self.supports_tools = bool(about["chat_template_caps"]["supports_tools"])
        except (OSError, ValueError, KeyError, TypeError):  # it died, or something else answers
            return ""
        return url

    def _give_up(self) -> None:
        self._late = True
        self._child.kill()

    def _last_words(self) -> str:
        if self._log.closed:
            return ""
        self._log.seek(0)
        lines = self._log.read(1 << 20).decode("utf-8", "replace").splitlines()
        lines = [line.strip() for line in lines if line.strip()]
        errors = [m[1] for line in lines if (m := re.match(r"[\d.]+ E (?:\w+ +)?(\w+: .+)", line))]
        return escape((errors[:1] or lines[-1:] or [""])[0])[:300]


def _how(code: int, words: str) -> str:
    how = "ended"
    if code == -getattr(signal, "SIGKILL", 9):
        how = "was killed, perhaps for lack of memory"
    elif code < 0:
        how = f"ended by signal {-code} ({signal.strsignal(-code)})"
    return f"{how}: {words}" if words else how


def _get(url: str, path: str, key: str) -> Any:
    from http.client import HTTPConnection, HTTPException  # takes long to import

    connection = HTTPConnection(url.removeprefix("http://"), timeout=_ANSWER)
    try:
        connection.request("GET", path, headers={"x-api-key": key})
        return json.loads(connection.getresponse().read())
    except HTTPException as error:
        raise ValueError(str(error)) from None
    finally:
        connection.close()


_servers: dict[str, LocalServer] = {}
_lock = threading.Lock()


def local_server(path: str, *, context_window: int | None = None) -> LocalServer:
    """The server of a GGUF file, started where it does not run; waits until it answers.

    Blocks for as long as loading the model takes: in an event loop, call it in a thread.

    Args:
        path: of the file, without ``local/``.
        context_window: tokens for prompt and answer together, bounded by what the model was
            trained for; ``DEFAULT_WINDOW`` where it is None.

    Raises:
        InputError: the file can't be served, or is served with a smaller window.
    """
    if context_window is not None and context_window < 1:
        raise InputError(f"a context window of {context_window:,} tokens makes no sense")
    path = os.path.expanduser(path)
    gguf = read_gguf(path)
    if importlib.util.find_spec("xllamacpp") is None:
        raise InputError(
            "models of this machine need the package xllamacpp",
            remedy="pip install 'skilleval[local]'",
        )
    window = min(context_window or DEFAULT_WINDOW, gguf.context_window or (1 << 31) - 1)
    server = _shared(os.path.realpath(path), window)
    try:
        server._wait()
    except InputError:
        with _lock:
            if _servers.get(server.path) is server:
                del _servers[server.path]
        server.stop()
        raise
    if context_window and server.context_window < window:
        raise InputError(
            f"{escape(path)}: runs with a window of {server.context_window:,} tokens already, "
            f"{window:,} were asked for",
            remedy="Ask for the same context window everywhere.",
        )
    return server


def _shared(path: str, window: int) -> LocalServer:
    with _lock:
        server = _servers.get(path)
        if server is not None and server.ended():
            server.stop()
            server = None
        if server is None:
            atexit.unregister(stop_local_servers)
            atexit.register(stop_local_servers)
            try:
                server = _servers[path] = LocalServer(path, window)
            except OSError as error:
                raise InputError(f"{escape(path)}: can't start a server: {error}") from None
        return server


def stop_local_servers() -> None:
    """Stop every server that this process started."""
    with _lock:
        servers = list(_servers.values())
        _servers.clear()
    for server in servers:
        server.stop()


def _serve() -> None:
    """The child: serve what standard input asks for, until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    wish = json.loads(sys.stdin.buffer.readline())
    answer = os.dup(1)
    os.dup2(2, 1)  # whatever is printed goes to the log
    os.environ["GGML_NO_BACKTRACE"] = "1"  # an abort would start a debugger
    llama: Any = importlib.import_module("xllamacpp")
    params = llama.CommonParams()
    params.model.path = wish["path"]
    params.model_alias = {os.path.basename(wish["path"])}
    params.n_ctx = wish["window"]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [wish["api_key"]]
    params.cors_origins = "http://127.0.0.1"
    params.ui = params.endpoint_slots = False
    params.offline = True
    params.verbosity = 1
    params.cache_ram_mib = _CACHE_MIB
    template = read_gguf(wish["path"]).chat_template
    if template and "tools" not in template:
        params.chat_template = _TOOLS + template
    server = llama.Server(params)
    os.write(answer, f"{server.listening_address}\n".encode())
    sys.stdin.buffer.read()
    os._exit(0)  # at once, whatever it is answering


if __name__ == "__main__":
    _serve()
