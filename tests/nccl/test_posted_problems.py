"""Problems that people posted of nccl-tests: below what their nodes should reach, and the cause among the first two that are named.

What a poster said of the node stands for what nearfar reads there: variables, IOMMU, ACS, the module nvidia-peermem.
"""

from __future__ import annotations

import re
from dataclasses import replace

from nearfar.collective import captures
from nearfar.nccl import NcclCase, NcclEvidence, as_slow_as, has_multicast
from nearfar.nccl.log import NcclLog
from nearfar.topology import Node
from tests.conftest import CHECKOUT


def as_posted(node: Node, what: str) -> Node:
    """The node with the settings that a poster tells of."""
    iommu = {"iommu": "on (DMA)"} if "IOMMU on" in what else {}
    peermem = {"peermem": "not loaded"} if "peer_mem not set up" in what else {}
    acs = {"acs": "on"} if re.search("ACS (redirection|was on)", what) else {}
    gpus = tuple(replace(gpu, settings={**gpu.settings, **acs}) for gpu in node.gpus)
    return replace(node, gpus=gpus, settings={**node.settings, **iommu, **peermem})


def test_every_problem_is_below_range_and_most_causes_are_named_first() -> None:
    found = []
    for published in captures.published_collectives([CHECKOUT / "site"]):
        for capture in published.captures:
            if not capture.cause or not capture.what:
                continue
            largest = max(captures.beside(published, capture), key=lambda each: each.bytes)
            assert largest.captured < largest.expected.low, published.name
            node = as_posted(published.node_type.node, capture.what)
            case = NcclCase(capture.collective, len(capture.gpus or node.gpus) * capture.nodes, capture.nodes, None)
            log = NcclLog(variables=dict(re.findall(r"(NCCL_\w+)=([^\s,;:]+)", capture.what)))
            like, multicast = as_slow_as(case, largest.bytes, largest.captured, node), has_multicast(case, node)
            evidence = NcclEvidence(node, log, nodes=capture.nodes, like=like, multicast=multicast)
            codes = [finding.code.removeprefix("nccl.") for finding in evidence.causes()]
            found.append((capture.cause in codes[:2], published.name, capture.cause, codes))
    assert len(found) >= 10 and sum(each[0] for each in found) >= 0.7 * len(found), found
