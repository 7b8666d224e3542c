"""The package's JSON schemas, and a quick yes or no by one of them.

A sweep reads a million figures, and jsonschema takes a millisecond for each; to import it takes a tenth of a second, of which a
look before a job has not many. So each node of a schema becomes a function that asks those of its parts. Entries of a list are
asked all at once, key by key: their values are of a few types and words. Where the answer is no, jsonschema looks again and says
why (it takes 1.0 for a whole number).
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache, partial
from itertools import chain
from typing import Any

from .places import SCHEMAS

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
#: Keywords that are asked of many values at once.
_AT_ONCE = frozenset({"type", "enum", "pattern", "items", "properties", "required", *_SIZES})
#: Keywords that say nothing of a value.
_WORDS = frozenset({
    "$schema", "$id", "title", "description", "examples", "unit", "defaultText", "errorMessage", "definitions", "then", "else",
})  # fmt: skip


@cache
def schema(name: str) -> dict[str, Any]:
    """A JSON schema of the package, e.g. ``system-1``; a definition that is another schema's (``application-1#/definitions/name``)
    stands in it."""
    loaded: dict[str, Any] = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
    for key, node in loaded.get("definitions", {}).items():
        other, _, wanted = str(node.get("$ref", "")).partition("#/definitions/")
        if other:
            loaded["definitions"][key] = schema(other)["definitions"][wanted]
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

    def of(self, node: Mapping[str, Any] | bool) -> Test:
        """The test of a node of the schema."""
        node = self._followed(node)
        tests = [] if "type" not in node else [_type_in(_types(node["type"]))]
        for key in node:
            if key not in _WORDS and key not in ("type", *(["required"] if "properties" in node else [])):
                tests.append(self._keyword(key, node))
        return _all(tests)

    def _keyword(self, key: str, node: Mapping[str, Any]) -> Test:
        wanted = node[key]
        if key == "properties":
            objects = self._objects(wanted, node.get("required", ()))
            return _of(dict, lambda value: objects((value,)), node)
        if key == "required":
            needed = frozenset(wanted)
            return _of(dict, lambda value: needed <= value.keys(), node)
        if key == "items":
            return _of(list, self._items(wanted), node)
        if key in _SIZES:
            kind, right = _SIZES[key]
            return _of(kind, lambda value: right(wanted, len(value)), node)
        if key == "pattern":
            pattern = self._pattern_of_all(wanted)
            return _of(str, lambda value: pattern((value,)), node)
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
        if key == "dependencies":
            needs = tuple(wanted.items())
            return _of(dict, lambda value: all(set(more) <= value.keys() for key, more in needs if key in value), node)
        if key == "oneOf":
            tests = tuple(map(self.of, wanted))
            return lambda value: sum(test(value) for test in tests) == 1
        if key == "if":
            asked, then, other = (self.of(node.get(first, {})) for first in ("if", "then", "else"))
            return lambda value: then(value) if asked(value) else other(value)
        raise NotImplementedError(f"JSON schema's '{key}'")

    def _items(self, items: Mapping[str, Any] | bool | Sequence[Mapping[str, Any]]) -> Test:
        if isinstance(items, list):
            tests = tuple(map(self.of, items))
            return lambda value: all(test(item) for test, item in zip(tests, value, strict=False))
        assert isinstance(items, (Mapping, bool))
        return self._many(items)

    def _many(self, node: Mapping[str, Any] | bool) -> Test:
        """Whether all values of a list or tuple keep to a node."""
        node = self._followed(node)
        types = _types(node["type"]) if "type" in node else frozenset[type]()
        strings = all(type(choice) is str for choice in node.get("enum", ()))
        if not (
            _AT_ONCE.union(_WORDS).issuperset(node) and strings and isinstance(node.get("items", {}), (Mapping, bool))
        ):
            of_each = self.of(node)
            return lambda values: all(map(of_each, values))
        tests: list[Test] = [lambda values: types.issuperset(map(type, values))] if types else []
        if "enum" in node:
            allowed, text = frozenset(node["enum"]), frozenset({str})
            tests.append(lambda values: text.issuperset(map(type, values)) and allowed.issuperset(values))
        if "pattern" in node:
            tests.append(_only(str, types, self._pattern_of_all(node["pattern"])))
        for key in _SIZES.keys() & node.keys():
            kind, right = _SIZES[key]
            tests.append(_only(kind, types, _sizes(partial(right, node[key]))))
        if "items" in node:
            inside = self._many(node["items"])
            tests.append(_only(list, types, lambda values: inside(tuple(chain.from_iterable(values)))))
        if "properties" in node or "required" in node:
            tests.append(_only(dict, types, self._objects(node.get("properties", {}), node.get("required", ()))))
        return _all(tests)

    @staticmethod
    def _pattern_of_all(pattern: str) -> Test:
        search = re.compile(pattern).search
        right = lru_cache(maxsize=4096)(lambda text: search(text) is not None)
        return lambda values: all(map(right, values))

    def _objects(self, wanted: Mapping[str, Any], required: Iterable[str]) -> Test:
        """Whether all of some objects have the keys that they need, and right values: those with the same keys key by key."""
        needed = frozenset(required)
        tests = {name: many for name, node in wanted.items() if (many := self._many(node)) is not _yes}

        def test(values: Any) -> bool:
            alike: dict[tuple[str, ...], list[dict[str, Any]]] = {}
            for value in values:
                alike.setdefault(tuple(value), []).append(value)
            for keys, these in alike.items():
                if not needed.issubset(keys):
                    return False
                for key, column in zip(keys, zip(*map(dict.values, these))):
                    if key in tests and not tests[key](column):
                        return False
            return True

        return test

    def _additional(self, wanted: Mapping[str, Any] | bool, known: frozenset[str]) -> Test:
        if isinstance(wanted, Mapping):
            test = self.of(wanted)
            return lambda value: all(test(value[key]) for key in value.keys() - known)
        return _yes if wanted else lambda value: value.keys() <= known

    def _followed(self, node: Mapping[str, Any] | bool) -> Mapping[str, Any]:
        if isinstance(node, bool):
            return {} if node else {"enum": []}
        return self._definitions[node["$ref"].removeprefix("#/definitions/")] if "$ref" in node else node


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


def _only(kind: type, types: frozenset[type], test: Test) -> Test:
    """A test of those of many values that are of one type; ``types``: those that they may be of."""
    if types == {kind}:
        return test
    return lambda values: test(tuple(value for value in values if type(value) is kind))


def _sizes(right: Callable[[int], bool]) -> Test:
    return lambda values: all(map(right, set(map(len, values))))
