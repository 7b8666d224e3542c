"""The page of many nodes: every node once, worst first, what they share, and how figures lie across them."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from nearfar.report import batch
from nearfar.report.batch import Batch, BatchNode, Distributions
from nearfar.report.batch.nodes import shared
from nearfar.slurm.controller.node_names import fold
from nearfar.verdict import JudgedMetric, JudgedReference
from tests.support.verdicts import judged, judged_metric


def metric(name: str, value: float, word: str = "PASS", row: str = "near.h2d") -> JudgedMetric:
    return judged_metric(
        name=name, rows=(name, row), value=value, verdict=word,
        reference=JudgedReference(55.0, 52.6, None, "GB/s", "tuned", "", False),
    )  # fmt: skip


def distributions(count: int, slow: int) -> Distributions:
    """Nodes n0, n1 … of two GPUs each; GPU 1 of node ``slow`` is slow."""
    made = Distributions()
    for node in range(count):
        bad = node == slow
        second = metric("near.n0_g1", 27.1 if bad else 55.0 + node / 100, "FAIL" if bad else "PASS")
        made.add(f"n{node}", [judged("host_device_check", metric("near.n0_g0", 55.2), second)])
    return made


def page(nodes: list[BatchNode], made: Distributions) -> str:
    return batch.render(Batch("Sweep s", "partition gpu", "2026-11-20T09:00:00Z", nodes, made), fold)


NODES = [
    BatchNode("n2", "FAIL", "GPU 1: <b>slow</b>", "nodes/n2/1/index.html", {"host_device_check": "FAIL"},
              (("host_device_check", "near.n0_g1"),)),
    BatchNode("n3", "INDETERMINATE", "not measured: drained by root: bad fan"),
    *(BatchNode(f"n{i}", "PASS", None, f"nodes/n{i}/1/index.html", {"host_device_check": "PASS"}) for i in (0, 1)),
]  # fmt: skip


def test_figures_are_told_with_the_nodes_that_did_not_pass() -> None:
    (pooled,) = distributions(10, slow=4).pooled("host_device_check")
    assert (pooled.name, pooled.nodes, len(pooled.values)) == ("near.h2d", 10, 20)
    assert pooled.extreme(lowest=True) == (27.1, 4) and pooled.bad_owners == [4]
    single = distributions(10, slow=4).single("host_device_check")
    assert [one.name for one in single] == ["near.n0_g1", "near.n0_g0"], "what did not pass comes first"
    counts, bad, low, high = pooled.histogram(20)
    assert sum(counts) == 20 and (low, counts[0]) == (27.1, 1) and high == pytest.approx(55.2)
    assert bad == [1] + [0] * 19, "what did not pass has a colour of its own, wherever bounds of others are"


def test_values_that_are_all_alike_have_a_histogram() -> None:
    made = Distributions()
    for node in range(3):
        same = replace(metric("m", 5.0), reference=None)
        made.add(f"n{node}", [judged("c", same)])
    counts, bad, low, high = made.pooled("c")[0].histogram(10)
    assert (sum(counts), sum(bad), low, high) == (3, 0, 5.0, 5.0)
    assert "<svg" in page([BatchNode("n0", "PASS", None, None, {"c": "PASS"})], made)


def test_what_nodes_share_is_told_by_their_list() -> None:
    same = (("host_device_check", "near.n0_g1"),)
    nodes = [BatchNode(f"n{i}", "FAIL", "slow", findings=same * 2) for i in range(1, 5)]
    (((_, _, what), names),) = shared([*nodes, BatchNode("n9", "FAIL", "other", findings=(("peer_check", "x"),))])
    assert (what, fold(names)) == ("near.n0_g1", "n[1-4]")
    assert shared([replace(node, verdict="PASS") for node in nodes]) == []


class _Tags(HTMLParser):
    """Whether every element that opens also closes, and the addresses of links."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "br", "link"):
            self.open.append(tag)
        self.links += [value or "" for key, value in attributes if key == "href"]

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, f"</{tag}> closes nothing"


def test_the_page() -> None:
    text = page(NODES, distributions(4, slow=2))
    tags = _Tags()
    tags.feed(text)
    assert not tags.open
    assert {"nodes/n2/1/index.html", "#n2", "#n3", "nodes/n0/1/index.html"} <= set(tags.links)
    assert "<b>slow</b>" not in text and "&lt;b&gt;slow" in text, "words of nodes are escaped"
    at_a_glance = re.findall(r'class="cell (\w+)"', text)
    assert at_a_glance == ["FAIL", "INDETERMINATE", "PASS", "PASS"]
    assert "1 node failed; 1 node could not be judged. 2 of 4 passed." in text
    assert "near.h2d" in text and "27.1" in text


def test_a_page_without_nodes_or_figures() -> None:
    assert "No node was asked for." in page([], Distributions())
    assert "INDETERMINATE" in page([], Distributions())
    assert "How the figures lie" not in page([NODES[1]], Distributions())
