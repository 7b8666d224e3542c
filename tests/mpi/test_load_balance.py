"""Figures of the saxpy pattern, and whether the GPUs' binding is as good as the launcher's."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearfar import report
from nearfar.base.verdicts import NOT_JUDGED, Finding
from nearfar.measurement.document import dump, from_raw
from nearfar.mpi import load_balance
from nearfar.report.sections import subject_tables
from nearfar.verdict import case_files, verdict_file
from nearfar.verdict.document_findings import CaseInfo
from nearfar.verdict.judgement import judge

NODE = {
    "hostname": "host",
    "packages": [{"index": 0, "cpus": "0-3"}, {"index": 1, "cpus": "4-7"}],
    "numa_nodes": [
        {"index": i, "package": i, "cpus": f"{4 * i}-{4 * i + 3}", "memory": 1 << 30, "kind": "host"} for i in range(2)
    ],
    "gpus": [{"index": i, "pci": f"0000:{i}b:00.0", "numa_node": i, "package": i} for i in range(2)],
}
#: As launched both ranks run anywhere; beside the GPUs each has a node.
PLACES = {"default": [("0-7", [0]), ("0-7", [0])], "gpu": [("0-3", [0]), ("4-7", [1])]}


def rate(value: float, unit: str, half: float = 0.0) -> dict[str, Any]:
    return {"unit": unit, "median": value, "ci": [value - half, value + half], "n": 6}


def rounds(binding: str, slowdown: float, family: str = "saxpy.") -> list[dict[str, Any]]:
    """Two ranks, the second with transfers half as long; ms of an iteration."""
    ranks = {
        "h2d": ("GB/s", 20 / slowdown, 40 / slowdown), "d2h": ("GB/s", 20 / slowdown, 40 / slowdown), "kernel": ("GB/s", 3000, 3000),
        "to_device": ("ms", 4 * slowdown, 2 * slowdown), "compute": ("ms", 1, 1), "to_host": ("ms", 2 * slowdown, slowdown),
        "useful": ("ms", 7 * slowdown, 4 * slowdown), "waiting": ("ms", 1, 4), "transfer_imbalance": ("1", 4 / 3, 2 / 3),
    }  # fmt: skip
    whole = {
        "load_balance": ("1", 0.8), "communication_efficiency": ("1", 0.9), "parallel_efficiency": ("1", 0.72),
        "run_time": ("ms", 8 * slowdown),
    }  # fmt: skip
    common = {"cell": f"saxpy/{binding}", "converged": True, "verified": True}
    found = [{**common, "quantity": family + what, "flows": [{"flow": "ranks", "rate": rate(value, unit)}]}
             for what, (unit, value) in whole.items()]  # fmt: skip
    for what, (unit, *values) in ranks.items():
        parts = [
            {"flow": f"rank{i}", "rate": rate(value, unit), "cpus": cpus, "memory_nodes": memory}
            for i, (value, (cpus, memory)) in enumerate(zip(values, PLACES[binding]))
        ]
        found.append({**common, "quantity": family + what, "bytes": 1 << 26, "flows": parts})
    return found


def raw(speedup: float = 1.25, half: float = 0.01, family: str = "saxpy.") -> dict[str, Any]:
    over = {"cell": "saxpy/gpu", "converged": True, "verified": True, "quantity": f"{family}speedup",
            "flows": [{"flow": "default", "rate": rate(speedup, "1", half)}]}  # fmt: skip
    return {
        "schema": "nearfar-measurement/2", "kind": "measured", "program": {"name": "nearfar-kernels"}, "node": NODE,
        "results": [*rounds("default", speedup, family), *rounds("gpu", 1, family), over], "skipped": [], "failed": [],
    }  # fmt: skip


def found(document: dict[str, Any]) -> list[Finding]:
    return load_balance.findings(from_raw(document))


def test_names_are_words_each_once_and_figures_are_told_apart() -> None:
    metrics = {metric.name: metric for metric in load_balance.figures(from_raw(raw()))}
    assert len(metrics) == len(load_balance.figures(from_raw(raw())))
    assert all(re.fullmatch(r"[A-Za-z0-9_.]+", name) for name in metrics)
    assert metrics["saxpy.gpu.load_balance"].value == 0.8
    assert metrics["saxpy.gpu.least.h2d"].value == 20
    assert metrics["saxpy.gpu.least.h2d"].words == "the slowest rank (rank 0), host to device, bound beside the GPUs"
    assert metrics["saxpy.gpu.mean.h2d"].value == 30
    assert metrics["saxpy.gpu.greatest.h2d"].value == 40
    assert metrics["saxpy.gpu.transfer_imbalance"].value == pytest.approx(4 / 3)
    assert metrics["saxpy.gpu.over_default.speedup"].interval == pytest.approx((1.24, 1.26))
    judged = {name for name, metric in metrics.items() if metric.quantity != "ratio"}
    assert {name.split(".")[1] for name in judged} == {"gpu"}, "only the pack's own binding is to be judged"


def test_host_memory_never_goes_by_the_name_of_a_gpu() -> None:
    names = [metric.name for metric in load_balance.figures(from_raw(raw(family="saxpy.host.")))]
    assert names and all(name.startswith("saxpy.host.") for name in names)


@pytest.mark.parametrize(
    "speedup, half, verdict",
    [(1.25, 0.01, "PASS"), (0.98, 0.005, "PASS"), (0.9, 0.01, "DEGRADED"), (0.96, 0.02, "INDETERMINATE"), (0.98, 0.05, "PASS")],
)  # fmt: skip
def test_the_gpus_binding_is_at_least_as_good(speedup: float, half: float, verdict: str) -> None:
    (finding,) = found(raw(speedup, half))
    assert (finding.subject, finding.verdict) == ("saxpy/gpu", verdict)
    assert finding.fields["ratio"] == speedup


@given(st.floats(0.1, 3), st.floats(0, 0.5))
def test_it_is_slower_only_where_no_value_of_the_interval_is_good(speedup: float, half: float) -> None:
    (finding,) = found(raw(speedup, half))
    assert (finding.verdict == "DEGRADED") == (speedup + half < 1 - load_balance.TOLERANCE)
    assert (finding.verdict == "PASS") == (speedup >= 1 - load_balance.TOLERANCE)


def test_equals_are_a_note_and_nothing_is_asserted() -> None:
    document = raw(0.5)
    for (binding, _), result in load_balance.results(document).items():
        for part, (cpus, memory) in zip(result["flows"], PLACES["gpu"]):
            if binding == "default" and "cpus" in part:
                part.update(cpus=cpus, memory_nodes=memory)
    (finding,) = found(document)
    assert (finding.verdict, finding.code) == (NOT_JUDGED, "balance.same_places")


def test_on_one_numa_node_nothing_is_compared() -> None:
    document = raw(0.5)
    document["node"] = {**NODE, "numa_nodes": NODE["numa_nodes"][:1]}
    (note,) = found(document)
    assert (note.verdict, note.code) == (NOT_JUDGED, "balance.one_memory")


def test_an_unknown_locality_is_a_note_with_the_programs_reason() -> None:
    document = raw()
    document["results"] = [r for r in document["results"] if r["cell"] == "saxpy/default"]
    why = {"cell": "saxpy/gpu", "code": "unsupported", "reason": "the system does not say"}
    document["skipped"] = [why]
    assert [(f.code, f.fields) for f in found(document)] == [
        ("balance.no_binding", {"line": "the system does not say"})
    ]
    document["skipped"] = [{**why, "code": "not_allowed"}]
    assert found(document) == [], "what was prevented is the judge's to tell"


def test_a_document_without_figures_asserts_nothing() -> None:
    assert load_balance.findings(None) == []
    assert load_balance.figures(from_raw({**raw(), "results": []})) == []


def test_the_programs_own_words_are_found_among_the_launchers() -> None:
    said = "-----\nnearfar-kernels: rank 0 on n: 4 ranks and 2 GPUs\n-----\nmpirun detected …\n"
    assert case_files.own_words(said, "nearfar-kernels") == "nearfar-kernels: rank 0 on n: 4 ranks and 2 GPUs"
    assert case_files.own_words("mpirun: command not found\n", "nearfar-kernels") is None


def test_each_rank_has_the_parts_of_an_iteration() -> None:
    tables = {each.columns[1]: each for each in subject_tables([], raw(2.0))}
    ranks = tables["h2d"]
    assert ranks.columns[4:9] == ("to device", "compute", "to host", "useful", "waiting")
    rows = {each.entries[0].words: [entry.words for entry in each.entries[4:9]] for each in ranks.rows}
    assert rows["saxpy/gpu rank1"] == ["2.00 ms", "1.00 ms", "1.00 ms", "4.00 ms", "4.00 ms"]
    assert rows["saxpy/default rank0"][0] == "8.00 ms"


def test_the_page_shows_times_of_each_binding(tmp_path: Path) -> None:
    document = from_raw(raw())
    folder = tmp_path / "host" / "load_balance_check"
    folder.mkdir(parents=True)
    judged = judge(
        document, {}, subject=CaseInfo("load_balance_check", "real", "gpu", "system", "host", "2026-11-20T09:00:00Z"),
        metrics=load_balance.figures(document), findings=load_balance.findings(document), asked=["saxpy/default", "saxpy/gpu"],
    )  # fmt: skip
    (folder / "document.json").write_text(dump(document))
    (folder / "verdict.json").write_text(verdict_file.dump(judged))
    run = {"schema": "nearfar-run/1", "system": "real", "hostname": "host", "started": "2026-11-20T09:00:00Z", "seconds": 1.0,
           "command": ["nearfar", "validate"], "real": ["real"], "modelled": [], "missing_cases": [], "verdict": judged.verdict,
           "exit_code": 0}  # fmt: skip
    (tmp_path / "run.json").write_text(json.dumps(run))
    page = report.build(tmp_path).read_text()
    for words in (
        "Load balance",
        "saxpy/default rank1",
        "saxpy/gpu rank1",
        "Waiting",
        "the ranks run 1.250 times as fast",
    ):
        assert words in page, words
    assert "gpu over default speedup ratio 1.25" in report.summary(tmp_path, every=True)
