"""The package's JSON schemas, and a quick yes or no by one of them.

A sweep reads a million figures, and jsonschema takes a millisecond for each; to import it takes a tenth of a second, of which a
look before a job has not many. Where the answer is no, jsonschema looks again and says why (it takes 1.0 for a whole number).
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

SCHEMAS = Path(__file__).with_name("schemas")

Test = Callable[[Any], bool]

_LIMITS: Mapping[str, Callable[[Any, Any], bool]] = {
    "minimum": operator.ge, "maximum": operator.le, "exclusiveMinimum": operator.gt, "exclusiveMaximum": operator.lt,
}  # fmt: skip

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,),
    "null": (type(None),),
}  # fmt: skip
#: Keywords that say nothing of a value.
_WORDS = frozenset({"$schema", "$id", "title", "description", "errorMessage", "definitions", "then", "else"})


@cache
def schema(name: str) -> dict[str, Any]:
    """A JSON schema of the package, e.g. ``system-1``."""
    loaded: dict[str, Any] = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
    return loaded


@cache
def conforms(name: str) -> Test:
    """The test of a schema, e.g. ``verdict-2``: whether a value keeps to it. Raises ``NotImplementedError`` where the schema has a
    keyword that is not known here."""
    whole = schema(name)
    return _test(whole, whole.get("definitions", {}))


def _test(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> Test:
    node = _followed(node, definitions)
    if set(node) - _WORDS == {"type", "items"} and node["type"] == "array" and isinstance(node["items"], dict):
        return _list(node["items"], definitions)
    tests = [_keyword(key, node, definitions) for key in node if key not in _WORDS]
    return tests[0] if len(tests) == 1 else _every(tests)


def _every(tests: list[Test]) -> Test:
    def test(value: Any) -> bool:
        for each in tests:  # noqa: SIM110 (all() takes twice the time)
            if not each(value):
                return False
        return True

    return test


def _list(items: Mapping[str, Any], definitions: Mapping[str, Any]) -> Test:
    types = _only_type(items, definitions)
    if types is not None:
        return lambda value: type(value) is list and types.issuperset(map(type, value))
    test = _test(items, definitions)
    return lambda value: type(value) is list and all(map(test, value))


def _followed(node: Mapping[str, Any] | bool, definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(node, bool):
        return {} if node else {"enum": []}
    return definitions[node["$ref"].removeprefix("#/definitions/")] if "$ref" in node else node


def _types(wanted: str | list[str]) -> frozenset[type]:
    """Exact ones: JSON's true and false are no numbers, though Python's are."""
    return frozenset(kind for name in ([wanted] if isinstance(wanted, str) else wanted) for kind in _TYPES[name])


def _only_type(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> frozenset[type] | None:
    """The types of what has to be of a type and no more; None for other nodes."""
    node = _followed(node, definitions)
    return _types(node["type"]) if [key for key in node if key not in _WORDS] == ["type"] else None


def _keyword(key: str, node: Mapping[str, Any], definitions: Mapping[str, Any]) -> Test:
    wanted = node[key]
    if key == "type":
        exact = _types(wanted)
        return lambda value: type(value) in exact
    if key == "properties":
        return _properties(wanted, definitions)
    if key == "required":
        needed = frozenset(wanted)
        return lambda value: type(value) is not dict or needed <= value.keys()
    if key == "items" and isinstance(wanted, list):
        tests = [_test(one, definitions) for one in wanted]
        return lambda value: type(value) is not list or all(test(one) for test, one in zip(tests, value))
    if key == "items":
        test = _list(wanted, definitions)
        return lambda value: type(value) is not list or test(value)
    if key in ("minItems", "maxItems"):
        least, most = (wanted, float("inf")) if key == "minItems" else (0, wanted)
        return lambda value: type(value) is not list or least <= len(value) <= most
    if key == "pattern":
        found = re.compile(wanted).search
        return lambda value: type(value) is not str or found(value) is not None
    if key == "enum":
        return lambda value: value in wanted
    if key == "const":
        return lambda value: bool(value == wanted)
    if key in _LIMITS:
        within = _LIMITS[key]
        return lambda value: type(value) not in (int, float) or within(value, wanted)
    if key == "minProperties":
        return lambda value: type(value) is not dict or len(value) >= wanted
    if key == "minLength":
        return lambda value: type(value) is not str or len(value) >= wanted
    if key == "propertyNames":
        test = _test(wanted, definitions)
        return lambda value: type(value) is not dict or all(map(test, value))
    if key == "additionalProperties":
        known = frozenset(node.get("properties", ()))
        test = _test(wanted, definitions) if isinstance(wanted, Mapping) else lambda _: bool(wanted)
        return lambda value: (
            type(value) is not dict or all(test(one) for name, one in value.items() if name not in known)
        )
    if key == "oneOf":
        tests = [_test(one, definitions) for one in wanted]
        return lambda value: sum(test(value) for test in tests) == 1
    if key == "if":
        asked, then, otherwise = (_test(node.get(name, {}), definitions) for name in ("if", "then", "else"))
        return lambda value: then(value) if asked(value) else otherwise(value)
    raise NotImplementedError(f"JSON schema's '{key}'")


def _properties(wanted: Mapping[str, Any], definitions: Mapping[str, Any]) -> Test:
    plain = {name: types for name, node in wanted.items() if (types := _only_type(node, definitions)) is not None}
    others = [(name, _test(node, definitions)) for name, node in wanted.items() if name not in plain]
    anything = frozenset(kind for types in _TYPES.values() for kind in types)

    def test(value: Any) -> bool:
        if type(value) is not dict:
            return True
        for name, one in value.items():
            if type(one) not in plain.get(name, anything):
                return False
        for name, each in others:  # noqa: SIM110
            if name in value and not each(value[name]):
                return False
        return True

    return test
