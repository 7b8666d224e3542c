"""A quick yes or no by a JSON schema of the package: a sweep reads a million figures, and jsonschema takes a millisecond for each."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from .site_file import schema

Test = Callable[[Any], bool]

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,),
    "null": (type(None),),
}  # fmt: skip
#: Keywords that say nothing of a value.
_WORDS = ("$schema", "$id", "title", "description", "definitions")


@cache
def conforms(name: str) -> Test:
    """The test of a schema, e.g. ``verdict-2``: whether a value keeps to it. Raises ``NotImplementedError`` where the schema has a
    keyword that is not known here."""
    whole = schema(name)
    return _test(whole, whole.get("definitions", {}))


def _test(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> Test:
    if "$ref" in node:
        return _test(definitions[node["$ref"].removeprefix("#/definitions/")], definitions)
    tests = [_keyword(key, value, definitions) for key, value in node.items() if key not in _WORDS]
    return tests[0] if len(tests) == 1 else lambda value: all(test(value) for test in tests)


def _keyword(key: str, wanted: Any, definitions: Mapping[str, Any]) -> Test:
    if key == "type":
        names = [wanted] if isinstance(wanted, str) else wanted
        # JSON's true and false are no numbers, though Python's are.
        exact = {kind for name in names for kind in _TYPES[name]}
        return lambda value: type(value) in exact
    if key == "properties":
        tests = [(name, _test(node, definitions)) for name, node in wanted.items()]
        return lambda value: (
            type(value) is not dict or all(name not in value or test(value[name]) for name, test in tests)
        )
    if key == "required":
        needed = frozenset(wanted)
        return lambda value: type(value) is not dict or needed <= value.keys()
    if key == "items":
        test = _test(wanted, definitions)
        return lambda value: type(value) is not list or all(map(test, value))
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
    raise NotImplementedError(f"JSON schema's '{key}'")
