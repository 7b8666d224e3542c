"""What healthy machines typically carry, where a node's links are not known and its figures are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nearfar.cells import parse
from nearfar.model.prediction import NodeType, implied_capacities
from nearfar.model.typical import load_experience, typical_rate
from nearfar.topology import Link, parse_hwloc_xml
from tests.conftest import CHECKOUT
from tests.support.construct_topologies import CAPTURES


def test_all_gpus_of_a_package_whose_links_nobody_knows_have_their_own_figures() -> None:
    """What the package carries is a share of links: of unknown ones it is no limit, and no division by nothing."""
    node = parse_hwloc_xml((CAPTURES / "constructed-eight-gpus-nvswitch.xml").read_text(encoding="utf-8"))
    node = replace(node, gpus=tuple(replace(gpu, link=Link("pcie")) for gpu in node.gpus))
    implied = implied_capacities(node)
    given = {name: replace(each, value=50.0) if name.endswith(".h2d") else each for name, each in implied.items()}
    found = typical_rate(
        parse("n0:g0+n0:g1+n0:g2+n0:g3"), NodeType("unknown-links", node, given), load_experience((CHECKOUT / "site",))
    )
    assert found is not None and found.typical == pytest.approx(200.0)
