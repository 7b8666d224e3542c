"""The package's JSON schemas, and a quick yes or no by one of them.

A sweep reads a million figures, and jsonschema takes a millisecond for each; to import it takes a tenth of a second, of which a
look before a job has not many. So a schema is made into the source of one Python function. Where its answer is no, jsonschema
looks again and says why (it takes 1.0 for a whole number).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

SCHEMAS = Path(__file__).with_name("schemas")

Test = Callable[[Any], bool]

_LIMITS = {"minimum": "<", "maximum": ">", "exclusiveMinimum": "<=", "exclusiveMaximum": ">="}
_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,),
    "null": (type(None),),
}  # fmt: skip
#: So many shapes of an object are kept in mind.
_SHAPES = 1000
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
    return _Source(whole.get("definitions", {})).function(whole)


class _Source:
    """The source of a schema's test as it grows; ``given``: the objects that it names."""

    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions
        self._given: dict[str, Any] = {}
        self._lines: list[str] = []
        self._names = 0

    def function(self, node: Mapping[str, Any] | bool) -> Test:
        """The test of a node of the schema."""
        source = _Source(self._definitions)
        source._node(node, "value", 1)
        text = "\n".join(["def test(value):", *source._lines, "    return True"])
        made: dict[str, Any] = {}
        exec(text, source._given, made)  # of the package's own schemas alone
        return made["test"]  # type: ignore[no-any-return]

    def _name(self, given: Any = None) -> str:
        """A new name; for ``given``, where there is something."""
        self._names += 1
        if given is not None:
            self._given[f"g{self._names}"] = given
        return f"g{self._names}"

    def _line(self, depth: int, text: str) -> None:
        self._lines.append("    " * depth + text)

    def _no_if(self, depth: int, wrong: str) -> None:
        self._line(depth, f"if {wrong}: return False")

    def _node(self, node: Mapping[str, Any] | bool, value: str, depth: int, typed: bool = False) -> None:
        """What the value of that name has to keep to; ``typed``: its type has been looked at."""
        node = self._followed(node)
        if not typed and "type" in node:
            self._no_if(depth, f"type({value}) not in {self._name(_types(node['type']))}")
        for key in node:
            if key not in _WORDS and key not in ("type", *(["required"] if "properties" in node else [])):
                self._keyword(key, node, value, depth)

    def _keyword(self, key: str, node: Mapping[str, Any], value: str, depth: int) -> None:
        wanted = node[key]
        if key == "properties":
            self._properties(wanted, node.get("required", ()), value, self._only("dict", value, node, depth))
        elif key == "required":
            self._no_if(depth, f"type({value}) is dict and not {self._name(frozenset(wanted))} <= {value}.keys()")
        elif key == "items" and isinstance(wanted, list):
            inside = self._only("list", value, node, depth)
            for number, one in enumerate(wanted):
                self._line(inside, f"if len({value}) > {number}:")
                item = self._bound(f"{value}[{number}]", inside + 1)
                self._node(one, item, inside + 1)
        elif key == "items":
            self._items(wanted, value, self._only("list", value, node, depth))
        elif key in ("minItems", "maxItems"):
            sign = "<" if key == "minItems" else ">"
            self._no_if(depth, f"type({value}) is list and len({value}) {sign} {int(wanted)}")
        elif key == "pattern":
            search = self._name(lru_cache(maxsize=4096)(re.compile(wanted).search))
            self._no_if(depth, f"type({value}) is str and {search}({value}) is None")
        elif key in ("enum", "const"):
            values = self._name(tuple(wanted) if key == "enum" else (wanted,))
            self._no_if(depth, f"{value} not in {values}")
        elif key in _LIMITS:
            limit = self._name(wanted)
            self._no_if(depth, f"type({value}) in (int, float) and {value} {_LIMITS[key]} {limit}")
        elif key in ("minProperties", "minLength"):
            kind = "dict" if key == "minProperties" else "str"
            self._no_if(depth, f"type({value}) is {kind} and len({value}) < {int(wanted)}")
        elif key == "propertyNames":
            self._no_if(depth, f"type({value}) is dict and not all(map({self._name(self.function(wanted))}, {value}))")
        elif key == "additionalProperties":
            self._additional(wanted, node.get("properties", ()), value, depth)
        elif key == "oneOf":
            tests = self._name(tuple(map(self.function, wanted)))
            self._no_if(depth, f"sum(test({value}) for test in {tests}) != 1")
        elif key == "if":
            asked, then, other = (self._name(self.function(node.get(one, {}))) for one in ("if", "then", "else"))
            self._no_if(depth, f"not ({then} if {asked}({value}) else {other})({value})")
        else:
            raise NotImplementedError(f"JSON schema's '{key}'")

    def _only(self, kind: str, value: str, node: Mapping[str, Any], depth: int) -> int:
        """What follows is said of values of a type alone, and not of empty lists; how deep it stands."""
        test = f"type({value}) is {kind}"
        if node.get("type") in ("object", "array"):  # which has been looked at
            test = value if kind == "list" else "True"
        self._line(depth, f"if {test}:")
        return depth + 1

    def _bound(self, expression: str, depth: int) -> str:
        name = self._name()
        self._line(depth, f"{name} = {expression}")
        return name

    def _items(self, items: Mapping[str, Any] | bool, value: str, depth: int) -> None:
        node = self._followed(items)
        if "type" in node:
            types = self._name(_types(node["type"]))
            self._no_if(depth, f"not {types}.issuperset(map(type, {value}))")
        if self._says_more(node):
            item = self._name()
            self._line(depth, f"for {item} in {value}:")
            self._node(node, item, depth + 1, typed="type" in node)
        else:
            self._line(depth, "pass")

    def _properties(
        self, wanted: Mapping[str, Any], required: Iterable[str], value: str, depth: int
    ) -> None:  # fmt: skip
        """Objects of one kind mostly have the same keys, with values of the same types: whether these are right is found out once
        for each such shape."""
        nodes = {name: self._followed(node) for name, node in wanted.items()}
        typed = {name: _types(node["type"]) for name, node in nodes.items() if "type" in node}
        needed, right = frozenset(required), self._name(set[tuple[object, ...]]())
        shape = self._bound(f"(*{value}, *map(type, {value}.values()))", depth)
        self._line(depth, f"if {shape} not in {right}:")
        self._no_if(depth + 1, f"not {self._name(_may_be(needed, typed))}({value})")
        self._line(depth + 1, f"if len({right}) < {_SHAPES}: {right}.add({shape})")
        for name, node in nodes.items():
            if self._says_more(node):
                inside = depth
                if name not in needed:
                    self._line(depth, f"if {name!r} in {value}:")
                    inside += 1
                self._node(node, self._bound(f"{value}[{name!r}]", inside), inside, typed="type" in node)

    def _additional(self, wanted: Mapping[str, Any] | bool, known: Iterable[str], value: str, depth: int) -> None:
        rest = f"{value}.keys() - {self._name(frozenset(known))}"
        if isinstance(wanted, Mapping):
            test = self._name(self.function(wanted))
            self._no_if(depth, f"type({value}) is dict and not all({test}({value}[key]) for key in {rest})")
        elif not wanted:
            self._no_if(depth, f"type({value}) is dict and {rest}")

    def _followed(self, node: Mapping[str, Any] | bool) -> Mapping[str, Any]:
        if isinstance(node, bool):
            return {} if node else {"enum": []}
        return self._definitions[node["$ref"].removeprefix("#/definitions/")] if "$ref" in node else node

    @staticmethod
    def _says_more(node: Mapping[str, Any]) -> bool:
        """Whether a node asks for more than a type."""
        return any(key not in _WORDS and key != "type" for key in node)


def _types(wanted: str | list[str]) -> frozenset[type]:
    """Exact ones: JSON's true and false are no numbers, though Python's are."""
    return frozenset(kind for name in ([wanted] if isinstance(wanted, str) else wanted) for kind in _TYPES[name])


def _may_be(needed: frozenset[str], typed: Mapping[str, frozenset[type]]) -> Test:
    """Whether an object has the keys that it needs, and values of the right types."""

    def test(value: Any) -> bool:
        right = all(type(one) in typed[name] for name, one in value.items() if name in typed)
        return right and needed <= value.keys()

    return test
