"""A GPU that computes beside copies: the flow ``g0:g0/gemm``, in GFLOP/s and in no sum."""

from __future__ import annotations

from typing import Any

import pytest

from nearfar import cli
from nearfar.cells import CellError, decode_cell, encode_cell, parse
from nearfar.measurement import consistency, metrics
from nearfar.verdict import plausibility
from nearfar.verdict.words import describe
from tests.support import kernel_documents as made


def test_it_is_a_flow_of_one_gpus_own_memory() -> None:
    cell = parse("g0:g0/gemm+n0:g0")
    assert [flow.kind for flow in cell.flows] == ["compute", "host"] and decode_cell(encode_cell(cell)) == cell
    assert cell.flows[0].gpus == (0,) and cell.flows[0].default_driver is None


@pytest.mark.parametrize(
    "text, column",
    [("n0:g0/gemm", 7), ("c0:n0/gemm", 7), ("g0:g1/gemm", 7), ("g0:g0/gemm/triad", 12), ("g0:g0/gemm/x2", 12)],
)
def test_it_is_nothing_else(text: str, column: int) -> None:
    with pytest.raises(CellError) as told:
        parse(text)
    assert told.value.column == column


def test_its_rate_is_in_operations_and_that_of_the_copy_in_bytes() -> None:
    node = made.node_type()

    def flow(name: str, unit: str, value: float) -> dict[str, Any]:
        return {"flow": name, "rate": made.rate(unit, value), "solo": made.rate(unit, value * 1.1)}

    entry = {
        "quantity": "copy", "cell": "g0:g0/gemm+n0:g0", "bytes": 1 << 28, "converged": True, "verified": {"bytes": 1},
        "flows": [flow("g0:g0/gemm", "GFLOP/s", 500.0), flow("n0:g0", "GB/s", 5.0)], "total": made.rate("GB/s", 5.0),
    }  # fmt: skip
    found = metrics(made.document(node, [entry]), node.node)
    assert [consistency.fault(metric) for metric in found if metric.derived == ""] == [None] * 3
    compute = next(metric for metric in found if str(metric.flow) == "g0:g0/gemm")
    assert (
        compute.unit == "GFLOP/s"
        and describe(compute) == "GPU 0, matrix products, beside copies host to device of GPU 0"
    )
    assert not [metric for metric in found if metric.derived == "fairness"], (
        "operations and bytes are no shares of each other"
    )
    entry["flows"][0]["rate"] = made.rate("GB/s", 500.0)
    wrong = metrics(made.document(node, [entry]), node.node)
    assert "where GFLOP/s were asked for" in str(consistency.fault(wrong[0]))
    assert plausibility.fault(wrong[0], node.node) is None, "the unit is what is wrong with it"


def test_nobody_predicts_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["predict", "--node", "keeneland", "g0:g0/gemm+n0:g0"]) == 2
    assert "g0:g0/gemm: what a GPU computes is not predicted" in capsys.readouterr().err
