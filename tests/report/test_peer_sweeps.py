"""Bandwidth over size and latencies: their cells, their figures, their names, their place on the page."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nearfar import measurement, report
from nearfar.base.errors import CouldNotJudge
from nearfar.cells import flow_class, latency_cells, parse_metric_name, size_sweep
from nearfar.measurement.document import from_raw
from nearfar.model.prediction import load_node_type
from nearfar.report.figures.wording import size
from nearfar.topology import parse_hwloc_xml
from nearfar.verdict import references
from tests.conftest import CHECKOUT
from tests.data.runs import many_gpus
from tests.report.test_report import Page

SUMMIT = load_node_type("summit", [CHECKOUT / "site"]).node


def test_a_sweep_has_one_path_of_each_class() -> None:
    cells, skips = size_sweep(SUMMIT)
    assert [str(cell) for cell in cells] == [
        "n0:g0", "g0:n0", "n1:g0", "g0:n1", "n0:g3", "g3:n0", "n1:g3", "g3:n1", "g0:g1", "g0:g3",
    ]  # fmt: skip
    assert skips == []


def test_latencies_are_of_every_path_once() -> None:
    cells, skips = latency_cells(SUMMIT)
    assert len(cells) == 12 + 30 and skips == []
    assert all(cell.lone and not cell.flows[0].options and cell.flows[0].driver is None for cell in cells)
    hidden = replace(SUMMIT, gpus=(*SUMMIT.gpus[:5], replace(SUMMIT.gpus[5], visible=False)))
    cells, skips = latency_cells(hidden)
    assert len(cells) == 10 + 20 and len(skips) == 2 + 10


@pytest.mark.parametrize("file", sorted((CHECKOUT / "tests/data/topologies").glob("*.xml")), ids=lambda f: f.stem)
def test_any_topology(file: Path) -> None:
    node = parse_hwloc_xml(file.read_text())
    cells, _ = size_sweep(node)
    assert len(cells) <= 20
    assert len({(c.flows[0].gpus, c.flows[0].direction, flow_class(node, c.flows[0])) for c in cells}) == len(cells)
    latency_cells(node)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report.build(many_gpus.small_and_large(tmp_path_factory.mktemp("runs") / "run")).parent


def metrics(run: Path, check: str) -> dict[str, Any]:
    document = measurement.load(run / "h200-03" / check / "document.json")
    found = measurement.metrics(document)
    for metric in found:
        assert parse_metric_name(metric.name).path_class == metric.class_in_name
    assert len({metric.name for metric in found}) == len(found)
    return {metric.name: metric for metric in found}


def test_three_latencies_of_a_path_are_three_figures(run: Path) -> None:
    found = metrics(run, "latency_check")
    assert len(found) == 3 * (8 + 12)
    chase = found["off_socket_latency_chase.n1_g0"]
    assert (chase.value, chase.unit, chase.quantity) == (pytest.approx(1.41, rel=0.01), "us", "latency.chase")
    node = measurement.load(run / "h200-03" / "latency_check" / "document.json").node
    # Siblings know only of too little: a low latency is no fault.
    assert set(references.resolve(list(found.values()), "latency_check", [], node).values()) == {None}


def test_the_largest_size_counts_and_the_half_size_is_told(run: Path) -> None:
    found = metrics(run, "size_sweep_check")
    assert found["near.n0_g0"].value == pytest.approx(55.5, rel=0.01)
    half = found["near_half_bandwidth.n0_g0"]
    assert (half.value, half.unit, half.quantity) == (pytest.approx(166500), "B", "size")


def test_latencies_and_sizes_on_the_page(run: Path) -> None:
    page = Page(run / "index.html")
    for words in (
        "Bandwidth over size",
        "Tiny copy",
        "Load by a kernel",
        "Launch of an empty kernel",
        "Host to device",
    ):
        assert words in page.text
    assert "n0→g0 near: 0.34 at 1 KiB, 55.5 at 1 GiB, half of the largest at 163 KiB" in page.text
    assert "µs, rows: source, columns: destination" in page.text
    said = report.summary(run, colour=False, every=True)
    assert "near tiny copy 1.90, load 1.16, launch 3.30, off socket tiny copy 2.15, load 1.41, launch 3.30 µs" in said


def test_a_curve_of_nothing_is_refused(run: Path) -> None:
    raw = json.loads((run / "h200-03" / "size_sweep_check" / "document.json").read_text())
    raw["curves"] = [{"cell": "n0:g0"}]
    with pytest.raises(CouldNotJudge, match="half_bandwidth_bytes"):
        from_raw(raw)


@pytest.mark.parametrize(
    "count, words", [(8, "8 B"), (1 << 10, "1 KiB"), (1.5 * (1 << 20), "1.5 MiB"), (1 << 30, "1 GiB")]
)
def test_sizes_in_words(count: float, words: str) -> None:
    assert size(count) == words
