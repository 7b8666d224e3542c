"""The kinds of figures that settings can explain."""

from __future__ import annotations

import pytest

from nearfar.cells import parse
from nearfar.measurement import figure_kind
from nearfar.topology import SETTINGS


@pytest.mark.parametrize(
    "quantity, cell, kind",
    [
        ("copy", "n0:g0+n0:g1", "copies between host and GPU"),
        ("copy", "g0:g1", "copies between GPUs"),
        ("copy", "g0:g0", "GPU kernels"),
        ("stream", "c0:n0/triad", "host memory"),
        ("stream", "g0:g0/triad", "GPU kernels"),
        ("latency.chase", "n0:g0", "latencies"),
        ("mpi.latency", None, "messages between nodes"),
        ("kernel.sgemm.rate", None, "GPU kernels"),
        ("program.over_reference", None, None),
    ],
)
def test_every_figure_has_the_kind_that_settings_name(quantity: str, cell: str | None, kind: str | None) -> None:
    assert figure_kind(quantity, None if cell is None else parse(cell)) == kind
    assert kind is None or any(kind in setting.explains for setting in SETTINGS)
