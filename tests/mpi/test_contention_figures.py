"""What nearfar-contention measured: figures, notes, tables of the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nearfar import measurement, report, verdict
from nearfar.base.verdicts import NOT_JUDGED
from nearfar.mpi import contention
from nearfar.mpi.contention import ContentionSubject
from nearfar.report.sections import subject_tables
from nearfar.topology import Node, NumaNode, Package


def rate(median: float, unit: str = "us", spread: float = 0.01) -> dict[str, Any]:
    return {"unit": unit, "median": median, "ci": [median - spread, median + spread], "n": 6, "samples": [median] * 6}


def result(quantity: str, cell: str, alone: float, together: float, **more: Any) -> dict[str, Any]:
    """A result of one task whose penalty follows from its two figures."""
    unit = "us" if quantity.endswith("latency") else "GB/s"
    penalty = together / alone - 1 if unit == "us" else 1 - together / alone
    flow: dict[str, Any] = {"flow": "r1:r2", "rate": rate(together, unit), "cpus": "8"}
    entry: dict[str, Any] = {
        "quantity": quantity, "cell": cell, "bytes": 8, "converged": True, "verified": True, "pairs": 4,
        "flows": [flow], "total": rate(together, unit), **more,
    }  # fmt: skip
    if quantity.startswith("contention."):
        flow["solo"] = rate(alone, unit)
        entry["penalty"] = rate(penalty, "1")
        if unit == "us":
            entry |= {"tail_penalty": rate(2 * penalty, "1"), "polled_penalty": rate(0.01, "1")}
    return entry


def raw(*results: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "schema": "nearfar-measurement/2", "kind": "measured", "program": {"name": "nearfar-contention"},
        "node": {"hostname": "n", "packages": [], "numa_nodes": [], "gpus": []},
        "results": list(results), "skipped": [], "failed": [], **more,
    }  # fmt: skip


def beside_gpus(penalty: float = 0.1) -> list[dict[str, Any]]:
    """Small messages beside four GPUs."""
    cell = "within.per_task.4.pingpong_8B"
    return [
        result("contention.mpi.latency", cell, 0.5, 0.5 * (1 + penalty)),
        result("contention.gpu.bandwidth", cell, 400.0, 396.0),
    ]


def layouts() -> list[dict[str, Any]]:
    """Large messages beside one and two GPUs, with threads together and split."""
    return [
        result("contention.mpi.latency", f"across.{word}.{count}.pingpong_1MiB", 50.0, 50.0 + cost * count)
        for count in (1, 2)
        for word, cost in (("together", 6.0), ("split", 1.0))
    ]


def test_penalties_are_figures_with_rows_for_any_number_of_gpus() -> None:
    figures = contention.figures(measurement.document.from_raw(raw(*beside_gpus())))
    by_name = {figure.name: figure for figure in figures}
    assert set(by_name) == {
        "within.per_task.4.pingpong_8B.mpi.latency_penalty",
        "within.per_task.4.pingpong_8B.mpi.latency_tail_penalty",
        "within.per_task.4.pingpong_8B.mpi.latency_polled_penalty",
        "within.per_task.4.pingpong_8B.gpu.bandwidth_penalty",
    }
    penalty = by_name["within.per_task.4.pingpong_8B.mpi.latency_penalty"]
    assert penalty.value == pytest.approx(0.1) and penalty.unit == "1"
    assert penalty.rows[1] == "within.per_task.pingpong_8B.mpi.latency_penalty"
    assert by_name["within.per_task.4.pingpong_8B.gpu.bandwidth_penalty"].value == pytest.approx(0.01)


def test_a_penalty_may_be_negative() -> None:
    document = measurement.document.from_raw(raw(*beside_gpus(penalty=-0.02)))
    assert contention.figures(document)[0].value == pytest.approx(-0.02)


def test_mpi_alone_keeps_its_own_name() -> None:
    alone = result("mpi.pingpong.latency", "within.mpi_only.1.pingpong_8B", 0.4, 0.4)
    (figure,) = contention.figures(measurement.document.from_raw(raw(alone)))
    assert figure.name == "within.mpi_only.1.pingpong_8B.latency"
    assert figure.quantity == "mpi.pingpong.latency" and "MPI alone (1 pair)" in figure.words


def test_what_is_of_another_program_is_passed_over() -> None:
    other = result("mpi.latency", "osu_latency/near", 1.0, 1.0)
    assert not contention.figures(measurement.document.from_raw(raw(other)))
    assert contention.subject("osu_latency/near") is None
    assert contention.subject("within.split.2.stream_4MiB") == ContentionSubject("within", "split", 2, "stream_4MiB")


def test_notes_say_what_no_penalty_says() -> None:
    starved = beside_gpus()
    starved[1]["flows"][0]["starved"] = True
    skipped = [{"cell": "split", "code": "unsupported", "reason": "one package"}]
    document = measurement.document.from_raw(
        raw(*starved, skipped=skipped, contention={"oversubscribed": True, "roles": []})
    )
    notes = {note.subject: note for note in contention.findings(document)}
    assert (notes["starved"].code, notes["starved"].verdict) == ("tasks.starved", NOT_JUDGED)
    assert notes["split"].fields == {"line": "one package"}
    assert notes["oversubscribed"].verdict == "INDETERMINATE", "threads that share cores prove nothing"


def node(cores: int, threads: int = 1, gpus: int = 0) -> Node:
    cpus = tuple(range(cores * threads))
    shared = tuple(tuple(range(i * threads, (i + 1) * threads)) for i in range(cores)) if threads > 1 else ()
    return Node("n", (Package(0, cpus),), (NumaNode(0, 0, cpus, 1 << 30),), cores=shared)


@pytest.mark.parametrize(
    ("cores", "threads", "movers", "fill", "ranks"),
    [
        (64, 1, 4, False, 12),
        (64, 1, 4, True, 60),
        (64, 2, 4, True, 60),
        (12, 1, 4, True, 8),
        (9, 1, 4, True, 0),
        (3, 1, 1, True, 0),
        (4, 1, 1, False, 3),
    ],
)
def test_ranks_have_a_core_for_each_of_their_threads(
    cores: int, threads: int, movers: int, fill: bool, ranks: int
) -> None:
    assert contention.ranks(node(cores, threads), movers, fill) == ranks


def test_the_tables_of_the_page() -> None:
    latencies, moved = subject_tables([], raw(*layouts(), *beside_gpus()))
    assert latencies.columns == ("", "latency", "alone", "penalty", "tail penalty", "polled penalty")
    rows = {each.entries[0].words: [entry.words for entry in each.entries[1:4]] for each in latencies.rows}
    assert rows["across.split.2.pingpong_1MiB mpi"][:2] == ["52.0 µs", "50.0 µs"]
    assert rows["within.per_task.4.pingpong_8B mpi"] == ["0.55 µs", "0.50 µs", "0.10"]
    assert [entry.words for entry in moved.rows[0].entries] == [
        "within.per_task.4.pingpong_8B gpu",
        "396.0 GB/s",
        "400.0 GB/s",
        "0.01",
    ]
    assert subject_tables([], raw()) == subject_tables([], {}) == []


def test_the_page_has_the_tables_and_every_figure(tmp_path: Path) -> None:
    document = measurement.document.from_raw(raw(*layouts(), *beside_gpus()))
    folder = tmp_path / "host" / "contention_check"
    folder.mkdir(parents=True)
    subject = verdict.CaseInfo("contention_check", "real", "gpu", "system", "host", "2026-11-20T09:00:00Z")
    judged = verdict.judge(document, {}, subject=subject, metrics=contention.figures(document))
    (folder / "document.json").write_text(measurement.dump(document))
    (folder / "verdict.json").write_text(verdict.verdict_file.dump(judged))
    run = {"schema": "nearfar-run/1", "system": "real", "hostname": "host", "started": "2026-11-20T09:00:00Z", "seconds": 1.0,
           "command": ["nearfar", "validate"], "real": ["real"], "modelled": [], "missing_cases": [], "verdict": judged.verdict,
           "exit_code": 0}  # fmt: skip
    (tmp_path / "run.json").write_text(json.dumps(run))
    page = report.build(tmp_path).read_text()
    for words in (
        "MPI beside transfers", "Polled penalty", "within.per_task.4.pingpong_8B mpi", "across.split.2.pingpong_1MiB mpi",
        "within.per_task.4.pingpong_8B.mpi.latency_penalty",
    ):  # fmt: skip
        assert words in page, words
    assert "pingpong 1MiB mpi latency tail penalty ratio 0.24, " in page, "the largest penalties first"
