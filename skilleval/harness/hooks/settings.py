"""Reading hooks from a settings file of Claude Code, as it is."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, cast

from skilleval.errors import InputError
from skilleval.harness.hooks.contract import EVENTS
from skilleval.harness.hooks.events import HookEvent
from skilleval.harness.hooks.hook import Hook, Kind
from skilleval.skill.disk import TooLarge, read

__all__ = ["read_hooks"]

_LARGEST = 4 * 1024 * 1024
_COMMON = {"type", "if", "timeout", "statusMessage", "onFailure"}
_KEYS = {
    "command": _COMMON | {"command", "args", "shell"},
    "http": _COMMON | {"url", "headers", "allowedEnvVars"},
    "prompt": _COMMON | {"prompt"},
}
"""What a hook of each kind may hold in a file."""

T = TypeVar("T")


def read_hooks(path: str | os.PathLike[str], *, warnings: list[str] | None = None) -> list[Hook]:
    """Read the hooks of a ``settings.json``, or of a ``hooks.json`` of a plugin.

    Hooks run commands with all that the caller may do. So this is for files that the user has
    named; settings that lie in the workspace under test belong to what is tested, and are
    never looked for.

    Args:
        path: the file. Settings other than hooks are none of our business.
        warnings: gets a sentence for everything that is left out or not followed.

    Raises:
        InputError: the file can't be read, is no JSON, or has a hook that makes no sense.
    """
    name = os.fspath(path)
    settings = _load(name)
    reader = _Reader(name, [] if warnings is None else warnings)
    return reader.read(settings)


def _load(name: str) -> Any:
    try:
        return json.loads(read(name, _LARGEST, follow=True).decode("utf-8-sig"))
    except TooLarge:
        raise InputError(f"{name}: larger than {_LARGEST >> 20} MB") from None
    except OSError as error:
        raise InputError(f"{name}: {error.strerror}") from None
    except json.JSONDecodeError as error:
        place = f"{name}:{error.lineno}:{error.colno}"
        raise InputError(f"{place}: no JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: no JSON: {error}") from None


class _Reader:
    """Goes through a file; every complaint says where."""

    def __init__(self, name: str, warnings: list[str]) -> None:
        self.name = name
        self.warnings = warnings

    def warn(self, place: str, text: str) -> None:
        self.warnings.append(f"{self.name}: {place}: {text}")

    def wrong(self, place: str, text: str, remedy: str = "") -> InputError:
        return InputError(f"{self.name}: {place}: {text}", remedy=remedy)

    def want(self, value: Any, kind: type[T], what: str, place: str) -> T:
        if not isinstance(value, kind):
            raise self.wrong(place, f"not {what}")
        return value

    def read(self, settings: Any) -> list[Hook]:
        settings = self.want(settings, dict, "an object", "the file")
        events = self.want(settings.get("hooks", {}), dict, "an object", "hooks")
        if settings.get("disableAllHooks") is True:
            self.warn("disableAllHooks", "it is true, so that no hook is read")
            return []
        hooks: list[Hook] = []
        for event, groups in events.items():
            place = f"hooks.{event}"
            if event not in set(HookEvent):
                self.warn(place, "no event of this harness; its hooks are not read")
                continue
            for i, group in enumerate(self.want(groups, list, "a list", place)):
                hooks += self.group(HookEvent(event), group, f"{place}[{i}]")
        return hooks

    def group(self, event: HookEvent, group: Any, place: str) -> list[Hook]:
        group = self.want(group, dict, "an object", place)
        self.unknown(group, {"matcher", "hooks"}, place)
        matcher = group.get("matcher")
        matcher = "" if matcher is None else self.want(matcher, str, "text", f"{place}.matcher")
        if matcher not in ("", "*") and not EVENTS[event].subject:
            self.warn(f"{place}.matcher", f"{event} has nothing to match, so it is not tried")
        handlers = self.want(group.get("hooks"), list, "a list", f"{place}.hooks")
        read = (
            self.handler(event, matcher, handler, f"{place}.hooks[{i}]")
            for i, handler in enumerate(handlers)
        )
        hooks = [hook for hook in read if hook is not None]
        if event is HookEvent.FILE_CHANGED and not any(hook.watches for hook in hooks):
            self.warn(f"{place}.matcher", "it names no file, so that none is watched for it")
        return hooks

    def handler(self, event: HookEvent, matcher: str, handler: Any, place: str) -> Hook | None:
        handler = self.want(handler, dict, "an object", place)
        kind = self.want(handler.get("type"), str, "text", f"{place}.type")
        if kind not in _KEYS:
            self.warn(place, f"the type {kind!r} is not known here; the hook is not read")
            return None
        if kind == "prompt" and not EVENTS[event].can_block:
            self.warn(place, f"{event} blocks nothing, so a prompt is not asked; it is not read")
            return None
        if handler.get("shell") not in (None, "sh", "bash"):
            self.warn(place, f"the shell {handler['shell']!r} is not known here; it is not read")
            return None
        self.unknown(handler, _KEYS[kind], place)
        fields = self.work(kind, handler, place) | {
            "timeout": self.timeout(handler, place),
            "on_failure": self.on_failure(event, handler, place),
            "condition": self.text(handler, "if", place),
            "name": place.removeprefix("hooks."),
            "source": self.name,
        }
        try:
            return Hook(event=event, kind=cast(Kind, kind), matcher=matcher, **fields)
        except InputError as error:
            raise self.wrong(place, error.message, error.remedy) from None

    def work(self, kind: str, handler: Mapping[str, Any], place: str) -> dict[str, Any]:
        """What a hook runs, by its kind."""
        if kind == "prompt":
            return {"prompt": self.text(handler, "prompt", place)}
        if kind == "http":
            return {
                "url": self.text(handler, "url", place),
                "headers": self.headers(handler, place),
                "variables": self.texts(handler, "allowedEnvVars", place),
            }
        return {
            "command": self.text(handler, "command", place),
            "args": None if handler.get("args") is None else self.texts(handler, "args", place),
            "shell": self.text(handler, "shell", place) or "sh",
        }

    def text(self, handler: Mapping[str, Any], key: str, place: str) -> str:
        value = handler.get(key)
        return "" if value is None else self.want(value, str, "text", f"{place}.{key}")

    def texts(self, handler: Mapping[str, Any], key: str, place: str) -> tuple[str, ...]:
        values = handler.get(key)
        values = [] if values is None else self.want(values, list, "a list", f"{place}.{key}")
        return tuple(self.want(each, str, "a list of texts", f"{place}.{key}") for each in values)

    def headers(self, handler: Mapping[str, Any], place: str) -> tuple[tuple[str, str], ...]:
        headers = self.want(handler.get("headers") or {}, dict, "an object", f"{place}.headers")
        for value in headers.values():
            self.want(value, str, "an object of texts", f"{place}.headers")
        return tuple(headers.items())

    def timeout(self, handler: Mapping[str, Any], place: str) -> float | None:
        value = handler.get("timeout")
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            raise self.wrong(f"{place}.timeout", "not a number of seconds")
        return value

    def on_failure(
        self, event: HookEvent, handler: Mapping[str, Any], place: str
    ) -> Literal["continue", "block"]:
        value = handler.get("onFailure")
        if value == "block" and EVENTS[event].can_block:
            return "block"
        if value == "block":
            self.warn(f"{place}.onFailure", f"{event} blocks nothing, so it is not followed")
        elif value not in (None, "continue"):
            self.warn(f"{place}.onFailure", f"{value!r} is neither `continue` nor `block`")
        return "continue"

    def unknown(self, found: Mapping[str, Any], known: set[str], place: str) -> None:
        for key in sorted(found.keys() - known):
            self.warn(f"{place}.{key}", "not known here, and not followed")
