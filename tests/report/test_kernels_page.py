"""Kernels with their transfers on the page of a run; documents are made by hand."""

from __future__ import annotations

import pytest

from nearfar import report
from nearfar.report.blocks import Table, Text
from nearfar.report.sections import check_blocks
from tests.data.runs import kernels_by_hand
from tests.report.test_report import Page
from tests.support import kernel_documents as made


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    return Page(report.build(kernels_by_hand.write(tmp_path_factory.mktemp("kernels"))))


def test_the_page_has_rates_with_the_state_of_the_gpu(page: Page) -> None:
    for words in ("Matrix products", "g0: sgemm, today", "687.2 GFLOP/s", "1150 MHz", "225 W", "61 °C", "sw_power_cap"):
        assert words in page.text, words


def test_the_page_has_penalties_beside_what_the_links_cost(page: Page) -> None:
    for words in (
        "Kernels with their transfers",
        "Penalty of other paths",
        "sgemm, paper: g0.n1 off socket",
        "by the links",
        "Operations per byte",
    ):
        assert words in page.text, words
    assert "not only the link" not in page.text


def test_a_node_with_one_numa_node_has_figures_and_says_that_there_is_no_second_class() -> None:
    found = kernels_by_hand.document("kernel_penalty_check", "h200-x1-vm")
    times, note = check_blocks([], found.raw, None)
    assert isinstance(times, Table) and times.title == "Kernels with their transfers"
    assert isinstance(note, Text) and "one NUMA node: there is no second path class" in note.sentences[0]


def test_what_is_more_than_the_link_stands_beside_the_figure() -> None:
    node = made.node_type()
    results = [
        *made.results_of(node, "g0.n0", "sfft", "paper"),
        *made.results_of(node, "g0.n1", "sfft", "paper", slower=1.6),
    ]
    table = check_blocks([], made.raw(node, [*made.matrix_of(node), *results]), None)[0]
    assert isinstance(table, Table)
    label, total, link, overlapped, density = (entry.words for entry in table.rows[0].entries)
    assert (
        label == "sfft, paper: g0.n1 off socket"
        and link.endswith(", not only the link")
        and total.startswith("+")
        and overlapped.endswith(")")
        and float(density) > 0
    )
