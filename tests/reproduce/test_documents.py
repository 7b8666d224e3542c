"""``--document``: what programs printed with ``--json`` as this site's column, without a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nearfar import cli
from nearfar.model.prediction import load_node_type
from nearfar.topology import node_to_document
from tests.conftest import CHECKOUT


def shown(capsys: pytest.CaptureFixture[str], paper: str, *documents: Path) -> dict[int, dict[str, Any]]:
    assert cli.main(["reproduce", paper, "--document", *map(str, documents), "--json"]) == 0
    return {row["id"]: row for row in json.loads(capsys.readouterr().out)["rows"]}


def measured(row: dict[str, Any]) -> list[float | None]:
    return [figure["measured"] for figure in row["figures"]]


def write(path: Path, program: str, results: list[dict[str, Any]], node_type: str = "summit", *words: str) -> Path:
    node = {**node_to_document(load_node_type(node_type, [CHECKOUT / "site"]).node), "hostname": "node17"}
    raw = {
        "schema": "nearfar-measurement/2", "kind": "measured", "program": {"name": program, "version": "0", "command": list(words)},
        "started": "2026-11-20T09:00:00Z", "seconds": 1.0, "node": node, "results": results, "skipped": [], "failed": [],
    }  # fmt: skip
    path.write_text(json.dumps(raw))
    return path


def test_what_nearfar_cost_printed_answers_rows_of_bindings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    costs = {"interleaved": 0.07, "task-per-core": 0.5, "far-near": 0.2}
    schemes = [{"name": "right", "penalty": None}]
    schemes += [{"name": name, "penalty": {"value": value, "pairs": 6}} for name, value in costs.items()]
    document = {
        "schema": "nearfar-cost/1", "command": ["/opt/app", "in"], "node": {"hostname": "node17"}, "plan": {"reference": "right"},
        "schemes": schemes,
    }  # fmt: skip
    path = tmp_path / "cost.json"
    path.write_text(json.dumps(document))
    assert measured(shown(capsys, "hamilton-sl390", path)[57]) == [pytest.approx(1.07)]
    assert measured(shown(capsys, "meredith2012", path)[27]) == [pytest.approx(1.5), None]


def test_messages_by_size_stand_beside_imb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def result(subject: str, quantity: str, size: int, unit: str, value: float) -> dict[str, Any]:
        rate = {"unit": unit, "median": value}
        flows = [{"flow": "-", "rate": rate}]
        return {
            "quantity": quantity,
            "cell": subject,
            "bytes": size,
            "converged": True,
            "verified": True,
            "flows": flows,
        }

    path = write(tmp_path / "osu.json", "nearfar osu", [
        result("osu_latency/H-H/near/mlx5_0", "mpi.latency", 8, "us", 1.3),
        result("osu_latency/H-H/off_socket/mlx5_0", "mpi.latency", 8, "us", 1.6),
        result("osu_bw/H-H/near/mlx5_0", "mpi.bandwidth", 4194304, "GB/s", 12.3),
        result("osu_bw/H-H/near/mlx5_0-mlx5_3", "mpi.bandwidth", 4194304, "GB/s", 23.4),
        result("osu_bw/D-D/near/g0-mlx5_0", "mpi.bandwidth", 4194304, "GB/s", 11.7),
        result("osu_bw/D-D/near/g0-mlx5_0-staged", "mpi.bandwidth", 4194304, "GB/s", 9.0),
    ])  # fmt: skip
    rows = shown(capsys, "joubert2019", path)
    imb = {figure["name"]: figure for figure in rows[51]["figures"]}
    assert imb["PingPong, time, 8 B"]["measured"] == 1.3 and imb["PingPong, time, 8 B"]["published"] == 1.14
    # IMB's Mbytes are of 2^20 bytes.
    assert imb["PingPong, rate, 4 MiB"]["measured"] == pytest.approx(23.4e9 / 2**20)
    assert measured(rows[52])[1:] == [12.3, 23.4]
    assert measured(shown(capsys, "spafford2011", path)[7])[:2] == [1.3, 1.6]
    assert measured(shown(capsys, "meredith2012", path)[29])[1:] == [pytest.approx(100 * 2.7 / 11.7), pytest.approx(50)]


def test_threads_split_save_latency(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def result(side: str, sets: int, latency: float) -> dict[str, Any]:
        rate = {"unit": "us", "median": latency}
        return {
            "quantity": "contention.mpi.latency", "cell": f"within.{side}.{sets}.pingpong_1MiB", "bytes": 1 << 20, "converged": True,
            "verified": True, "flows": [{"flow": "-", "rate": rate}], "total": rate, "penalty": {"unit": "1", "median": 0.1},
        }  # fmt: skip

    sides = [("together", 115.0), ("split", 109.5)]
    path = write(
        tmp_path / "split.json", "nearfar-contention", [result(side, n, us) for side, us in sides for n in (1, 2, 3)]
    )
    assert measured(shown(capsys, "spafford2011", path)[16]) == [pytest.approx(5.5)]


def test_the_rate_after_idling_is_held_against_the_usual_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def triad(rate: float) -> list[dict[str, Any]]:
        figure = {"unit": "GB/s", "median": rate, "min": 0.9 * rate, "max": rate}
        flows = [{"flow": "c0:n0/triad", "rate": figure}]
        return [
            {
                "quantity": "stream",
                "cell": "c0:n0/triad",
                "bytes": 1 << 30,
                "converged": True,
                "verified": True,
                "flows": flows,
            }
        ]

    usual = write(tmp_path / "usual.json", "nearfar-copy", triad(130.0))
    idle = write(tmp_path / "idle.json", "nearfar-copy", triad(132.6), "summit", "nearfar-copy", "--idle", "300")
    figures = shown(capsys, "joubert2019", usual, idle)[43]["figures"]
    assert figures[0]["measured"] == pytest.approx(10) and figures[1]["measured"] == pytest.approx(100 * 2.6 / 132.6)


def test_what_is_no_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.json").write_text("osu_latency")
    assert cli.main(["reproduce", "joubert2019", "--document", str(tmp_path / "x.json")]) == 2
    assert "x.json: not a JSON document: name what a program printed with --json" in capsys.readouterr().err
