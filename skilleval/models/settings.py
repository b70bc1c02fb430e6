"""Which model a name stands for, and what the user's settings say about it.

``[models.NAME]`` in ``skilleval.toml`` (``[tool.skilleval.models.NAME]`` in
``pyproject.toml``) adds a model or overrides a known one. A settings file may come with a
repository that somebody else wrote: it can name environment variables that start with
``SKILLEVAL_`` only, so that no such file can have other keys sent to an address of its own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from skilleval.errors import InputError, SettingsError
from skilleval.models.tiers import Effort, Prices, Thinking, Tier, find_tier
from skilleval.redaction import hide, redact
from skilleval.settings import find_table

__all__ = [
    "DEFAULT_KEY",
    "Limits",
    "Model",
    "ModelSettings",
    "check_base_url",
    "fill_in",
    "find_model",
    "read_models",
]

DEFAULT_KEY = "ANTHROPIC_API_KEY"
_OWN_KINDS = ("offline/", "local/")
_UNKNOWN_WINDOW, _UNKNOWN_OUTPUT = 200_000, 8_192
"""What is assumed of a model that nothing is known about."""
_OWN_VARIABLE = re.compile(r"SKILLEVAL_[A-Z0-9_]+\Z")
_REFERENCE = re.compile(r"\$\{([^{}]*)\}")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_HEADER_VALUE = re.compile(r"[\x20-\x7e]*\Z")
_OUR_HEADERS = re.compile(
    r"(?:accept-encoding|connection|content-(?:encoding|length|type)|host|transfer-encoding"
    r"|x-stainless-.*)\Z",
    re.I,
)
"""Headers that belong to how a request travels; others would break it."""
_MOST = 1e12
_MOST_RETRIES = 100


class Limits(NamedTuple):
    """How much a model may be asked.

    Attributes:
        concurrency: requests in flight at most; fewer while the endpoint refuses some.
        requests_per_minute, input_tokens_per_minute, output_tokens_per_minute: None for no
            limit of ours. Tokens that a cache serves do not count.
        retries: how often a request is tried again.
    """

    concurrency: int = 100
    requests_per_minute: int | None = None
    input_tokens_per_minute: int | None = None
    output_tokens_per_minute: int | None = None
    retries: int = 4


@dataclass
class ModelSettings:
    """What a ``[models.NAME]`` table may say; everything is optional.

    Attributes:
        id: the model's name in requests (default: the table's name).
        base_url: where the endpoint is, without ``/v1``.
        key_env: the variable that holds its key.
        headers: sent with each request; ``${SKILLEVAL_NAME}`` is filled in from the
            environment.
        input, output, cache_read, cache_write, long_input: dollars per million tokens.
        context_window, max_output: tokens.
        thinking, effort: how it is asked to think and try.
        concurrency, requests_per_minute, input_tokens_per_minute, output_tokens_per_minute,
            retries: see Limits.
    """

    id: str | None = None
    base_url: str | None = None
    key_env: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None
    long_input: float | None = None
    context_window: int | None = None
    max_output: int | None = None
    thinking: Thinking | None = None
    effort: Effort | None = None
    concurrency: int | None = None
    requests_per_minute: int | None = None
    input_tokens_per_minute: int | None = None
    output_tokens_per_minute: int | None = None
    retries: int | None = None


@dataclass(frozen=True)
class Model:
    """A model that can be asked.

    Attributes:
        name: what the user calls it.
        tier: what is known about it.
        known: whether its window and limits are known, or assumed.
        base_url: where its endpoint is; None for the SDK's own default.
        key_env: the variable that holds the key; None where it needs none.
        headers: sent along, references to variables not yet filled in.
        limits: how much it may be asked.
    """

    name: str
    tier: Tier
    known: bool = True
    base_url: str | None = None
    key_env: str | None = DEFAULT_KEY
    headers: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)

    @property
    def provider(self) -> str:
        """Who answers: ``anthropic``, ``offline``, ``local``, or the endpoint's host."""
        for kind in ("offline", "local"):
            if self.name.startswith(f"{kind}/"):
                return kind
        return urlsplit(self.base_url).netloc.rpartition("@")[2] if self.base_url else "anthropic"


def read_models(folder: str = ".") -> dict[str, ModelSettings]:
    """The models of the settings that hold in a folder.

    Raises:
        SettingsError: the settings are broken, or say something that makes no sense.
    """
    found = find_table("models", folder)
    if found is None:
        return {}
    path, table = found
    return {name: _settings(path, name, entry) for name, entry in table.items()}


def find_model(name: str, settings: Mapping[str, ModelSettings]) -> Model:
    """The model that a name stands for; unknown ones are taken as they are, without prices.

    A short name gets the settings of the model that it stands for, where it has none itself.

    Raises:
        InputError: the name is empty, or has blanks or control characters in it; or
            ``ANTHROPIC_BASE_URL``, which it would be asked at, is no address.
    """
    if not _is_name(name):
        raise InputError(f"{name!r} is no name of a model", remedy="See: skilleval models.")
    if name.startswith(_OWN_KINDS):
        return Model(name, _free(name), key_env=None)
    tier = find_tier(name)
    own = settings.get(name) or (settings.get(tier.id) if tier else None) or ModelSettings()
    if own.id:
        tier = find_tier(own.id)
    merged = _merge(tier or _unknown(own.id or name), own)
    known = tier is not None or own.context_window is not None
    base, key = own.base_url, own.key_env
    if base is None:
        key = key or DEFAULT_KEY
        base = os.environ.get("ANTHROPIC_BASE_URL") or None
        if base is not None:
            check_base_url(base, "ANTHROPIC_BASE_URL")
    return Model(name, merged, known, base, key or None, own.headers, _limits(own))


def _is_name(name: str) -> bool:
    blanks = " " in name and not name.startswith(_OWN_KINDS)
    return name.isprintable() and name not in ("", *_OWN_KINDS) and not blanks


def _free(name: str) -> Tier:
    return Tier(name, _UNKNOWN_WINDOW, _UNKNOWN_OUTPUT, Prices(0, 0, 0, 0))


def _unknown(name: str) -> Tier:
    return Tier(name, _UNKNOWN_WINDOW, _UNKNOWN_OUTPUT, None)


def _limits(own: ModelSettings) -> Limits:
    given = {name: getattr(own, name) for name in Limits._fields}
    return Limits(**{name: value for name, value in given.items() if value is not None})


def _merge(tier: Tier, own: ModelSettings) -> Tier:
    given = {
        name: value
        for name in ("context_window", "max_output", "thinking", "effort")
        if (value := getattr(own, name)) is not None
    }
    prices = {name: value for name in Prices._fields if (value := getattr(own, name)) is not None}
    merged = tier.prices
    if prices and tier.prices is not None:
        merged = tier.prices._replace(**prices)
    elif prices:
        merged = Prices(
            prices["input"],
            prices["output"],
            prices.get("cache_read", prices["input"]),
            prices.get("cache_write", prices["input"]),
            prices.get("long_input"),
        )
    return tier._replace(prices=merged, **given)


def _settings(path: str, name: str, table: object) -> ModelSettings:
    from pydantic import TypeAdapter, ValidationError  # only where there are settings

    where = f"{path}: [models.{name}]"
    written = {key.replace("_", "-"): key for key in ModelSettings.__dataclass_fields__}
    names = f"The settings are: {', '.join(written)}."
    if name.startswith(_OWN_KINDS):
        raise SettingsError(f"{where}: offline and local models have no settings")
    if not _is_name(name):
        raise SettingsError(f"{path}: {name!r} is no name of a model")
    if not isinstance(table, dict):
        raise SettingsError(f"{where} is not a table")
    if strangers := [key for key in table if key not in written]:
        raise SettingsError(f"{where}: there is no setting {strangers[0]}", remedy=names)
    values: dict[str, Any] = {written[key]: value for key, value in table.items()}
    try:
        settings = TypeAdapter(ModelSettings).validate_python(values)
    except ValidationError as error:
        first = error.errors()[0]
        setting = ".".join(str(part) for part in first["loc"]).replace("_", "-")
        raise SettingsError(f"{where}: {setting}: {first['msg']}", remedy=names) from None
    for key, value in table.items():  # "3" and true are no numbers, and nan is none to reckon with
        if isinstance(value, bool) or getattr(settings, written[key]) != value:
            raise SettingsError(f"{where}: {key} must be a number", remedy=names)
    _check(where, name, settings)
    return settings


def _check(where: str, table: str, own: ModelSettings) -> None:
    """What types can't say."""
    positive = ("context_window", "max_output", *Limits._fields[:-1])
    for name in (*positive, *Prices._fields, "retries"):
        least = 1 if name in positive else 0
        most = _MOST_RETRIES if name == "retries" else _MOST
        value = getattr(own, name)
        if value is not None and not least <= value <= most:
            setting = name.replace("_", "-")
            raise SettingsError(f"{where}: {setting} must lie between {least} and {most:,.0f}")
    if own.id is not None and not _is_name(own.id):
        raise SettingsError(f"{where}: id: {own.id!r} is no name of a model")
    if find_tier(own.id or table) is None and None in (own.input, own.output):
        if any(getattr(own, name) is not None for name in Prices._fields):
            raise SettingsError(f"{where}: a price needs both input and output")
    if own.base_url is not None:
        check_base_url(own.base_url, f"{where}: base-url")
    _check_headers(where, own.headers)
    references = [name for value in own.headers.values() for name in _REFERENCE.findall(value)]
    for variable in [*references, *([own.key_env] if own.key_env else [])]:
        if _OWN_VARIABLE.match(variable) or (variable == DEFAULT_KEY and not own.base_url):
            continue
        raise SettingsError(
            f"{where}: the settings may not use the variable {variable}",
            remedy="Variables that a settings file names start with SKILLEVAL_, "
            "so that no repository can send your other keys elsewhere.",
        )


def _check_headers(where: str, headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        if not _HEADER.match(name) or not _HEADER_VALUE.match(value):
            raise SettingsError(f"{where}: headers: {name!r} is no header that can be sent")
        if _OUR_HEADERS.match(name):
            raise SettingsError(f"{where}: headers: {name} can't be set")


def check_base_url(url: str, where: str) -> None:
    """Refuse an address that can't be one.

    Raises:
        InputError: it is no http(s) address of a host, holds a password, or says ``/v1``.
    """
    try:
        parts = urlsplit(url)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        parts, fine = urlsplit(""), False
    if parts.username is not None or parts.password is not None:
        raise InputError(
            f"{where}: an address may not hold a name or a password",
            remedy="Send them in a header: Authorization = 'Basic ${SKILLEVAL_NAME}'.",
        )
    plain = url.isprintable() and not any(char.isspace() for char in url)
    if not fine or not plain or "?" in url or "#" in url:
        raise InputError(
            f"{where}: {redact(url)[:200]!r} is no address of an endpoint",
            remedy="It looks like https://host or http://127.0.0.1:8080, without /v1.",
        )
    base = url.rstrip("/").removesuffix("/messages")
    if base.endswith("/v1"):
        raise InputError(
            f"{where}: {url} ends with what every request adds by itself",
            remedy=f"Leave out /v1: {base.removesuffix('/v1')}",
        )


def fill_in(headers: Mapping[str, str], where: str) -> dict[str, str]:
    """Headers with the variables that they refer to, whose values are never shown from then on.

    Raises:
        InputError: a variable is not set, or holds what can't be sent.
    """

    def value(match: re.Match[str]) -> str:
        found = os.environ.get(match[1], "").strip()
        if not found:
            raise InputError(f"{where}: {match[1]} is not set", remedy=f"Set {match[1]}.")
        hide(found)
        if not _HEADER_VALUE.match(found):
            raise InputError(f"{where}: {match[1]} holds what no header can")
        return found

    return {name: _REFERENCE.sub(value, text) for name, text in headers.items()}
