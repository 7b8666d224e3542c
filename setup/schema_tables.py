"""Tables of Markdown from the JSON schemas: every key with its type, unit, default, meaning and example."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nearfar.base.schema_check import schema

Node = Mapping[str, Any]

TYPES = {
    "object": "mapping",
    "array": "list",
    "string": "text",
    "integer": "whole number",
    "boolean": "true or false",
    "null": "null",
}
LIMITS = {"exclusiveMinimum": ">", "minimum": "≥", "maximum": "≤"}


def table(columns: tuple[str, ...], rows: Collection[tuple[str, ...]]) -> str:
    """A table of Markdown, without the columns that are empty in every row."""
    used = [place for place, _ in enumerate(columns) if any(row[place] for row in rows)]
    lines = [[row[place].replace("|", "\\|") for place in used] for row in (columns, *rows)]
    head, *others = (f"| {' | '.join(line)} |\n" for line in lines)
    return f"{head}|{'---|' * len(used)}\n{''.join(others)}\n"


class SchemaTables:
    """The tables of one schema: its own keys, what is below each, and the definitions that have a section of their own."""

    def __init__(self, name: str, sections: Collection[str] = ()) -> None:
        self.whole = schema(name)
        self._definitions = self.whole.get("definitions", {})
        self._sections = sections

    def text(self) -> str:
        """All of them, with headings."""
        required = self.whole["required"]
        own = [self.row(key, node, key in required) for key, node in self.whole["properties"].items()]
        below = [(key, list(self.rows_below(key, node))) for key, node in self.whole["properties"].items()]
        below += [(name, list(self.rows_below("", self._definitions[name]))) for name in self._sections]
        parts = [("Keys", own), *((f"`{key}`", rows) for key, rows in below if rows)]
        return "".join(f"## {heading}\n\n{key_table(rows)}" for heading, rows in parts)

    def rows_below(self, path: str, node: Node) -> Iterator[tuple[str, ...]]:
        """Rows of all keys below a node, depth first."""
        if self._section_of(node):
            return
        node = self.resolved(node)
        if isinstance(node.get("items"), Mapping):
            yield from self.rows_below(f"{path}[]", node["items"])
        for branch in node.get("oneOf", ()):
            yield from self.rows_below(path, branch)
        if isinstance(node.get("additionalProperties"), Mapping):
            yield from self.rows_below(f"{path}.NAME", node["additionalProperties"])
        for key, below in node.get("properties", {}).items():
            name = f"{path}.{key}".lstrip(".")
            yield self.row(name, below, key in node.get("required", ()))
            yield from self.rows_below(name, below)

    def row(self, path: str, node: Node, required: bool) -> tuple[str, ...]:
        """Of one key: itself, type with unit, default, meaning, example."""
        kind = self.type_of(node)
        node = self.resolved(node)
        unit = node.get("unit", "")
        kind += f", {'as a' if unit.startswith('fraction') else 'in'} {unit}" if unit else ""
        meaning = node["description"] + ("" if node["description"].endswith((".", "…")) else ".")
        name = f"**`{path}`**" if required else f"`{path}`"
        example = f"`{shown(node['examples'][0])}`" if "examples" in node else ""
        return name, kind, node.get("defaultText", ""), meaning, example

    def resolved(self, node: Node) -> Node:
        """A node with what it refers to; what stands beside the reference comes first."""
        while "$ref" in node:
            rest = {key: value for key, value in node.items() if key != "$ref"}
            node = {**self._definitions[node["$ref"].rpartition("/")[2]], **rest}
        return node

    def type_of(self, node: Node) -> str:
        """A node's type in words, with the limits of numbers; the section of a definition that has one."""
        section = self._section_of(node)
        if section:
            return f"[{section}](#{section})"
        node = self.resolved(node)
        if "enum" in node or "const" in node:
            return ", ".join(f"`{shown(word)}`" for word in node.get("enum", [node.get("const")]))
        if "oneOf" in node and "type" not in node:
            return " or ".join(self.type_of(one) for one in node["oneOf"])
        names = node.get(
            "type", "date"
        )  # a key without a type is a date, which YAML reads as a text or a date of its own
        words = " or ".join(TYPES.get(one, one) for one in ([names] if isinstance(names, str) else names))
        if names == "array" and "items" in node:
            words = f"list of {self.type_of(node['items'])}"
        if names == "object" and "properties" not in node and isinstance(node.get("additionalProperties"), Mapping):
            words = f"mapping of NAME to {self.type_of(node['additionalProperties'])}"
        return f"{words} {', '.join(f'{sign} {node[key]}' for key, sign in LIMITS.items() if key in node)}".strip()

    def _section_of(self, node: Node) -> str:
        name: str = node.get("$ref", "").rpartition("/")[2]
        return name if name in self._sections else ""


def key_table(rows: Collection[tuple[str, ...]]) -> str:
    """The table of some keys, as ``SchemaTables.row`` has them."""
    return table(("key", "type", "default", "meaning", "example"), rows)


def shown(value: Any) -> str:
    """A value as YAML's flow style has it, in one line."""
    return yaml.safe_dump(value, default_flow_style=True, width=10_000, sort_keys=False, allow_unicode=True).split(
        "\n"
    )[0]
