"""Messages between NUMA nodes: what is asked of a node, the figures, and ranks that were elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from nearfar.base import site_directories
from nearfar.measurement import Document, from_raw
from nearfar.model.prediction import load_node_type
from nearfar.mpi import TRAFFICS, numa_pairs
from nearfar.mpi.numa_pairs import NumaPair
from nearfar.question import named
from nearfar.topology import Gpu, Node, node_to_document

#: On one NUMA node and across packages, in the order of ``TRAFFICS``.
MEDIANS = {"n0-n0": (0.4, 100.0, 8.0), "n0-n1": (0.8, 200.0, 4.0)}


def node(name: str) -> Node:
    return load_node_type(name, site_directories()).node


KEENELAND = node("keeneland")


def result(pair: str, traffic: str, median: float, cpus: tuple[str, str], memory: tuple[int, int]) -> dict[str, Any]:
    latency = traffic.startswith("pingpong")
    rate = {"unit": "us" if latency else "GB/s", "median": median, "ci": [0.9 * median, 1.1 * median], "n": 6}
    flow = {
        "flow": "r0:r1", "rate": rate, "cpus": cpus[0], "partner_cpus": cpus[1], "memory_nodes": [memory[0]],
        "partner_memory_nodes": [memory[1]],
    }  # fmt: skip
    return {"quantity": "mpi.pingpong.latency" if latency else "mpi.stream.bandwidth", "cell": f"{pair}/{traffic}",
            "bytes": 8, "converged": True, "verified": True, "flows": [flow], "total": rate}  # fmt: skip


def raw(
    cpus: tuple[str, str] = ("2", "3"), memory: tuple[int, int] = (0, 1), library: str = "Open MPI v4.1.4"
) -> dict[str, Any]:
    """A document of Keeneland's two pairs; ``cpus`` and ``memory``: of the ranks across packages."""
    results = []
    for pair, medians in MEDIANS.items():
        where = (("0", "4"), (0, 0)) if pair == "n0-n0" else (cpus, memory)
        results += [result(pair, traffic, median, *where) for traffic, median in zip(TRAFFICS, medians)]
    return {
        "schema": "nearfar-measurement/2", "kind": "measured", "program": {"name": "nearfar-contention"},
        "node": node_to_document(KEENELAND), "results": results, "skipped": [], "failed": [], "mpi": {"library": library},
    }  # fmt: skip


def document(**more: Any) -> Document:
    return from_raw(raw(**more), "test")


@pytest.mark.parametrize(
    "name, pairs",
    [
        ("keeneland", "n0-n0 n0-n1"),
        ("summit", "n0-n0 n0-n1 n1-n1"),
        ("titan", "n0-n0 n0-n1"),
        ("pop-four-gpus", "n0-n0 n0-n1 n0-n4 n0-n2 n4-n6"),
        ("h200-x4-vm", "n0-n0"),
    ],
)
def test_each_relation_once_and_the_cores_beside_gpus(name: str, pairs: str) -> None:
    assert " ".join(map(str, numa_pairs.pairs_of(node(name)))) == pairs


def test_two_ranks_of_one_numa_node_need_two_cores() -> None:
    first, other = (next(iter(numa.cpus)) for numa in KEENELAND.numa_nodes)
    assert numa_pairs.pairs_of(replace(KEENELAND, allowed_cpus=(first, other))) == [NumaPair(0, 1)]
    assert numa_pairs.pairs_of(replace(KEENELAND, allowed_cpus=(first,))) == []


def test_an_odd_gpu_is_with_the_first_and_an_unknown_home_is_not_guessed() -> None:
    gpus = (Gpu(0, "0000:01:00.0", numa_node=1), Gpu(1, "0000:02:00.0", numa_node=None))
    assert [str(pair) for pair in numa_pairs.pairs_of(replace(KEENELAND, gpus=gpus))] == ["n0-n0", "n0-n1", "n1-n1"]


def test_a_node_of_one_core_has_nothing_to_ask_and_that_is_no_fault() -> None:
    one = replace(KEENELAND, allowed_cpus=(0,))
    question = named("mpi_check")
    assert question.cells(one) == ([], [])
    assert getattr(question.without_cells(one), "code", "") == "cells.one_core"


def test_figures_have_classes_and_wrong_over_right() -> None:
    found = {metric.name: metric for metric in numa_pairs.figures(document(), KEENELAND)}
    assert {name: metric.value for name, metric in found.items()} == {
        "same_numa_node.n0_n0.pingpong_8B": 0.4,
        "same_numa_node.n0_n0.pingpong_1MiB": 100.0,
        "same_numa_node.n0_n0.stream_1MiB": 8.0,
        "across_packages.n0_n1.pingpong_8B": 0.8,
        "across_packages.n0_n1.pingpong_1MiB": 200.0,
        "across_packages.n0_n1.stream_1MiB": 4.0,
        "across_packages_over_same_numa_node.n0_n1.pingpong_8B": 2.0,
        "across_packages_over_same_numa_node.n0_n1.pingpong_1MiB": 2.0,
        "across_packages_over_same_numa_node.n0_n1.stream_1MiB": 0.5,
    }
    latency = found["across_packages.n0_n1.pingpong_8B"]
    assert (latency.unit, latency.quantity, latency.interval) == ("us", "mpi.pingpong.latency", (0.9 * 0.8, 1.1 * 0.8))
    assert latency.words == "8 B ping-pong, host memory, n0 (beside g0) and n1 (beside g1, g2): across packages"


@pytest.mark.parametrize(
    "library, first",
    [
        ("Open MPI v4.1.4", ["openmpi_4_1_4.", "openmpi.", ""]),
        ("MPICH Version: 4.0.2", ["mpich_4_0_2.", "mpich.", ""]),
        ("Something 1", [""]),
    ],
)
def test_references_are_of_this_mpi_first(library: str, first: list[str]) -> None:
    latency = numa_pairs.figures(document(library=library), KEENELAND)[0]
    rows = ("same_numa_node.n0_n0.pingpong_8B", "same_numa_node.pingpong_8B")
    assert latency.rows == tuple(f"{prefix}{row}" for prefix in first for row in rows)


def test_the_class_is_the_expected_node_s() -> None:
    unpackaged = replace(KEENELAND, numa_nodes=tuple(replace(numa, package=None) for numa in KEENELAND.numa_nodes))
    assert {m.path_class for m in numa_pairs.figures(document(), unpackaged)} == {"same_numa_node", "unknown"}


def test_ranks_where_they_belong_are_no_finding() -> None:
    assert numa_pairs.findings(document(), KEENELAND) == []


@pytest.mark.parametrize(
    "where, code, fields",
    [
        ({"cpus": ("2", "4")}, "rank.other_cpus", {"cpus": "4", "numa_node": 1}),
        ({"cpus": ("2", "")}, "rank.other_cpus", {"cpus": "", "numa_node": 1}),
        ({"memory": (0, 0)}, "rank.other_memory", {"memory": [0], "numa_node": 1}),
    ],
)
def test_ranks_that_were_elsewhere_prove_nothing(where: dict[str, Any], code: str, fields: dict[str, Any]) -> None:
    found = numa_pairs.findings(document(**where), KEENELAND)
    assert {finding.verdict for finding in found} == {"INDETERMINATE"}
    assert ("n0-n1/pingpong_8B binding", code, fields) in [(each.subject, each.code, each.fields) for each in found]


def test_the_known_figures_are_those_of_a_document() -> None:
    names = {metric.name for metric in named("mpi_check").known_figures(KEENELAND)}
    assert {metric.name for metric in numa_pairs.figures(document(), KEENELAND)} <= names
