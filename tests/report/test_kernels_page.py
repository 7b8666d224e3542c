"""Kernels with their transfers on the page of a run; documents are made by hand."""

from __future__ import annotations

import pytest

from nearfar import report
from tests.data.runs import kernels_by_hand
from tests.report.test_report import Page


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    return Page(report.build(kernels_by_hand.write(tmp_path_factory.mktemp("kernels"))))


def test_the_page_has_rates_with_the_state_of_the_gpu(page: Page) -> None:
    for words in ("g0.n0 sgemm today", "687.2 GFLOP/s", "1150 MHz, 225 W, 61 °C, sw_power_cap"):
        assert words in page.text, words


def test_the_page_has_times_with_the_penalties_of_their_paths(page: Page) -> None:
    for words in ("g0.n1 sgemm paper", "off socket", "234.2 ms", "penalty 0.04", "Overlapped"):
        assert words in page.text, words
