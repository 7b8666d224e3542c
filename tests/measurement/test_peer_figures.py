"""What is made of the figures of many GPUs, what they should be, and a check that measured nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from nearfar import measurement, verdict
from nearfar.base.verdicts import NOT_JUDGED
from nearfar.cells import parse, parse_metric_name
from nearfar.measurement import Document, Metric
from nearfar.measurement.document import from_raw
from nearfar.model.prediction import flow_link, link_ceiling, load_node_type, modelled_document
from nearfar.topology import Gpu, Link, Node, NumaNode, Package, node_to_document
from nearfar.verdict import references
from nearfar.verdict.document_findings import CaseInfo
from tests.conftest import CHECKOUT

SITE = [CHECKOUT / "site"]
H200 = Node(
    "h200", (Package(0, (0,)),), (NumaNode(0, 0, (0,), 1 << 37),),
    tuple(Gpu(i, f"0000:{i + 1:02x}:00.0", name="NVIDIA H200", numa_node=0, package=0, link=Link("pcie", 5, 16, 5, 16),
              nvlink_generation=4, nvlinks=18) for i in range(4)),
    peers={(a, b): "NV18" for a in range(4) for b in range(a + 1, 4)},
)  # fmt: skip


def document(rates: dict[str, float | list[float]], node: Node = H200, **tasks: list[float]) -> Document:
    """A measured document: a rate a flow; ``tasks`` are those of every shared flow, by ``x2``."""

    def rate(values: list[float]) -> dict[str, Any]:
        middle = sorted(values)[len(values) // 2]
        count = len(values) if len(values) > 1 else 6  # tasks are counted, samples need not be told apart
        return {"unit": "GB/s", "median": middle, "ci": None, "min": min(values), "max": max(values), "n": count}

    results = []
    for cell, given in rates.items():
        flows = []
        for position, flow in enumerate(parse(cell).flows):
            value = given[position] if isinstance(given, list) else given
            flows.append({"flow": str(flow), "rate": rate([value])})
            if flow.tasks > 1:
                flows[-1]["tasks"] = rate(tasks[f"x{flow.tasks}"])
        result = {"quantity": "copy", "cell": cell, "converged": True, "verified": True, "flows": flows}
        if len(flows) > 1:
            result["total"] = rate([sum(f["rate"]["median"] for f in flows)])
        results.append(result)
    return from_raw({
        "schema": "nearfar-measurement/2", "kind": "measured", "program": {"name": "nearfar-copy"},
        "node": node_to_document(node), "results": results, "skipped": [], "failed": [],
    })  # fmt: skip


def figures(made: Document, node: Node = H200) -> dict[str, Metric]:
    found = {metric.name: metric for metric in measurement.metrics(made, node)}
    for name, metric in found.items():
        parts = parse_metric_name(name)
        assert (parts.path_class, parts.cell, parts.flow, parts.total) == (
            metric.class_in_name, metric.cell, metric.flow, metric.total,
        )  # fmt: skip
    return found


def expected(made: Document, check: str = "peer_check", node: Node = H200, **more: Any) -> dict[str, Any]:
    return references.resolve(list(figures(made, node).values()), check, [], node, **more)


def judged(made: Document, check: str = "peer_check", **more: Any) -> dict[str, Any]:
    metrics = list(figures(made).values())
    found = references.resolve(metrics, check, [], H200)
    subject = CaseInfo(check, "s", "p", "e", "h200", "2026-11-20T00:00:00Z")
    asked = [metric.cell for metric in metrics]
    return verdict.verdict_file.to_raw(
        verdict.judge(made, found, subject=subject, metrics=metrics, asked=asked, **more)
    )


@pytest.mark.parametrize("cell", ["g0:g1+g0:g2", "g1:g0+g2:g0"])
@pytest.mark.parametrize(("link", "ceiling"), [("NV18", 450.0), ("NV6", 900.0)])
def test_flows_at_one_gpu_share_lanes_of_a_switch(cell: str, link: str, ceiling: float) -> None:
    node = replace(H200, peers=dict.fromkeys(H200.peers, link))
    raw = document({cell: 200.0}, node).raw
    for flow in raw["results"][0]["flows"]:
        flow["ceiling"] = 450.0
    (total,) = (metric for metric in figures(from_raw(raw), node).values() if metric.total)
    assert total.ceiling == ceiling


# Figures made of others


def test_staged_over_direct() -> None:
    found = figures(document({"g0:g1": 400.0, "g0:g1@g1": 390.0, "g0:g1/staged": 40.0, "g1:g0/staged": 40.0}))
    ratio = found["NV18_staged_over_direct.g0_g1.staged"]
    assert (ratio.value, ratio.unit, ratio.quantity) == (0.1, "1", "ratio")
    assert "NV18_staged_over_direct.g1_g0.staged" not in found  # its direct rate was not measured


def test_fairness_is_the_least_gpus_share_over_the_greatest() -> None:
    found = figures(document({
        "n0:g0+n0:g1": [40.0, 50.0], "n0:g0+g0:n0+n0:g1+g1:n0": [20.0, 30.0, 30.0, 20.0], "n0:g0+g0:n0": [1.0, 2.0],
    }))  # fmt: skip
    assert found["sole_fairness.n0_g0__n0_g1"].value == 0.8
    assert found["sole_fairness.n0_g0__g0_n0__n0_g1__g1_n0"].value == 1.0
    assert len([name for name in found if "fairness" in name]) == 2


def test_the_slowest_task_beside_its_fair_share() -> None:
    rates = {"n0:g0+n0:g1": [50.0, 40.0], "n0:g0/x2+n0:g1/x2": [50.0, 40.0], "n0:g0/x4+n0:g1/x4": [48.0, 40.0]}
    found = figures(document(rates, x2=[20.0, 25.0], x4=[0.5, 12.0, 12.0, 15.0]))
    cell = "n0_g0.x4__n0_g1.x4"
    assert found[f"sole_slowest_task.{cell}"].value == 0.5
    assert found[f"sole_fastest_task.{cell}"].value == 15.0
    assert found[f"sole_mean_task.{cell}"].value == 11.0
    assert found[f"sole_task_over_fair.{cell}.of.n0_g0.x4"].value == pytest.approx(0.04)
    assert found[f"sole_task_over_fair.{cell}.of.n0_g1.x4"].value == pytest.approx(0.05)
    assert found["sole_task_over_fair.n0_g0.x2__n0_g1.x2.of.n0_g1.x2"].value == 1.0


def test_a_fair_share_without_the_undivided_cell_is_of_the_shared_one() -> None:
    found = figures(document({"n0:g0/x2": 40.0}, x2=[15.0, 25.0]))
    assert found["sole_task_over_fair.n0_g0.x2"].value == 0.75


# What they should be


@pytest.mark.parametrize("cell, name", [("g0:g1", "NV18.g0_g1"), ("g0:g1@g1", "NV18.g0_g1_at_g1")])
def test_a_lone_pair_below_half_of_its_lanes_is_broken(cell: str, name: str) -> None:
    reference = expected(document({cell: 390.0}))[name]
    assert (reference.value, reference.degraded_below, reference.lowest) == (400.0, None, 200.0)
    assert "NVLink 4 x18 carries" in reference.note
    assert judged(document({cell: 198.0}))["verdict"] == "FAIL"  # half of what it had


def test_kernels_and_both_directions_at_once_have_no_prior() -> None:
    found = expected(document({"g0:g1/sm": 150.0, "g0:g1+g1:g0": 150.0}))
    assert set(found.values()) == {None}


def test_nothing_is_asserted_where_no_ceiling_is_known() -> None:
    unknown = replace(H200, gpus=tuple(replace(gpu, nvlink_generation=None) for gpu in H200.gpus))
    no_link = replace(H200, peers={})
    for node in (unknown, no_link):
        made = document({"g0:g1": 20.0, "g0:g1/staged": 20.0, "g0:g1+g2:g3": 1.0}, node)
        assert set(expected(made, node=node).values()) == {None}
    assert link_ceiling(Link("nvlink", 4, 18)) == pytest.approx(400.0)
    flow = parse("g0:g1").flows[0]
    assert flow_link(flow, H200) == Link("nvlink", 4, 18)
    assert flow_link(flow, unknown) is flow_link(flow, no_link) is None


def test_four_real_gpus_pass_and_a_slow_pair_is_named() -> None:
    rates: dict[str, Any] = {f"g{a}:g{b}": 394.8 for a in range(4) for b in range(4) if a != b}
    rates.update({f"{cell}@{cell[3:]}": 390.5 for cell in list(rates)})
    rates.update({f"g{a}:g{b}+g{b}:g{a}": 389.4 for a in range(4) for b in range(a + 1, 4)})
    rates.update({f"g{a}:g{b}/staged": 30.0 + b for a in range(4) for b in range(4) if a != b})
    assert judged(document(rates))["verdict"] == "PASS"
    slow = judged(document({**rates, "g2:g3@g3": 365.0}))
    assert (slow["verdict"], len(slow["reasons"])) == ("DEGRADED", 1)
    assert slow["reasons"][0].startswith(
        "GPU 2 to GPU 3, read: 365.0 GB/s, expected at least 371.0 GB/s (siblings: 390.5 GB/s, "
    )
    staged = judged(document({**rates, "g2:g3/staged": 20.0}))
    assert staged["reasons"][0].startswith(
        "GPU 2 to GPU 3 (/staged): 20.0 GB/s, expected at least 26.6 GB/s (siblings: 31.0 GB/s, "
    )
    broken = judged(document({**rates, "g0:g1+g1:g0": [389.0, 120.0]}))
    assert broken["verdict"] == "DEGRADED"
    assert (
        "GPUs 0 and 1, both directions at once, together: 509.0 GB/s, expected at least 700.9 GB/s (siblings: 778.8 GB/s, "
        in " ".join(broken["reasons"])
    )


def test_a_host_side_that_saturates_is_not_blamed_on_the_gpus() -> None:
    """Four H200s of a virtual machine: all at once far below the sum of their links."""
    rates: dict[str, Any] = {"+".join(f"n0:g{g}" for g in range(4)): [60.0, 50.0, 47.0, 40.0]}
    rates["+".join(f"g{g}:n0" for g in range(4))] = 39.3
    rates["+".join(f"n0:g{g}+g{g}:n0" for g in range(4))] = 23.4
    made = judged(document(rates), "saturation_check")
    assert made["verdict"] == NOT_JUDGED
    assert {m["reference"] for m in made["metrics"]} == {None}
    accepted = judged(document(rates), "saturation_check", acceptance=True)
    assert accepted["verdict"] == "INDETERMINATE"
    assert not any("fairness" in m["name"] for m in accepted["metrics"] if m["verdict"] == "INDETERMINATE")


def test_what_tasks_share_is_described() -> None:
    rates = {"n0:g0+n0:g1": 50.0, "n0:g0/x4+n0:g1/x4": 48.0}
    made = judged(document(rates, x4=[0.07, 16.0, 16.0, 16.0]), "sharing_check")
    share = next(m for m in made["metrics"] if m["name"].startswith("sole_task_over_fair"))
    assert (share["verdict"], share["reference"]) == (NOT_JUDGED, None)
    assert share["value"] == pytest.approx(0.006, abs=0.001)


def test_published_capacities_judge_what_many_gpus_carry() -> None:
    summit = load_node_type("summit", SITE)
    node = summit.node
    made = document({"n0:g0+n0:g1": 45.9, "n0:g0+n0:g1+n0:g2": 45.7}, node)
    found = expected(made, "saturation_check", node, node_type=summit)
    two = found["near.n0_g0__n0_g1.total"]
    assert (two.origin, two.value) == ("prediction", pytest.approx(91.85))
    assert two.degraded_below == pytest.approx(0.9 * 91.85)
    assert found["near.n0_g0__n0_g1__n0_g2.total"] is None  # limited by n0.memory, which is derived, not published


def test_the_modelled_summit_agrees_with_its_published_tables() -> None:
    from nearfar.cells import peer_matrix, saturation_ramps

    summit = load_node_type("summit", SITE)
    for check, generate, least in (("saturation_check", saturation_ramps, 18), ("peer_check", peer_matrix, 67)):
        made = measurement.loads(json.dumps(modelled_document(summit, generate(summit.node)[0])))
        metrics = measurement.metrics(made, summit.node)
        files = references.for_partition("summit", summit, SITE)
        found = references.resolve(metrics, check, files, summit.node, kind="modelled", node_type=summit)
        compared = [(m, found[m.name]) for m in metrics if found[m.name] is not None]
        assert len(compared) >= least
        for metric, reference in compared:
            assert reference.lowest <= metric.value <= reference.highest, metric.name


def test_modelled_tasks_have_a_kth_each() -> None:
    summit = load_node_type("summit", SITE)
    made = modelled_document(summit, [parse("n0:g0/x4")])
    tasks = made["results"][0]["flows"][0]["tasks"]
    assert (tasks["min"], tasks["n"]) == (pytest.approx(45.93 / 4), 4)
    found = figures(from_raw(made), summit.node)
    assert found["near_task_over_fair.n0_g0.x4"].value == pytest.approx(1.0)


# A check that measured nothing


@pytest.mark.parametrize(
    "kind, skipped, word",
    [("measured", "all", "INDETERMINATE"), ("measured", "some", NOT_JUDGED), ("modelled", "all", NOT_JUDGED)],
)
def test_a_check_whose_every_cell_was_skipped_is_not_green(kind: str, skipped: str, word: str) -> None:
    cells = [parse("g0:g1"), parse("g1:g0")]
    raw = document({} if skipped == "all" else {"g1:g0": 395.0}).raw
    lost = cells if skipped == "all" else cells[:1]
    raw["kind"] = kind
    raw["skipped"] = [{"cell": str(c), "reason": "no peer access", "code": "unsupported"} for c in lost]
    subject = CaseInfo("peer_check", "s", "p", "e", "h200", "2026-11-20T00:00:00Z")
    made = verdict.judge(from_raw(raw), {}, subject=subject, asked=cells, kind=kind)
    assert made.verdict == word
    if word == "INDETERMINATE":
        assert [finding.code for finding in made.findings] == ["cells.all_skipped"]
