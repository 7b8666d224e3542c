"""Write docs/reference/*-file.md from the JSON schemas of a site's files: every key with type, unit, default, meaning and example."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CHECKOUT))

from nearfar.base.schema_check import schema  # noqa: E402

Node = Mapping[str, Any]

#: The page's name, with its schema, its name for ``nearfar schema``, its title and the pages that show whole files.
PAGES = {
    "system-file": ("system-1", "system", "The system file: site/systems/NAME.yaml",
                    "[describe your system](../guide/describe-your-system.md#a-system-file), [`act`](../guide/slurm-act.md)"),
    "node-file": ("node-type-1", "node", "The node file: site/nodes/NAME.yaml",
                  "[describe your system](../guide/describe-your-system.md), [prediction](../method/prediction.md)"),
    "gpu-file": ("gpu-1", "gpu", "The GPU file: site/gpus/NAME.yaml",
                 "[describe your system](../guide/describe-your-system.md#gpu-models)"),
    "reference-file": ("references-1", "references", "The reference file: site/references/NAME.yaml",
                       "[describe your system](../guide/describe-your-system.md#references), [tuning](../guide/tuning.md)"),
    "application-file": ("application-1", "application", "The application file: site/applications/NAME.yaml",
                         "[applications](../guide/applications.md), [what a binding costs](../guide/cost.md)"),
}  # fmt: skip
#: Definitions with a table of their own, and the page that has it.
TABLES = {"expect": "system-file", "run_program": "application-file"}
TYPES = {"object": "mapping", "array": "list", "string": "text", "integer": "whole number", "number": "number",
         "boolean": "true or false", "null": "null"}  # fmt: skip


def page(name: str) -> str:
    """The text of one page."""
    file, schema_name, title, guides = PAGES[name]
    whole = schema(file)
    lines = [f"# {title}", "", whole["description"], ""]
    lines += [f"Whole files with explanations: {guides}. `nearfar schema {schema_name}` prints the JSON schema that this page is "
              "made from, for editors; `nearfar lint` names a wrong key with file and line.", ""]  # fmt: skip
    lines += [
        "A key in bold is required. `[]` stands for each entry of a list, NAME for a key that the file chooses.",
        "",
    ]
    sections = dict(tables(whole, name))
    for heading, rows in sections.items():
        lines += [f"## {heading}", "", "| key | type | default | meaning | example |", "|---|---|---|---|---|"]
        lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
        lines.append("")
    return "\n".join(lines)


def tables(whole: Node, name: str) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """Headings with the rows below: the file's own keys, then each key that has keys itself, then shared definitions."""
    definitions = whole.get("definitions", {})
    yield (
        "Keys of the file",
        [row(key, node, whole, key in whole["required"]) for key, node in whole["properties"].items()],
    )
    for key, node in whole["properties"].items():
        if table_of(node) is None:
            rows = list(rows_below(key, resolved(node, definitions), whole))
            if rows:
                yield f"`{key}`", rows
    for definition, place in TABLES.items():
        if place == name:
            yield (
                f"`{heading_of(definition)}`",
                list(rows_below("", resolved(definitions[definition], definitions), whole)),
            )
    if name == "reference-file":
        yield "A check and its rows", list(rows_of_checks(definitions))


def heading_of(definition: str) -> str:
    """What the keys of a shared definition stand under."""
    return {"run_program": "run"}.get(definition, definition)


def rows_of_checks(definitions: Node) -> Iterator[tuple[str, ...]]:
    """What stands beside ``provenance`` in a reference file: the schema says it by conditions, so that this says it in words."""
    index = definitions["check"]["properties"]["$index"]["description"]
    kind = "list of number > 0, number from −1 to 0 or null, number ≥ 0 or null, text"
    bounds = "Value, lower and upper bound as fractions of the value (null: no bound), unit."
    yield "`CHECK`", "mapping", "", "The rows of one check, by its name.", "`host_memory_check:`"
    yield "`CHECK.$index`", "list of `$dev.gpu.model`", "none", f"{index}.", "`[$dev.gpu.model]`"
    yield (
        "`CHECK.MODEL`",
        "mapping",
        "",
        "With `$index`: the rows of a GPU model, by its name or a regular expression.",
        "`NVIDIA H200:`",
    )
    yield "`CHECK.ROW`, `CHECK.MODEL.ROW`", kind, "", bounds, "`near.h2d: [55.5, -0.02, null, GB/s]`"


def rows_below(path: str, node: Node, whole: Node) -> Iterator[tuple[str, ...]]:
    """Rows of all keys below a node, depth first; ``path`` is the node's own, empty for a definition."""
    definitions = whole.get("definitions", {})
    if node.get("type") == "array" and isinstance(node.get("items"), Mapping) and table_of(node["items"]) is None:
        yield from rows_below(f"{path}[]", resolved(node["items"], definitions), whole)
    for branch in node.get("oneOf", ()):
        yield from rows_below(path, branch, whole)
    if isinstance(node.get("additionalProperties"), Mapping):
        yield from rows_below(f"{path}.NAME", resolved(node["additionalProperties"], definitions), whole)
    for key, below in node.get("properties", {}).items():
        own = f"{path}.{key}" if path else key
        yield row(own, below, whole, key in node.get("required", ()))
        if table_of(below) is None:
            yield from rows_below(own, resolved(below, definitions), whole)


def row(path: str, node: Node, whole: Node, required: bool) -> tuple[str, ...]:
    """The cells of one key: itself, type with unit, default, meaning, example."""
    full = resolved(node, whole.get("definitions", {}))
    kind = type_of(node, whole)
    if full.get("unit"):
        kind += f", as a {full['unit']}" if full["unit"].startswith("fraction") else f", in {full['unit']}"
    meaning = full["description"] if full["description"].endswith((".", "…")) else full["description"] + "."
    example = f"`{shown(full['examples'][0])}`"
    return f"**`{path}`**" if required else f"`{path}`", kind, full.get("defaultText", ""), meaning, example


def resolved(node: Node, definitions: Node) -> Node:
    """A node with what it refers to; what stands beside the reference comes first."""
    while "$ref" in node:
        rest = {key: value for key, value in node.items() if key != "$ref"}
        node = {**definitions[node["$ref"].rpartition("/")[2]], **rest}
    return node


def table_of(node: Node) -> str | None:
    """The definition with a table of its own that a node, or each entry of its list, refers to."""
    name = str(node.get("$ref", "")).rpartition("/")[2]
    if not name and isinstance(node.get("items"), Mapping):
        return table_of(node["items"])
    return name if name in TABLES else None


def type_of(node: Node, whole: Node) -> str:
    """A node's type in words, with the limits of numbers."""
    table = table_of(node)
    node = resolved(node, whole.get("definitions", {}))
    if table and "items" not in node:
        return f"mapping, see [{heading_of(table)}]({TABLES[table]}.md#{heading_of(table)})"
    if "enum" in node:
        return ", ".join(f"`{shown(word)}`" for word in node["enum"])
    if "oneOf" in node and "type" not in node:
        return " or ".join(type_of(one, whole) for one in node["oneOf"])
    names = node.get("type", "date")  # a key without a type is a date, which YAML reads as a text or a date of its own
    words = " or ".join(TYPES.get(one, one) for one in ([names] if isinstance(names, str) else names))
    if names == "array":
        words = f"list of {type_of(node['items'], whole)}"
    if names == "object" and "properties" not in node and isinstance(node.get("additionalProperties"), Mapping):
        inner = type_of(node["additionalProperties"], whole)
        words = f"mapping of NAME to {inner}"
    limits = [
        f"{sign} {node[key]}"
        for key, sign in (("exclusiveMinimum", ">"), ("minimum", "≥"), ("maximum", "≤"))
        if key in node
    ]
    return " ".join([words, ", ".join(limits)]).strip()


def shown(value: Any) -> str:
    """A value as YAML's flow style has it, in one line."""
    return yaml.safe_dump(value, default_flow_style=True, width=10_000, sort_keys=False, allow_unicode=True).split(
        "\n"
    )[0]


def main() -> int:
    """Write the pages."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    for name in PAGES:
        (CHECKOUT / "docs" / "reference" / f"{name}.md").write_text(page(name), encoding="utf-8")
        print(f"docs/reference/{name}.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
