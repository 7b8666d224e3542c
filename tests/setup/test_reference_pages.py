"""docs/reference/*-file.md: made from the schemas of a site's files, every key with a meaning and an example that the schema takes."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from nearfar.base.schema_check import schema

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "setup"))

import reference_pages  # noqa: E402


def keys_of(node: Any, above: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every key that a schema names anywhere in it, with its node."""
    if isinstance(node, list):
        for one in node:
            yield from keys_of(one, above)
    if not isinstance(node, Mapping):
        return
    for word, below in node.items():
        if word == "properties":
            for key, one in below.items():
                if (
                    isinstance(one, Mapping) and key != "$index"
                ):  # the one key of a check itself; its row is written in words
                    yield f"{above}.{key}", one
                    yield from keys_of(one, f"{above}.{key}")
        elif word not in ("if", "then", "else", "examples"):
            yield from keys_of(below, above)


def keys_of_file(name: str) -> list[tuple[str, Mapping[str, Any]]]:
    return list(keys_of(schema(reference_pages.PAGES[name][0])))


@pytest.mark.parametrize("name", reference_pages.PAGES)
def test_the_page_is_what_the_schema_says(name: str) -> None:
    page = CHECKOUT / "docs" / "reference" / f"{name}.md"
    again = "the page is older than the schema: .venv/bin/python setup/reference_pages.py"
    assert page.read_text(encoding="utf-8") == reference_pages.page(name), again


@pytest.mark.parametrize("name", reference_pages.PAGES)
def test_every_key_has_a_row(name: str) -> None:
    rows = re.findall(r"^\| \**`(\S+?)`\** \|", reference_pages.page(name), flags=re.M)
    missing = [
        path for path, _ in keys_of_file(name) if path.rpartition(".")[2] not in {row.split(".")[-1] for row in rows}
    ]
    assert missing == []


@pytest.mark.parametrize("name", reference_pages.PAGES)
def test_every_key_has_a_meaning_and_an_example(name: str) -> None:
    definitions = schema(reference_pages.PAGES[name][0]).get("definitions", {})
    complete = [(path, reference_pages.resolved(node, definitions)) for path, node in keys_of_file(name)]
    assert [path for path, node in complete if not {"description", "examples"} <= node.keys()] == []


@pytest.mark.parametrize("name", reference_pages.PAGES)
def test_every_example_is_taken_by_the_schema(name: str) -> None:
    whole = schema(reference_pages.PAGES[name][0])
    for path, node in keys_of_file(name):
        for example in node["examples"]:
            problem = next(
                jsonschema.Draft7Validator({**node, "definitions": whole.get("definitions", {})}).iter_errors(example),
                None,
            )
            assert problem is None, f"{path}: {problem.message if problem else ''}"


def test_numbers_that_measure_something_have_a_unit() -> None:
    """Of a number without a unit the meaning says what it counts, or that it is a factor."""
    without = {
        path.lstrip(".")
        for name in reference_pages.PAGES
        for path, node in keys_of_file(name)
        if node.get("type") == "number" and "unit" not in node
    }
    weights = {
        f"{table}.{weight}"
        for table in ("capacities", "caps")
        for weight in ("read_weight", "write_weight", "mixed_weight")
    }
    assert without == weights
