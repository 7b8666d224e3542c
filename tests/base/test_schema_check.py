"""The quick test of a schema says yes only where jsonschema does, and says it of the files that ship."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from nearfar.base import SiteFile, conforms, validator
from nearfar.cells import parse
from nearfar.model.prediction import load_node_type, modelled_document
from tests.conftest import CHECKOUT
from tests.data.runs import golden

SCHEMAS = {"systems": "system-1", "nodes": "node-type-1", "references": "references-1", "gpus": "gpu-1"}
FILES = [path for kind in SCHEMAS for path in sorted((CHECKOUT / "site" / kind).glob("*.yaml"))]
WRONG = (None, True, -1, 0, 1.0, 2.5, "", "x", [], [None], {}, {"x": 1})


def changed(value: Any) -> Iterator[Any]:
    """A document with one thing of it taken out, put in, or replaced by what hardly fits."""
    yield from WRONG
    for key in list(value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()):
        for other in changed(value[key]) if isinstance(value[key], (dict, list)) else WRONG:
            copied = copy.copy(value)
            copied[key] = other
            yield copied
        copied = copy.copy(value)
        del copied[key]
        yield copied
    if isinstance(value, dict):
        yield {**value, "unknown": 1}


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_shipped_files_need_no_second_look(path: Path) -> None:
    assert conforms(SCHEMAS[path.parent.name])(SiteFile(path).data)


@pytest.mark.parametrize(
    "kind, name", [("systems", "keeneland"), ("nodes", "pop-four-gpus"), ("gpus", "a10"), ("references", "titan")]
)
def test_never_yes_where_jsonschema_says_no(kind: str, name: str) -> None:
    data = SiteFile(CHECKOUT / "site" / kind / f"{name}.yaml").data
    quick, whole = conforms(SCHEMAS[kind]), validator(SCHEMAS[kind])
    answers = [(quick(one), whole.is_valid(one)) for one in changed(data)]
    assert (True, False) not in answers
    assert answers.count((False, False)) > 50 and (True, True) in answers


def test_never_yes_of_a_verdict_where_jsonschema_says_no(tmp_path: Path) -> None:
    path = golden.write(tmp_path / "run", checks=("peer_check",)) / "vm" / "peer_check" / "verdict.json"
    data = json.loads(path.read_text())
    one, two = data["metrics"][:2]
    data["document"] = {**data["document"], "results": [], "node": {}}
    data["metrics"] = [one, {**two, "unknown": 1}, {**one, "interval": None}]
    quick, whole = conforms("verdict-2"), validator("verdict-2")
    answers = [(quick(each), whole.is_valid(each)) for each in islice(changed(data), None, None, 3)]
    assert (True, False) not in answers
    assert answers.count((False, False)) > 300 and answers.count((True, True)) > 50


def test_never_yes_of_a_measurement_where_jsonschema_says_no() -> None:
    node = load_node_type("keeneland", [CHECKOUT / "site"])
    data = modelled_document(node, [parse("n0:g0"), parse("n0:g1+g1:n0")])
    quick, whole = conforms("measurement-2"), validator("measurement-2")
    assert quick(data), "the common case needs no second look"
    answers = [(quick(each), whole.is_valid(each)) for each in islice(changed(data), None, None, 3)]
    assert (True, False) not in answers and answers.count((False, False)) > 300


def test_a_look_at_a_node_does_without_the_judge_and_without_jsonschema() -> None:
    """What a prolog has to import is what a job waits for."""
    program = (
        "import sys, tempfile\n"
        "from nearfar.slurm import health\n"
        "health.program(health.HealthOptions(tempfile.mkdtemp(), state=tempfile.mkdtemp()))\n"
        "print(*[name for name in ('nearfar.verdict', 'jsonschema', 'jinja2') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=CHECKOUT)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, ""), done.stderr
