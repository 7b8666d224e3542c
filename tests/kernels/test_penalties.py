"""What a path costs a kernel, beside what its link alone would cost; documents are made by hand on Keeneland's model."""

from __future__ import annotations

import pytest

from nearfar import kernels
from nearfar.base import NOT_JUDGED
from nearfar.kernels import KernelPenalty, penalties
from nearfar.question import named
from tests.support import kernel_documents as made

KEENELAND = made.node_type()


def of(results: list[dict[str, object]]) -> list[KernelPenalty]:
    return penalties.of_document(made.document(KEENELAND, results), KEENELAND.node)


def test_a_penalty_is_the_time_beyond_the_near_one_and_the_links_explain_it() -> None:
    found = of([*made.matrix_of(KEENELAND), *made.every_path(KEENELAND)])
    mine = {(str(each.other.about), each.other.kernel): each for each in found if each.what == "total"}
    assert {each.path_class for each in found} == {"off_socket"}
    assert len(mine) == 3 * len(made.TABLE), "one NUMA node beside the near one for each of three GPUs"
    scan, sgemm = mine["g0.n1", "scan"], mine["g0.n1", "sgemm"]
    there, back = (
        made.link(KEENELAND, cell) / made.link(KEENELAND, other)
        for cell, other in (("n0:g0", "n1:g0"), ("g0:n0", "g0:n1"))
    )
    bytes_, _, _, compute = made.TABLE["scan"]
    t_in, t_out = (bytes_ / made.link(KEENELAND, cell) / 1e3 for cell in ("n0:g0", "g0:n0"))
    slow = (compute + t_in * there + t_out * back) / (compute + t_in + t_out)
    assert scan.value == pytest.approx(slow - 1) and scan.link == pytest.approx(slow - 1)
    assert scan.interval is not None and scan.interval[0] < scan.value < scan.interval[1]
    assert scan.value > sgemm.value > 0, "the more arithmetic a byte, the less a path costs"
    assert all(each.only_the_link for each in mine.values())


def test_what_the_links_do_not_explain_says_so() -> None:
    names = ("sgemm", "scan")
    near = [entry for name in names for entry in made.results_of(KEENELAND, "g0.n0", name, "paper")]
    far = [entry for name in names for entry in made.results_of(KEENELAND, "g0.n1", name, "paper", slower=1.5)]
    document = made.document(KEENELAND, [*made.matrix_of(KEENELAND), *near, *far])
    (finding,) = kernels.findings.of_penalties(document)
    assert (finding.verdict, finding.code) == (NOT_JUDGED, "penalty.beyond_link")
    assert finding.fields["penalties"][0].startswith("scan"), "the greatest deviation first"
    fair = made.document(KEENELAND, [*made.matrix_of(KEENELAND), *made.every_path(KEENELAND, names)])
    assert {each.verdict for each in kernels.findings.of_penalties(fair)} == {"PASS"}


def test_without_the_matrix_nobody_knows_what_the_link_costs() -> None:
    document = made.document(KEENELAND, made.every_path(KEENELAND, ("scan",)))
    assert all(each.link is None for each in penalties.of_document(document, KEENELAND.node))
    (finding,) = kernels.findings.of_penalties(document)
    assert finding.code == "penalty.no_matrix"


def test_one_numa_node_has_no_second_class() -> None:
    one = made.node_type("h200-x2-vm")
    results = [entry for gpu in ("g0", "g1") for entry in made.results_of(one, f"{gpu}.n0", "sgemm", "today")]
    document = made.document(one, results)
    (finding,) = kernels.findings.of_penalties(document)
    assert (finding.verdict, finding.code) == (NOT_JUDGED, "penalty.one_numa_node")
    names = [figure.name for figure in named("kernel_penalty_check").figures(document, one.node)]
    assert names == [f"sole.g{gpu}_n0.sgemm_today_{what}" for gpu in (0, 1) for what in ("total", "overlapped")]


def test_ranks_bound_wrong_are_held_against_those_bound_right() -> None:
    results = [
        *made.results_of(KEENELAND, "g0.n0/right", "scan", "paper"),
        *made.results_of(KEENELAND, "g0.n1/wrong", "scan", "paper"),
        *made.results_of(KEENELAND, "g0.n0/default", "scan", "paper"),
    ]
    (total, overlapped) = of(results)
    assert (str(total.near.about), str(total.other.about)) == ("g0.n0/right", "g0.n1/wrong")
    assert (total.what, overlapped.what) == ("total", "overlapped")


def test_sizes_are_never_compared_with_each_other() -> None:
    near = made.results_of(KEENELAND, "g0.n0", "scan", "today")
    far = made.results_of(KEENELAND, "g0.n1", "scan", "today", smaller="2 GiB of GPU memory were free")
    for entry in far:
        entry["bytes"] = 1 << 20
    assert of([*near, *far]) == []
