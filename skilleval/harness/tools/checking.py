"""Checking a call's arguments before anybody is asked for permission."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from skilleval.harness.tools.explain import nearest

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

__all__ = ["check_input", "schema_of"]

_SHOWN = 120
"""Characters of a wrong value that are shown."""
_MOST = 5
"""Wrong arguments that are named at once."""


def schema_of(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of a tool's arguments; that of a typed tool is known here."""
    if "input_schema" in definition:
        schema: Mapping[str, Any] = definition["input_schema"]
        return schema
    if definition.get("type") == "memory_20250818":
        from skilleval.harness.tools.memory import SCHEMA

        return SCHEMA
    return {}


def check_input(tool_definition: Mapping[str, Any], input: object) -> str:
    """Check the arguments of a call.

    Patterns in schemas are not matched: a server could send one that never ends, and it checks
    its arguments itself.

    Returns:
        Nothing where they are right; else which are wrong, what is expected, and an example.
    """
    name, schema = tool_definition.get("name", "tool"), schema_of(tool_definition)
    if not isinstance(input, Mapping):
        return f"{name}: the arguments must be an object. {_example(name, schema)}"
    try:
        errors = list(_validator(json.dumps(schema, sort_keys=True)).iter_errors(input))
    except Exception:  # a server's schema can be broken in any way
        return ""
    if not errors:
        return ""
    wrong = sorted({_words(error, schema) for error in errors})
    more = f"\n- and {len(wrong) - _MOST} more" if len(wrong) > _MOST else ""
    lines = "\n".join(f"- {line}" for line in wrong[:_MOST])
    return f"{name}: the arguments are not right.\n{lines}{more}\n{_example(name, schema)}"


@lru_cache(maxsize=256)
def _validator(schema: str) -> Validator:
    """A validator that fetches nothing from anywhere."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend
    from referencing import Registry

    def nothing(*_: object) -> Iterable[ValidationError]:
        return ()

    kind: Any = extend(  # type: ignore[no-untyped-call]
        Draft202012Validator, {"pattern": nothing, "patternProperties": nothing}
    )
    validator: Validator = kind(json.loads(schema), registry=Registry())
    return validator


def _words(error: ValidationError, schema: Mapping[str, Any]) -> str:
    """One thing that is wrong, in words."""
    place = ".".join(map(str, error.absolute_path))
    if error.validator == "required" and isinstance(error.instance, Mapping):
        needed: Any = error.validator_value
        missing = [each for each in needed if each not in error.instance]
        start = f"{place}: " if place else ""
        return f"{start}{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
    if error.validator == "additionalProperties" and isinstance(error.schema, Mapping):
        known = list(error.schema.get("properties", {}))
        given: Any = error.instance
        unknown = [str(each) for each in given if each not in known]
        return "; ".join(_unknown(each, known) for each in unknown[:_MOST])
    expected = _expected(error.schema if isinstance(error.schema, Mapping) else {})
    value = _short(error.instance)
    if error.validator in ("type", "enum", "const"):
        return f"{place or 'the input'} must be {expected}, not {value}"
    if error.validator in ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"):
        return f"{place}: {error.validator} is {error.validator_value}, not {value}"
    return f"{place or 'the input'}: {_short(error.message)}"


def _unknown(name: str, known: list[str]) -> str:
    close = nearest(name, known, 1)
    hint = f"did you mean {close[0]}?" if close else f"known: {', '.join(known) or 'none'}"
    return f"{_short(name)} is unknown; {hint}"


def _expected(schema: Mapping[str, Any]) -> str:
    """What a schema asks for, in words."""
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return "one of " + ", ".join(json.dumps(each) for each in schema["enum"])
    kind = schema.get("type", "another value")
    words = {"integer": "a whole number", "array": "a list", "object": "an object"}
    kinds = kind if isinstance(kind, list) else [kind]
    return " or ".join(words.get(each, f"a {each}") for each in map(str, kinds))


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _example(name: str, schema: Mapping[str, Any]) -> str:
    """A right call with the arguments that must be there."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return ""
    given = schema.get("examples")
    if isinstance(given, list) and given:
        example = given[0]
    else:
        needed = [each for each in schema.get("required", ()) if each in properties]
        example = {each: _sample(properties[each], each) for each in needed[:8]}
    return f"A right call: {name}({json.dumps(example, ensure_ascii=False)})"


def _sample(schema: object, name: str) -> object:
    """A value that a schema would take."""
    if not isinstance(schema, Mapping):
        return name
    for key in ("examples", "enum"):
        values = schema.get(key)
        if isinstance(values, list) and values:
            return values[0]
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    samples: dict[Any, object] = {"integer": 1, "number": 1, "boolean": True}
    samples |= {"array": [], "object": {}}
    return samples.get(kind, f"<{name}>")
