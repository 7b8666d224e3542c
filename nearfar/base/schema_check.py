"""The package's JSON schemas, and a quick yes or no by one of them.

A sweep reads a million figures, and jsonschema takes a millisecond for each; to import it takes a tenth of a second, of which a
look before a job has not many. So each node of a schema becomes a function that asks those of its parts. Where the answer is no,
jsonschema looks again and says why (it takes 1.0 for a whole number).
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

SCHEMAS = Path(__file__).with_name("schemas")

Test = Callable[[Any], bool]

#: Keywords that hold a number to a limit: whether (limit, number) is right.
_LIMITS = {
    "minimum": operator.le,
    "maximum": operator.ge,
    "exclusiveMinimum": operator.lt,
    "exclusiveMaximum": operator.gt,
}
#: Keywords that a size is held to: the type that has it, and whether (limit, size) is right.
_SIZES = {
    "minItems": (list, operator.le), "maxItems": (list, operator.ge), "minProperties": (dict, operator.le), "minLength": (str, operator.le),
}  # fmt: skip
_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,),
    "null": (type(None),),
}  # fmt: skip
#: Keywords that speak of values of one type alone.
_OF_TYPE = {
    "properties": dict, "required": dict, "propertyNames": dict, "additionalProperties": dict, "minProperties": dict,
    "items": list, "minItems": list, "maxItems": list, "pattern": str, "minLength": str,
}  # fmt: skip
#: What JSON calls the types of Python.
_NAMES = {
    dict: "object",
    list: "array",
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}
#: So many shapes of an object are kept in mind.
_SHAPES = 1000
#: Stands for a key that an object does not have.
_ABSENT = object()
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
    return _Tests(whole.get("definitions", {})).of(whole)


class _Tests:
    """Makes the tests of a schema's nodes; what a node asks of values of one type alone is true of all others."""

    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions

    def of(self, node: Mapping[str, Any] | bool, typed: bool = False) -> Test:
        """The test of a node of the schema; ``typed``: the value's type is looked at by the caller."""
        node = self._followed(node)
        tests = [] if typed or "type" not in node else [_type_in(_types(node["type"]))]
        for key in node:
            if key not in _WORDS and key not in ("type", *(["required"] if "properties" in node else [])):
                tests.append(self._keyword(key, node))
        return _all(tests)

    def _keyword(self, key: str, node: Mapping[str, Any]) -> Test:
        wanted = node[key]
        if key == "properties":
            return _of(dict, self._properties(wanted, node.get("required", ())), node)
        if key == "required":
            needed = frozenset(wanted)
            return _of(dict, lambda value: needed <= value.keys(), node)
        if key == "items":
            return _of(list, self._items(wanted), node)
        if key in _SIZES:
            kind, right = _SIZES[key]
            return _of(kind, lambda value: right(wanted, len(value)), node)
        if key == "pattern":
            search = re.compile(wanted).search
            return _of(str, lru_cache(maxsize=4096)(lambda value: search(value) is not None), node)
        if key in ("enum", "const"):
            values = tuple(wanted) if key == "enum" else (wanted,)
            return values.__contains__
        if key in _LIMITS:
            within = _LIMITS[key]
            return lambda value: type(value) not in (int, float) or within(wanted, value)
        if key == "propertyNames":
            test = self.of(wanted)
            return _of(dict, lambda value: all(map(test, value)), node)
        if key == "additionalProperties":
            return _of(dict, self._additional(wanted, frozenset(node.get("properties", ()))), node)
        if key == "oneOf":
            tests = tuple(map(self.of, wanted))
            return lambda value: sum(test(value) for test in tests) == 1
        if key == "if":
            asked, then, other = (self.of(node.get(one, {})) for one in ("if", "then", "else"))
            return lambda value: then(value) if asked(value) else other(value)
        raise NotImplementedError(f"JSON schema's '{key}'")

    def _items(self, items: Mapping[str, Any] | bool | Sequence[Mapping[str, Any]]) -> Test:
        if isinstance(items, list):
            tests = tuple(map(self.of, items))
            return lambda value: all(test(one) for test, one in zip(tests, value, strict=False))
        assert isinstance(items, (Mapping, bool))
        node = self._followed(items)
        types = _types(node["type"]) if "type" in node else None
        if not self._says_more(node):
            return _yes if types is None else lambda value: types.issuperset(map(type, value))
        inside = self.of(node, typed=types is not None)
        if types is None:
            return lambda value: all(map(inside, value))
        return lambda value: types.issuperset(map(type, value)) and all(map(inside, value))

    def _properties(self, wanted: Mapping[str, Any], required: Iterable[str]) -> Test:
        """Objects of one kind mostly have the same keys, with values of the same types: whether these are right, and what is left to
        ask of such values, is found out once for each such shape."""
        nodes = {name: self._followed(node) for name, node in wanted.items()}
        typed = {name: _types(node["type"]) for name, node in nodes.items() if "type" in node}
        needed = frozenset(required)
        may_be, known = _may_be(needed, typed), dict[tuple[object, ...], tuple[tuple[str, Test], ...]]()
        inside = {name: node for name, node in nodes.items() if self._says_more(node)}

        def test(value: Any) -> bool:
            shape = (*value, *map(type, value.values()))
            left = known.get(shape)
            if left is None:
                if not may_be(value):
                    return False
                asked = ((name, self._of_type(inside[name], type(value[name]))) for name in inside if name in value)
                left = tuple((name, one) for name, one in asked if one is not _yes)
                if len(known) < _SHAPES:
                    known[shape] = left
            for name, one in left:  # noqa: SIM110 (a generator costs as much again as the tests)
                if not one(value[name]):
                    return False
            return True

        return test

    def _of_type(self, node: Mapping[str, Any], kind: type) -> Test:
        """The test of a node for values of one type, which is one of the node's."""
        says = {key: wanted for key, wanted in node.items() if _OF_TYPE.get(key, kind) is kind}
        return self.of({**says, "type": _NAMES[kind]} if kind in _NAMES else node, typed="type" in node)

    def _additional(self, wanted: Mapping[str, Any] | bool, known: frozenset[str]) -> Test:
        if isinstance(wanted, Mapping):
            test = self.of(wanted)
            return lambda value: all(test(value[key]) for key in value.keys() - known)
        return _yes if wanted else lambda value: value.keys() <= known

    def _followed(self, node: Mapping[str, Any] | bool) -> Mapping[str, Any]:
        if isinstance(node, bool):
            return {} if node else {"enum": []}
        return self._definitions[node["$ref"].removeprefix("#/definitions/")] if "$ref" in node else node

    @staticmethod
    def _says_more(node: Mapping[str, Any]) -> bool:
        """Whether a node asks for more than a type."""
        return any(key not in _WORDS and key != "type" for key in node)


def _yes(value: Any) -> bool:
    return True


def _type_in(types: frozenset[type]) -> Test:
    return lambda value: type(value) in types


def _of(kind: type, test: Test, node: Mapping[str, Any]) -> Test:
    """A test of values of one type alone; the test itself where the node's type, which is looked at first, is that one."""
    if "type" in node and _types(node["type"]) == {kind}:
        return test
    return lambda value: type(value) is not kind or test(value)


def _all(tests: Sequence[Test]) -> Test:
    """All of them, in order; the common ones without a loop."""
    if len(tests) < 2:
        return tests[0] if tests else _yes
    first, second, *rest = tests
    if not rest:
        return lambda value: first(value) and second(value)
    third = _all(rest)
    return lambda value: first(value) and second(value) and third(value)


def _types(wanted: str | list[str]) -> frozenset[type]:
    """Exact ones: JSON's true and false are no numbers, though Python's are."""
    return frozenset(kind for name in ([wanted] if isinstance(wanted, str) else wanted) for kind in _TYPES[name])


def _may_be(needed: frozenset[str], typed: Mapping[str, frozenset[type]]) -> Test:
    """Whether an object has the keys that it needs, and values of the right types."""

    def test(value: Any) -> bool:
        right = all(type(one) in typed[name] for name, one in value.items() if name in typed)
        return right and needed <= value.keys()

    return test
