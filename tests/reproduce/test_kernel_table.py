"""Table 2 of the Keeneland paper beside runs of kernels; documents are made by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nearfar import cli
from tests.data.runs import kernels_by_hand
from tests.support import kernel_documents as made


def table(run: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, object]]:
    """The figures of table 2 by name."""
    assert cli.main(["reproduce", "spafford2011", "--run", str(run), "--json"]) == 0
    (row,) = [row for row in json.loads(capsys.readouterr().out)["rows"] if row["id"] == 8]
    return {figure["name"]: figure for figure in row["figures"]}


def test_a_rate_is_lost_as_the_paper_counts_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = kernels_by_hand.write(tmp_path / "run", checks=["kernel_penalty_check"])
    found = table(run, capsys)
    assert [figure["published"] for figure in found.values()] == [3, 4, 12, 12, 9, 7, 12, 31, 9, 36]
    node = made.node_type()
    times = {
        numa: sum(
            entry["flows"][0]["rate"]["median"] for entry in made.results_of(node, f"g0.{numa}", "scan", "paper")[:3]
        )
        for numa in ("n0", "n1")
    }
    assert found["Scan"]["measured"] == pytest.approx((1 - times["n0"] / times["n1"]) * 100)
    stencil = [
        sum(e["flows"][0]["rate"]["median"] for e in made.results_of(node, f"g0.{n}", "stencil", "paper")[:3])
        for n in ("n0", "n1")
    ]
    assert found["Stencil, time"]["measured"] == pytest.approx((stencil[1] / stencil[0] - 1) * 100)
    assert found["MD, double"]["measured"] is None and found["Sort"]["measured"] is None


def test_a_node_with_one_numa_node_has_no_such_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = kernels_by_hand.write(tmp_path / "run", "h200-x2-vm", checks=["kernel_penalty_check"])
    assert {figure["measured"] for figure in table(run, capsys).values()} == {None}
    assert cli.main(["reproduce", "spafford2011", "--run", str(run)]) == 0
    assert "this node has one NUMA node: nothing is off-socket" in capsys.readouterr().out
