"""Copies beside matrix products and beside STREAM on real GPUs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.programs.test_copy_gpu import copy

pytestmark = pytest.mark.gpu


def test_each_flow_keeps_at_most_what_it_has_alone(build_folder: Path) -> None:
    cells = ("n0:g0+g0:g0/gemm", "g0:n0+g0:g0/gemm", "n0:g0+g0:n0+c0:n0/triad")
    code, document, stderr = copy(build_folder, *cells)
    assert code == 0, (document.get("skipped"), document.get("failed"), stderr)
    assert document["node"]["software"]["cublas"], "the library that computed is named"
    for result in document["results"]:
        assert result["verified"]["bytes"] > 0
        for flow in result["flows"]:
            kept = flow["rate"]["median"] / flow["solo"]["median"]
            assert 0.05 < kept < 1.1, (result["cell"], flow["flow"], kept)
