"""The ceilings of links against the vectors shared with the programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar.model.prediction import link_ceiling
from nearfar.topology import Link

VECTORS = [
    line.split("\t")
    for line in (Path(__file__).parents[1] / "vectors" / "ceilings.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]


def test_vectors() -> None:
    assert {line[0] for line in VECTORS} == {"pcie", "nvlink"}
    for kind, generation, lanes, expected in VECTORS:
        ceiling = link_ceiling(Link(kind, int(generation), int(lanes)))
        assert ceiling == (None if expected == "-" else pytest.approx(float(expected), abs=1e-6)), (kind, generation)
