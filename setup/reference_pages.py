"""Write docs/reference/*-file.md from the JSON schemas of a site's files (every key with type, unit, default, meaning and example), and
messages.md from the tables of messages, thresholds.md from the module of the judge's numbers, and settings.md from the settings' table."""

from __future__ import annotations

import ast
import itertools
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CHECKOUT))

from nearfar.base.schema_check import schema  # noqa: E402
from nearfar.commands import explain  # noqa: E402
from nearfar.topology import SETTINGS  # noqa: E402

Node = Mapping[str, Any]

GUIDE = "[describe a node](../describe.md)"
#: The page's name, with its schema, what it is of, and the pages that show whole files.
PAGES = {
    "system-file": ("system-1", "system", f"{GUIDE}, [`act`](../drains.md)"),
    "node-file": ("node-type-1", "node", f"{GUIDE}, [prediction](../../benchmarks/studies/prediction.md)"),
    "gpu-file": ("gpu-1", "GPU", GUIDE),
    "reference-file": ("references-1", "reference",
                       f"{GUIDE}, [references](../references.md)"),
    "order-file": ("order-1", "order", GUIDE),
    "published-node-file": ("published-node-1", "published-node", "[published experiments](../use.md)"),
    "published-collective-file": ("published-collective-1", "published-collective", "[published experiments](../use.md)"),
    "application-file": ("application-1", "application",
                         "[what a binding costs](../use.md)"),
}  # fmt: skip
HEAD = """# The {of} file: site/{folder}/{file}.yaml

{description}

Whole files with explanations: {guides}. `nearfar schema {name}` prints the JSON schema that this page is made from, for editors; \
`nearfar lint` names a wrong key with file and line.

A key in bold is required. `[]` stands for each entry of a list, NAME for a key that the file chooses.

"""
TABLE = "| key | type | default | meaning | example |\n|---|---|---|---|---|\n"
#: What stands beside ``provenance`` in a reference file: the schema says it by conditions, so that this says it in words.
CHECKS = f"""## A check and its rows

{TABLE}| `CHECK` | mapping |  | The rows of one check, by its name. | `host_memory_check:` |
| `CHECK.$index` | list of `$dev.gpu.model` | none | %s. | `[$dev.gpu.model]` |
| `CHECK.MODEL` | mapping |  | With `$index`: the rows of a GPU model, by its name or a regular expression. | `NVIDIA H200:` |
| `CHECK.ROW`, `CHECK.MODEL.ROW` | list of number > 0, number from −1 to 0 or null, number ≥ 0 or null, text |  | \
Value, lower and upper bound as fractions of the value (null: no bound), unit. | `near.h2d: [55.5, -0.02, null, GB/s]` |
"""
TYPES = {
    "object": "mapping",
    "array": "list",
    "string": "text",
    "integer": "whole number",
    "boolean": "true or false",
    "null": "null",
}
LIMITS = {"exclusiveMinimum": ">", "minimum": "≥", "maximum": "≤"}


def page(name: str) -> str:
    """The text of one page."""
    file, of, guides = PAGES[name]
    whole = schema(file)
    definitions = whole.get("definitions", {})
    named = "NAME/node" if of == "published-node" else "NAME"
    text = HEAD.format(
        of=of, folder=f"{of.lower()}s", file=named, description=whole["description"], guides=guides, name=of.lower()
    )
    own = [row(key, node, definitions, key in whole["required"]) for key, node in whole["properties"].items()]
    below = {f"`{key}`": list(rows_below(key, node, definitions)) for key, node in whole["properties"].items()}
    for heading, rows in {"Keys of the file": own, **below}.items():
        text += f"## {heading}\n\n{TABLE}{''.join(rows)}\n" if rows else ""
    return (
        text.rstrip("\n")
        + "\n"
        + ("\n" + CHECKS % definitions["check"]["properties"]["$index"]["description"] if of == "reference" else "")
    )


def rows_below(path: str, node: Node, definitions: Node) -> Iterator[str]:
    """Rows of all keys below a node, depth first."""
    node = resolved(node, definitions)
    if isinstance(node.get("items"), Mapping):
        yield from rows_below(f"{path}[]", node["items"], definitions)
    for branch in node.get("oneOf", ()):
        yield from rows_below(path, branch, definitions)
    if isinstance(node.get("additionalProperties"), Mapping):
        yield from rows_below(f"{path}.NAME", node["additionalProperties"], definitions)
    for key, below in node.get("properties", {}).items():
        yield row(f"{path}.{key}", below, definitions, key in node.get("required", ()))
        yield from rows_below(f"{path}.{key}", below, definitions)


def row(path: str, node: Node, definitions: Node, required: bool) -> str:
    """The line of one key: itself, type with unit, default, meaning, example."""
    node = resolved(node, definitions)
    unit = node.get("unit", "")
    kind = type_of(node, definitions) + (f", {'as a' if unit.startswith('fraction') else 'in'} {unit}" if unit else "")
    meaning = node["description"] + ("" if node["description"].endswith((".", "…")) else ".")
    cells = [
        f"**`{path}`**" if required else f"`{path}`",
        kind,
        node.get("defaultText", ""),
        meaning,
        f"`{shown(node['examples'][0])}`",
    ]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"


def resolved(node: Node, definitions: Node) -> Node:
    """A node with what it refers to; what stands beside the reference comes first."""
    while "$ref" in node:
        rest = {key: value for key, value in node.items() if key != "$ref"}
        node = {**definitions[node["$ref"].rpartition("/")[2]], **rest}
    return node


def type_of(node: Node, definitions: Node) -> str:
    """A node's type in words, with the limits of numbers."""
    node = resolved(node, definitions)
    if "enum" in node:
        return ", ".join(f"`{shown(word)}`" for word in node["enum"])
    if "oneOf" in node and "type" not in node:
        return " or ".join(type_of(one, definitions) for one in node["oneOf"])
    names = node.get("type", "date")  # a key without a type is a date, which YAML reads as a text or a date of its own
    words = " or ".join(TYPES.get(one, one) for one in ([names] if isinstance(names, str) else names))
    if names == "array":
        words = f"list of {type_of(node['items'], definitions)}"
    if names == "object" and "properties" not in node and isinstance(node.get("additionalProperties"), Mapping):
        words = f"mapping of NAME to {type_of(node['additionalProperties'], definitions)}"
    return f"{words} {', '.join(f'{sign} {node[key]}' for key, sign in LIMITS.items() if key in node)}".strip()


def shown(value: Any) -> str:
    """A value as YAML's flow style has it, in one line."""
    return yaml.safe_dump(value, default_flow_style=True, width=10_000, sort_keys=False, allow_unicode=True).split(
        "\n"
    )[0]


def thresholds() -> str:
    """The text of ``docs/reference/thresholds.md``: the sections, names, values and comments of both modules of numbers."""
    modules = ("nearfar/verdict/thresholds/__init__.py", "nearfar/model/diagnosis/thresholds.py")
    made = " and ".join(f"`{module}`" for module in modules)
    return f"# Thresholds\n\nEvery number that a verdict or a diagnosis rests on, made from {made}.\n" + "".join(
        _numbers((CHECKOUT / module).read_text(encoding="utf-8")) for module in modules
    )


def _numbers(source: str) -> str:
    text = ""
    comment: list[str] = []
    for node in ast.parse(source).body:
        if not isinstance(node, ast.Assign):
            continue
        lines = source.splitlines()[: node.lineno - 1]
        comment = list(itertools.takewhile(lambda line: line.startswith("#"), reversed(lines)))[::-1]
        before = lines[: len(lines) - len(comment)]
        heading = next((line for line in reversed(before) if line), "")
        if heading.startswith("# ---"):
            text += f"\n## {heading.strip('# -')}\n\n| name | value | unit | why |\n|---|---|---|---|\n"
        unit, _, why = " ".join(line.removeprefix("#:").strip() for line in comment).partition(" · ")
        name = ast.unparse(node.targets[0]).strip("()").replace(", ", "<br>")
        text += f"| {name} | {_value(ast.unparse(node.value))} | {unit} | {why} |\n"
    return text


def _value(written: str) -> str:
    """A value without Python's marks."""
    return re.sub(r"[{}'()]", "", written).replace("1 << 25", "32 MiB")


def settings() -> str:
    """The text of ``docs/reference/settings.md``."""
    rows = [f"| {each.title} | `{each.key}` | {each.source} | {', '.join(each.explains)} |" for each in SETTINGS]
    return f"""# Settings that cost speed

Each run reads them once per node, without root where the table does not say otherwise, and keeps them in the node's `node.json`:
`settings` of the node, and of each GPU and NIC; `driver`, `kernel` and `vbios` in `software`. What cannot be read is absent.
`nearfar compare --settings RUN…` prints what differs between nodes; it needs no figure.

| setting | key | read from | figures that it can explain |
|---|---|---|---|
{chr(10).join(rows)}
"""


if __name__ == "__main__":
    (CHECKOUT / "docs" / "reference" / "settings.md").write_text(settings(), encoding="utf-8")
    (CHECKOUT / "docs" / "reference" / "thresholds.md").write_text(thresholds(), encoding="utf-8")
    (CHECKOUT / "docs" / "reference" / "messages.md").write_text(explain.page(), encoding="utf-8")
    for name in PAGES:
        (CHECKOUT / "docs" / "reference" / f"{name}.md").write_text(page(name), encoding="utf-8")
