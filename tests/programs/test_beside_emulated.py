"""``nearfar-copy`` with what is no copy beside its copies, on emulated GPUs: matrix products of a GPU, STREAM by cores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nearfar import measurement
from tests.support.emulated import Emulated, emulated_programs

PRODUCTS = "n0:g0+g0:g0/gemm"
STREAM = "n0:g0+g0:n0+c0:n0/triad/one"


@pytest.fixture(scope="module")
def emulated(build_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Emulated:
    return emulated_programs(build_folder, tmp_path_factory.mktemp("beside"))


def measured(emulated: Emulated, *words: str, code: int = 0, gpus: int = 1, settings: str = "") -> dict[str, Any]:
    ended = emulated.run("--json", *words, gpus=gpus, settings=settings)
    document = ended.document()
    measurement.document.from_raw(document, "emulated-copy")
    assert ended.code == code, ended.errors
    return document


def test_products_are_told_in_operations_and_in_no_total(emulated: Emulated) -> None:
    (result,) = measured(emulated, PRODUCTS)["results"]
    copy, products = result["flows"]
    assert result["quantity"] == "copy" and result["verified"]["bytes"] > 0
    assert copy["rate"]["unit"] == result["total"]["unit"] == "GB/s" and products["rate"]["unit"] == "GFLOP/s"
    assert result["total"]["median"] == pytest.approx(copy["rate"]["median"], rel=0.01), "products are no bytes"
    assert products["solo"]["unit"] == "GFLOP/s" and products["solo"]["median"] > 0, "alone, on the same code path"
    assert products["rate"]["n"] == copy["rate"]["n"] == products["solo"]["n"], (
        "in the same windows, and alone in the same rounds"
    )


def test_stream_beside_copies_is_counted_with_them(emulated: Emulated) -> None:
    (result,) = measured(emulated, STREAM, "--rounds", "1")["results"]
    rates = [flow["rate"]["median"] for flow in result["flows"]]
    assert {flow["rate"]["unit"] for flow in result["flows"]} == {"GB/s"}
    assert result["total"]["median"] == pytest.approx(sum(rates), rel=0.25)
    stream = result["flows"][2]
    assert stream["flow"] == "c0:n0/triad/one" and stream["memory_nodes"] == [0] and len(stream["cpus"].split(",")) == 1
    assert all(flow["solo"]["median"] > 0 for flow in result["flows"])


def test_what_each_keeps_of_what_it_does_alone_is_a_figure(emulated: Emulated) -> None:
    document = measured(emulated, PRODUCTS)
    found = measurement.metrics(measurement.document.from_raw(document, "emulated-copy"))
    kept = {str(figure.flow): figure for figure in found if figure.derived == "over_alone"}
    assert set(kept) == set(PRODUCTS.split("+"))
    assert all(figure.unit == "1" and 0 < figure.value < 3 for figure in kept.values())


def test_a_wrong_product_fails(emulated: Emulated) -> None:
    document = measured(emulated, PRODUCTS, "n0:g0", code=1, settings="wrong_product=3")
    ((cell, code, reason),) = [(each["cell"], each["code"], each["reason"]) for each in document["failed"]]
    assert (cell, code) == (PRODUCTS, "wrong_data") and "1 of 128 rows are not those of the product" in reason
    assert [result["cell"] for result in document["results"]] == ["n0:g0"], "the copy alone is measured all the same"


def test_too_little_gpu_memory_is_said_of_its_cell_alone(emulated: Emulated) -> None:
    document = measured(emulated, PRODUCTS, "n0:g0", code=3, settings="memory=200000000")
    assert [(each["cell"], each["code"]) for each in document["skipped"]] == [(PRODUCTS, "no_memory")]
    assert "g0:g0/gemm needs 256 MiB of g0's memory: less is free" in document["skipped"][0]["reason"]
    assert [result["cell"] for result in document["results"]] == ["n0:g0"]


def test_a_gpu_that_is_lost_while_it_computes_is_named(emulated: Emulated) -> None:
    document = measured(emulated, PRODUCTS, "n0:g1", code=1, gpus=2, settings="fault=gemm@0:5:lose_later")
    assert [(each["cell"], each["code"]) for each in document["failed"]] == [(PRODUCTS, "lost")]
    assert [result["cell"] for result in document["results"]] == ["n0:g1"]


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("g0:g0/gemm", "/gemm runs beside copies (n0:g0+g0:g0/gemm)"),
        ("g0:g0/gemm+c0:n0/triad", "/gemm runs beside copies"),
        ("n0:g0+g0:g0/triad", "shares a cell with no copy and no cores"),
    ],
)
def test_flows_that_cannot_share_a_cell_are_refused(emulated: Emulated, cell: str, said: str) -> None:
    ended = emulated.run(cell)
    assert ended.code == 2 and said in ended.errors and not ended.output
