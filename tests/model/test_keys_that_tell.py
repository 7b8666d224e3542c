"""The keys that a prediction asks for: a node type's file takes each of them, and with them nothing is unknown any more."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from nearfar.base import SiteFile
from nearfar.cells import parse
from nearfar.model.prediction import load_node_type, predict
from nearfar.model.prediction.unknown import missing_keys
from tests.conftest import CHECKOUT

SITE = CHECKOUT / "site"
CELLS = {
    "keeneland": ["n0:g0+g0:n0", "n1:g1+g1:n1+n1:g2+g2:n1", "g1:g2+g2:g1", "c0:n0/triad/one", "n0:g0/pageable"],
    "summit": ["n0:g3+n0:g4", "c0:n1/triad", "c0:n1/triad+c1:n0/triad", "c0:n0/triad/half", "g0:g0/triad+g0:g0/copy",
               "g0:g0/triad+n0:g0", "g0:g1+g0:g3", "g0:g1/staged+g1:g2/staged", "g0:g1/triad+g1:g0/triad", "n0:g0/sm"],
    "dl160": ["n0:g0+g0:n0+n0:g1+g1:n0", "g0:g1", "c0:n0/triad"],
    "pop-four-gpus": ["n1:g0", "g0:g1+g1:g0", "g0:g1+g2:g3", "c0:n1/triad"],
    "h200-x4-vm": ["g0:g0+g1:g1", "g0:g1/staged+g2:g3/staged", "g0:g0+g0:g1"],
}  # fmt: skip


def with_key(data: dict[str, Any], section: str, key: str) -> None:
    data.setdefault(section, {})[key] = (
        {"kind": "pcie", "gen": 4, "width": 16} if section == "links" else {"value": 50.0, "source": "measured"}
    )


@pytest.mark.parametrize(("name", "cell"), [(name, cell) for name, cells in CELLS.items() for cell in cells])
def test_the_keys_that_are_asked_for_tell_it(tmp_path: Path, name: str, cell: str) -> None:
    data = dict(SiteFile(SITE / "nodes" / f"{name}.yaml").data)
    (tmp_path / "nodes").mkdir()
    shutil.copy(SITE / "nodes" / data["xml"], tmp_path / "nodes")
    said: list[str] = []
    for _ in range(12):
        (tmp_path / "nodes" / f"{name}.yaml").write_text(yaml.safe_dump(data, sort_keys=False))
        node_type = load_node_type(name, [tmp_path, SITE])
        found = predict(parse(cell), node_type)
        if not found.unknown:
            assert said and found.total is not None
            return
        said.append("\n".join(missing_keys(found.unknown, node_type)))
        assert said.count(said[-1]) == 1, said
        for section, keys in yaml.safe_load(said[-1]).items():
            for key in keys:
                with_key(data, section, key)
    pytest.fail("\n".join(said))


def test_of_some_cores_alone_nothing_is_known() -> None:
    summit = load_node_type("summit", [SITE])
    assert predict(parse("c0:n0/triad"), summit).basis == "input"
    for cores in ("one", "half", "butone"):
        found = predict(parse(f"c0:n0/triad/{cores}"), summit)
        assert (found.basis, [each.name for each in found.unknown]) == ("upper bound", [f"c0:n0/triad/{cores}"])


def test_two_kernels_on_one_memory_are_no_input() -> None:
    summit = load_node_type("summit", [SITE])
    assert predict(parse("c0:n0/triad+c1:n1/copy"), summit).basis == "input"
    assert predict(parse("c0:n0/triad+c0:n0/copy"), summit).basis == "predicted"
