"""Captures of real nodes, judged as imported output is: healthy ones pass, and what was posted as a fault is found."""

from __future__ import annotations

import pytest

from nearfar import verdict
from nearfar.foreign import document, importing
from nearfar.foreign.output import ForeignOutput
from nearfar.model.published_nodes import PublishedNode, published_nodes
from nearfar.site import expectations
from tests.conftest import CHECKOUT

SITE = [CHECKOUT / "site"]
#: Healthy nodes that are DEGRADED, and why.
OUTLIERS = {
    "a100-sxm-x8-no-nvlink": "some pairs have 20.6 GB/s, the others 24.2",
    "epyc7542-rtx4090-x8": "two of 32 pairs across packages have 20.6 GB/s, the others 22.2",
    "h100-sxm-x8-ml-engineering": "364 to 394 GB/s by short copies, where the one H100 that is known has 397 by long ones",
    "mi350x-x8": "g7 to g1 has 46.7 GB/s, the others 57.5",
    "turin-rtx-x6-mixed": "one GPU is of another model",
}


def verdicts_of(node: PublishedNode) -> list[verdict.Verdict]:
    """The verdicts on a node's figures."""
    output = ForeignOutput("published figures")
    for figure in node.figures:
        flows = figure.cell.flows
        if figure.set_aside or flows[0].kind == "stream" or (figure.flow is not None and len(flows) > 1):
            continue  # no tool's reader makes a figure of these
        output.add("a figure", *((str(flow), None) for flow in flows), total=figure.value)
    made = expectations.filled(node.node_type.node, expectations.gpu_models(SITE))
    whole, _, _ = document.make([output], made, {}, None)
    return [judged for _, judged in importing._verdicts(whole, {}, None, SITE).values()]


@pytest.fixture(scope="module")
def judged() -> dict[str, tuple[PublishedNode, list[verdict.Verdict]]]:
    """Every published node with its verdicts."""
    return {node.name: (node, verdicts_of(node)) for node in published_nodes(SITE)}


def test_healthy_nodes_pass(judged: dict[str, tuple[PublishedNode, list[verdict.Verdict]]]) -> None:
    words = {
        name: {each.verdict for each in of_node} for name, (node, of_node) in judged.items() if node.state == "healthy"
    }
    assert {name for name, found in words.items() if found & {"FAIL", "INDETERMINATE"}} == set()
    assert {name for name, found in words.items() if "DEGRADED" in found} == set(OUTLIERS)


def test_what_was_posted_as_a_fault_is_found(judged: dict[str, tuple[PublishedNode, list[verdict.Verdict]]]) -> None:
    """The slow paths are named: the least part of what healthy machines carry is a fault's."""
    worst = {
        name: min((m.value / m.reference.value, m.name) for each in of_node for m in each.metrics if m.reference)
        for name, (node, of_node) in judged.items()
        if node.state == "fault"
    }
    assert len(worst) >= 5 and all(share < 0.5 for share, _ in worst.values()), worst
    assert worst["h100-vm-x4-one-slow"][1].endswith("n0_g0")
    assert worst["wrx90-rtxpro6000-x8-slow-uplink"][1].endswith("g0_g4")
