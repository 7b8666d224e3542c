"""The package's JSON schemas, and a quick yes or no by one of them.

A sweep reads a million figures, and jsonschema takes a millisecond for each; to import it takes a tenth of a second, of which a
look before a job has not many. So each node of a schema becomes a function that asks those of its parts, of many values at once:
entries of a list are asked key by key, as their values are of a few types and words. Where the answer is no, jsonschema looks again and
says why (it takes 1.0 for a whole number).
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain
from typing import Any

from .places import SCHEMAS

#: Whether all of some values (a sequence) are right.
Test = Callable[[Sequence[Any]], bool]

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
def conforms(name: str) -> Callable[[Any], bool]:
    """The test of a schema, e.g. ``verdict-2``: whether a value keeps to it. Raises ``NotImplementedError`` where the schema has a
    keyword that is not known here."""
    whole = schema(name)
    test = _Tests(whole.get("definitions", {})).of(whole)
    return lambda value: test((value,))


class _Tests:
    """Makes the tests of a schema's nodes; what a node asks of values of one type alone is true of all others."""

    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions

    def of(self, node: Mapping[str, Any] | bool) -> Test:
        """The test of a node of the schema."""
        if isinstance(node, bool):
            return _yes if node else lambda values: not values
        node = self._definitions[node["$ref"].removeprefix("#/definitions/")] if "$ref" in node else node
        types = _types(node["type"]) if "type" in node else frozenset[type]()
        tests: list[Test] = [lambda values: types.issuperset(map(type, values))] if types else []
        for key in node:
            if key not in _WORDS and key not in ("type", *(["required"] if "properties" in node else [])):
                tests.append(self._keyword(key, node, types))
        return _all(tests)

    def _keyword(self, key: str, node: Mapping[str, Any], types: frozenset[type]) -> Test:
        wanted = node[key]
        if key in ("properties", "required"):
            return _only(dict, types, self._objects(node.get("properties", {}), node.get("required", ())))
        if key == "items":
            return _only(list, types, self._items(wanted))
        if key in _SIZES:
            kind, right = _SIZES[key]
            return _only(kind, types, lambda values: all(right(wanted, size) for size in set(map(len, values))))
        if key == "pattern":
            search = re.compile(wanted).search
            matches = lru_cache(maxsize=4096)(lambda text: search(text) is not None)
            return _only(str, types, lambda values: all(map(matches, values)))
        if key in ("enum", "const"):
            return _among(wanted if key == "enum" else [wanted])
        if key in _LIMITS:
            within = _LIMITS[key]
            return lambda values: all(type(value) not in (int, float) or within(wanted, value) for value in values)
        if key == "propertyNames":
            names = self.of(wanted)
            return _only(dict, types, lambda values: names(tuple(chain.from_iterable(values))))
        if key == "additionalProperties":
            more, known = self.of(wanted), frozenset(node.get("properties", ()))
            return _only(
                dict, types, lambda values: more([each[key] for each in values for key in each.keys() - known])
            )
        if key == "dependencies":
            needs = tuple((key, set(others)) for key, others in wanted.items())
            return _only(
                dict, types, lambda values: all(o <= each.keys() for each in values for key, o in needs if key in each)
            )
        if key == "oneOf":
            choices = tuple(map(self.of, wanted))
            return lambda values: all(sum(test((value,)) for test in choices) == 1 for value in values)
        if key == "if":
            asked, then, other = (self.of(node.get(first, {})) for first in ("if", "then", "else"))
            return lambda values: all((then if asked((value,)) else other)((value,)) for value in values)
        raise NotImplementedError(f"JSON schema's '{key}'")

    def _items(self, items: Mapping[str, Any] | bool | Sequence[Mapping[str, Any]]) -> Test:
        if isinstance(items, list):
            tests = tuple(map(self.of, items))
            return lambda values: all(test((item,)) for value in values for test, item in zip(tests, value))
        assert isinstance(items, (Mapping, bool))
        inside = self.of(items)
        return lambda values: inside(tuple(chain.from_iterable(values)))

    def _objects(self, wanted: Mapping[str, Any], required: Iterable[str]) -> Test:
        """Whether all of some objects have the keys that they need, and right values: those with the same keys key by key."""
        needed = frozenset(required)
        tests = {name: test for name, node in wanted.items() if (test := self.of(node)) is not _yes}

        def right(values: Sequence[Any]) -> bool:
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

        return right


def _yes(values: Sequence[Any]) -> bool:
    return True


def _among(choices: Sequence[Any]) -> Test:
    if not all(type(choice) is str for choice in choices):
        return lambda values: all(value in choices for value in values)
    allowed, text = frozenset(choices), frozenset({str})
    return lambda values: text.issuperset(map(type, values)) and allowed.issuperset(values)


def _all(tests: Sequence[Test]) -> Test:
    """All of them, in order; the common ones without a loop."""
    if len(tests) < 2:
        return tests[0] if tests else _yes
    first, second = tests[0], _all(tests[1:])
    return lambda values: first(values) and second(values)


def _types(wanted: str | list[str]) -> frozenset[type]:
    """Exact ones: JSON's true and false are no numbers, though Python's are."""
    return frozenset(kind for name in ([wanted] if isinstance(wanted, str) else wanted) for kind in _TYPES[name])


def _only(kind: type, types: frozenset[type], test: Test) -> Test:
    """A test of those of many values that are of one type; ``types``: those that they may be of."""
    if types == {kind}:
        return test
    return lambda values: test(tuple(value for value in values if type(value) is kind))
