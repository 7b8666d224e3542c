"""Copies between GPUs that have no NVLink go through both GPUs' links to the host: a degraded link slows them too."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nearfar.cells import parse
from nearfar.measurement import from_raw, merge, named_documents
from nearfar.model.calibration import measured_cells, node_type_of
from nearfar.model.diagnosis import diagnose
from nearfar.model.prediction import Capacity, NodeType, degraded, load_node_type, modelled_document, predict
from tests.conftest import CHECKOUT
from tests.data.runs import large_nodes

PAIRS = ("g0:g1", "g1:g0", "g1:g2", "g2:g1")


@pytest.fixture
def three_gpus() -> NodeType:
    """Keeneland's node, with what pairs of GPUs carry: 5.2 GB/s below one I/O hub, 2.9 across the packages (invented)."""
    known = load_node_type("keeneland", [CHECKOUT / "site"])
    rates = {pair: 5.2 if pair in ("g1:g2", "g2:g1") else 2.9 for pair in PAIRS}
    caps = {parse(pair): Capacity(pair, rate) for pair, rate in rates.items()}
    return replace(known, caps={cell: cap for cell, cap in known.caps.items() if cell.flows[0].kind != "peer"} | caps)


def rates(node_type: NodeType) -> list[float]:
    return [predict(parse(pair), node_type).total or 0.0 for pair in PAIRS]


def test_a_link_at_half_slows_what_goes_through_it(three_gpus: NodeType) -> None:
    assert rates(three_gpus) == [2.9, 2.9, 5.2, 5.2]
    h2d, d2h = (three_gpus.capacities[name].value or 0.0 for name in ("g1.h2d", "g1.d2h"))
    half_in, half_out = max(h2d, 5.2) / 2, max(d2h, 5.2) / 2
    link = {"g1.h2d": 0.5, "g1.d2h": 0.5}
    assert rates(degraded(three_gpus, link)) == pytest.approx(
        [min(2.9, half_in), min(2.9, half_out), half_out, half_in]
    )
    assert rates(degraded(three_gpus, {"g1.h2d": 0.5})) == pytest.approx([min(2.9, half_in), 2.9, 5.2, half_in])
    assert rates(degraded(three_gpus, {"g0.d2h": 0.9})) == [2.9, 2.9, 5.2, 5.2]


def test_the_link_explains_them_and_what_it_carries_to_the_host(three_gpus: NodeType) -> None:
    cells = [parse(cell) for cell in (*PAIRS, "n0:g0", "g0:n0", "n1:g1", "g1:n1", "n1:g2", "g2:n1")]
    well, ill = ({}, {"g1.h2d": 0.5, "g1.d2h": 0.5})
    healthy, now = (
        measured_cells(from_raw(modelled_document(three_gpus, cells, factors, 0.003, seed)))
        for factors, seed in ((well, 1), (ill, 2))
    )
    found = diagnose(three_gpus, now, healthy)
    assert [[blame.part.name for blame in blames] for blames in found.sets] == [["g1.link"]]
    assert found.sets[0][0].factor == pytest.approx(0.5, abs=0.02) and not found.unexplained


def test_sixteen_gpus_by_their_siblings(tmp_path: Path) -> None:
    """What all GPUs carry at once says nothing of shared uplinks here, and is left out."""
    run = large_nodes.sixteen_gpus(tmp_path)
    document = merge(named_documents([str(run)]))
    found = diagnose(node_type_of(document.node, "pcie16-003"), measured_cells(document))
    assert [[blame.part.name for blame in blames] for blames in found.sets] == [["g9.link"]]
    assert len(found.bad) == 20 and not found.unexplained, found.unexplained
