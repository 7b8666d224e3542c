"""docs/reference: every page is made from the code and the schemas, in which every key, column and rule has a description."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from nearfar.base.environment import VARIABLES
from nearfar.base.schema_check import schema
from nearfar.cells import COMPUTE_KERNELS, CORE_SHARES, GPU_KERNELS, KERNELS, OPTIONS
from nearfar.prometheus.catalogue import FILES, LABELS, METRICS
from nearfar.site.lint.complaints import RULES
from nearfar.slurm.act import node_states
from nearfar.slurm.ledger.ledger import TABLES

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "setup"))

import reference_pages  # noqa: E402
from node_state_tables import ACT_DOES  # noqa: E402
from schema_tables import SchemaTables  # noqa: E402

SITE_FILES = [file for file, _, _ in reference_pages.FILES.values()]
SCHEMAS = [*SITE_FILES, "measurement-2", "verdict-2", "hook-1"]


def keys_of_file(name: str) -> list[tuple[str, Mapping[str, Any]]]:
    """Those of a schema; ``$index``, the one key of a check itself, has its row in words."""
    tables = SchemaTables(name)
    return [(path, tables.resolved(node)) for path, node in keys_of(tables.whole) if not path.endswith("$index")]


def keys_of(node: Any, above: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every key that a schema names anywhere in it, with its node."""
    for word, below in node.items() if isinstance(node, Mapping) else enumerate(node) if isinstance(node, list) else ():
        if word == "properties":
            for key, one in below.items():
                yield f"{above}.{key}".lstrip("."), one
                yield from keys_of(one, f"{above}.{key}".lstrip("."))
        elif word not in ("if", "then", "else", "allOf", "examples"):
            yield from keys_of(below, above)


@pytest.mark.parametrize("name", reference_pages.PAGES)
def test_a_page_is_up_to_date(name: str) -> None:
    page = (reference_pages.FOLDER / f"{name}.md").read_text(encoding="utf-8")
    again = reference_pages.PAGES[name]()
    if name == "commands" and sys.version_info[:2] != (3, 11):
        pytest.skip("argparse wraps otherwise in other versions of Python")
    assert page.rstrip("\n") == again.rstrip("\n"), "write it again: .venv/bin/python setup/reference_pages.py"


def test_no_page_is_written_by_hand() -> None:
    pages = {path.stem for path in reference_pages.FOLDER.glob("*") if path.is_file()}
    assert pages == set(reference_pages.PAGES)


@pytest.mark.parametrize("name", reference_pages.PAGES)
def test_no_row_lacks_its_meaning(name: str) -> None:
    if name in ("messages", "thresholds"):
        pytest.skip("tests of their own tables")
    head: list[str] = []
    for line in (reference_pages.FOLDER / f"{name}.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] if line.startswith("|") else []
        head = (head or cells) if cells else []
        if "meaning" in head:
            assert cells[head.index("meaning")], line


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_key_has_a_description(name: str) -> None:
    assert [path for path, node in keys_of_file(name) if not node.get("description")] == []


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_key_has_a_row(name: str) -> None:
    made_of = {page: file for page, (file, _, _) in reference_pages.FILES.items()}
    made_of |= {"document": "measurement-2", "verdict": "verdict-2", "hooks": "hook-1"}
    page = next(page for page, file in made_of.items() if file == name)
    text = (reference_pages.FOLDER / f"{page}.md").read_text(encoding="utf-8")
    rows = {row.split(".")[-1] for row in re.findall(r"^\| \**`(\S+?)`\** \|", text, flags=re.M)}
    assert [path for path, _ in keys_of_file(name) if path.rpartition(".")[2] not in rows] == []


@pytest.mark.parametrize("name", SITE_FILES)
def test_every_key_of_a_site_file_has_an_example_that_its_schema_takes(name: str) -> None:
    whole = schema(name)
    for path, node in keys_of_file(name):
        assert node.get("examples"), path
        for example in node["examples"]:
            validator = jsonschema.Draft7Validator({**node, "definitions": whole.get("definitions", {})})
            problem = next(validator.iter_errors(example), None)
            assert problem is None, f"{path}: {problem.message if problem else ''}"


def test_numbers_that_measure_something_have_a_unit() -> None:
    """Of a number without a unit the meaning says what it counts, or that it is a factor."""
    without = {
        path for name in SITE_FILES for path, node in keys_of_file(name) if node.get("type") == "number" and "unit" not in node
    }  # fmt: skip
    weights = {f"{table}.{way}_weight" for table in ("capacities", "caps") for way in ("read", "write", "mixed")}
    assert without == weights


def test_every_option_of_a_cell_is_in_the_table() -> None:
    words = {word for option in OPTIONS for word in option.words}
    flags = {"sm", "staged", "pageable", "huge", "xK", "threads"}
    assert words == {*KERNELS, *GPU_KERNELS, *COMPUTE_KERNELS, *CORE_SHARES, *flags}


def test_every_column_of_the_ledger_has_a_comment() -> None:
    page = reference_pages.ledger()
    for table in re.findall(r"^CREATE TABLE (\w+) \(\n(.*?)^\)", TABLES, re.M | re.S):
        columns = re.findall(r"^ {4}([a-z_]+) ", table[1], re.M)
        section = page.partition(f"## {table[0]}\n")[2].partition("\n## ")[0]
        assert re.findall(r"^\| `(\w+)`", section, re.M) == columns, table[0]


def test_every_label_and_file_of_a_metric_is_described() -> None:
    assert {label for metric in METRICS.values() for label in metric.labels} == set(LABELS)
    assert {metric.file for metric in METRICS.values()} == set(FILES)
    assert all(metric.help for metric in METRICS.values())


def test_every_rule_of_lint_is_in_the_table() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in (CHECKOUT / "nearfar/site/lint").glob("*.py"))
    found = re.findall(r"(?<![.\w])(ERROR|WARNING|INFO|level),\s+\"([a-z-]+)\"", code)
    found += [("ERROR", rule) for rule in re.findall(r"refused\(\w+, \"([a-z-]+)\"\)", code)]
    assert {rule for _, rule in found} == set(RULES)
    assert [each for each in found if each[0] != "level" and each[0].lower() not in RULES[each[1]].levels] == []


def test_every_variable_of_the_environment_is_read() -> None:
    files = {*(CHECKOUT / "nearfar").rglob("*.py"), *(CHECKOUT / "setup").glob("*"), CHECKOUT / "validate"}
    files -= {CHECKOUT / "nearfar/base/environment.py"}
    code = "".join(path.read_text(encoding="utf-8") for path in files if path.is_file())
    assert [name for name in VARIABLES if name not in code] == []


def test_every_state_of_a_node_says_what_act_does() -> None:
    assert set(ACT_DOES) < set(node_states.STATES)
