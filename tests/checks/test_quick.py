"""``validate --quick``: what it asks, how it is judged and shown, and what other readers make of its documents."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nearfar import measurement, verdict
from nearfar.base.errors import CouldNotJudge
from nearfar.cells import host_device_matrix, latency_cells, parse, peer_matrix, single_paths
from nearfar.cli import main
from nearfar.measurement import Document
from nearfar.measurement.document import from_raw
from nearfar.model.calibration import beside_others, calibrate, measured_cells, node_type_of
from nearfar.model.diagnosis import diagnose
from nearfar.model.prediction import load_node_type
from nearfar.question import ACCEPT, QUICK, asked_at
from nearfar.run import expected_cases
from nearfar.site import systems
from nearfar.verdict import references
from nearfar.verdict.document_findings import CaseInfo
from tests.checks.test_checks import reframe
from tests.conftest import CHECKOUT
from tests.report.test_report import Page
from tests.support import fake_quick

H200 = load_node_type("h200-x4-vm", [CHECKOUT / "site"])
CELLS = single_paths(H200.node)[0]


def quick(slow: float = 390.0) -> Document:
    return from_raw(fake_quick.document(CELLS, slow))


# What it asks


def test_each_path_one_way_is_asked() -> None:
    assert len(CELLS) == 4 * 2 + 12 * 2
    assert all(cell.lone and not cell.flows[0].options for cell in CELLS)
    # Nothing that the checks at length do not ask too, so that their references fit.
    assert set(CELLS) < {*host_device_matrix(H200.node)[0], *peer_matrix(H200.node)[0]}
    assert set(latency_cells(H200.node)[0]) < set(CELLS)


def test_no_default_run_has_it() -> None:
    assert "quick_check" not in {check.name for check in asked_at(ACCEPT)}
    (check,) = asked_at(QUICK)
    assert check.name == "quick_check"
    summit = systems.load_all([CHECKOUT / "site"])["summit"]
    assert [case.check for case in expected_cases.expected([check], summit)] == ["quick_check"]


def test_a_plain_reframe_does_not_find_it(tmp_path: Path) -> None:
    listed = reframe(tmp_path, "-l", "--system=summit").stdout
    assert "host_device_check" in listed and "quick_check" not in listed


def test_quick_is_a_choice_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--quick", "--check", "peer_check"]) == 2
    assert capsys.readouterr().err == "nearfar: --quick is a check of its own: leave out --check, or --quick\n"
    assert main(["validate", "--quick", "--list"]) == 0
    assert {line.split()[0] for line in capsys.readouterr().out.splitlines()} == {"quick_check"}


def test_quick_without_gpus_says_so(tmp_path: Path) -> None:
    (tmp_path / "systems").mkdir()
    text = "system: mine\nhosts: [nobody]\npartitions: [{name: nodes, features: []}]\n"
    (tmp_path / "systems/mine.yaml").write_text(text)
    words = [sys.executable, "-m", "nearfar", "validate", "--system", "mine", "--quick"]
    environment = {
        **os.environ,
        "PYTHONPATH": str(CHECKOUT),
        "NEARFAR_SITE": str(tmp_path),
        "NEARFAR_STATE": str(tmp_path),
    }
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (
        3, "nearfar: --quick measures GPUs alone, and no partition of 'mine' has any: leave it out\n"
    )  # fmt: skip


# Under a real ReFrame


@pytest.fixture(scope="module")
def runs(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[dict[str, tuple[subprocess.CompletedProcess[str], Path]]]:
    """`validate --quick` of a good and a slow node: what it printed, and the run's folder."""
    place = tmp_path_factory.mktemp("quick")
    for folder in ("site/systems", "site/references", "bin"):
        (place / folder).mkdir(parents=True)
    (place / "site/references/mine.yaml").write_text(
        "provenance: {tuned: {date: 2026-11-20, n: 4}}\n"
        "host_device_check:\n  sole.h2d: [55.5, -0.05, null, GB/s]\n"
        "peer_check:\n  NV18.write: [396, -0.05, null, GB/s]\n"
    )
    program = place / "bin/nearfar-copy"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {Path(fake_quick.__file__)} "$@"\n')
    program.chmod(0o755)
    found = {}
    for case in fake_quick.SLOW:
        (place / "site/systems/mine.yaml").write_text(
            "system: mine\npartitions:\n  - {name: gpu, node_type: h200-x4-vm, references: mine, features: [gpu], "
            f"env_vars: {{FAKE_CASE: {case}}}}}\n"
        )
        environment = {
            **os.environ, "PYTHONPATH": str(CHECKOUT), "NEARFAR_SITE": str(place / "site"), "NEARFAR_STATE": str(place / case),
            "NEARFAR_PROGRAMS": str(program.parent),
        }  # fmt: skip
        words = [sys.executable, "-m", "nearfar", "validate", "--quick", "--system", "mine"]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=600, cwd=place)
        found[case] = done, place / case / "reports" / "latest"
    yield found


def judged(folder: Path) -> dict[str, Any]:
    (path,) = folder.glob("*/quick_check/verdict.json")
    made: dict[str, Any] = json.loads(path.read_text())
    return made


def test_it_is_the_only_case_and_is_judged_by_the_other_checks_references(runs: dict[str, Any]) -> None:
    done, folder = runs["good"]
    assert done.returncode == 0, done.stdout + done.stderr
    run = json.loads((folder / "run.json").read_text())
    assert [case["check"] for case in run["ran_cases"]] == ["quick_check"] and run["missing_cases"] == []
    origins = {m["name"]: m["reference"]["origin"] for m in judged(folder)["metrics"]}
    assert len(origins) == len(CELLS)
    assert origins["sole.n0_g0"] == origins["NV18.g0_g1"] == "tuned"
    assert origins["sole.g0_n0"] == origins["NV18.g0_g1_at_g1"] == "model"
    rows = [line.split() for line in done.stdout.splitlines()]
    assert rows[0][0] == "PASS" and rows[2][:5] == ["PASS", "quick", "H2D", "55.5", "GB/s"], done.stdout
    assert "1 figure measured again alone" in (folder / "index.html").read_text()


def test_the_verdict_and_the_page_say_what_ran_beside(runs: dict[str, Any]) -> None:
    _, folder = runs["good"]
    by_name = {m["name"]: m for m in judged(folder)["metrics"]}
    assert by_name["NV18.g0_g2"]["beside"] == ["g1:g3"] and not by_name["NV18.g0_g2"]["remeasured"]
    assert by_name["NV18.g2_g3"]["beside"] == [] and by_name["NV18.g2_g3"]["remeasured"]
    assert by_name["sole.n0_g0"]["beside"] == []
    page = Page(folder / "index.html")
    for words in ("Every path once", "beside g1→g3", "measured again alone", "beside other cells (23 cells)",
                  "doubted and measured again alone (1 cell)", "GPU to GPU, written by the source"):  # fmt: skip
        assert words in page.text, words
    assert "Not run" not in page.text


def test_a_slow_pair_fails_and_is_named(runs: dict[str, Any]) -> None:
    done, folder = runs["slow"]
    assert done.returncode == 1
    (reason,) = judged(folder)["reasons"]
    assert reason.startswith("GPU 2 to GPU 3, measured again alone: 352.0 GB/s, expected ")
    assert "at least 376.2 GB/s (tuned: " in reason, "the tuned reference of peer_check has the last word"
    assert reason.endswith("; 3 measurements: 352.0, 352.0, 352.0 GB/s, all beyond 376.2 GB/s")


# As a document


def test_a_figure_beside_others_counts_as_one_of_a_window() -> None:
    """Windows scatter more: siblings alone call it degraded only 10 % below them."""
    raw = fake_quick.document(CELLS)
    for gpu in raw["node"]["gpus"]:
        gpu["nvlink_generation"] = None  # no ceiling: siblings judge
    slow = next(r for r in raw["results"] if r["cell"] == "g0:g2")
    slow["flows"][0]["rate"].update(median=370.0, ci=[370.0, 370.0], min=370.0, max=370.0)

    def of(made: Document) -> str:
        metrics = measurement.metrics(made)
        found = references.resolve(metrics, "peer_check", [], made.node)
        subject = CaseInfo("quick_check", "s", "p", "e", "n", made.raw["started"])
        metric = next(m for m in metrics if str(m.cell) == "g0:g2")
        made_of = verdict.judge(made, found, subject=subject, metrics=[metric])
        return made_of.verdict

    assert of(from_raw(raw)) == "PASS"
    alone = {**raw, "results": [{k: v for k, v in r.items() if k != "beside"} for r in raw["results"]]}
    assert of(from_raw(alone)) == "DEGRADED"


@pytest.mark.parametrize(
    "beside, words",
    [
        (["g0:g1+g2:g3"], "/results/8/beside/0: 'g0:g1+g2:g3' is several flows"),
        (["g0:q1"], "/results/8/beside/0: cell 'g0:q1', column 4"),
        ("g0:g1", "/results/8/beside: 'g0:g1' is not of type 'array'"),
    ],
)
def test_what_ran_beside_is_checked(beside: Any, words: str) -> None:
    raw = fake_quick.document(CELLS)
    raw["results"][8]["beside"] = beside
    with pytest.raises(CouldNotJudge) as caught:
        from_raw(raw)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_in_rounds_a_figure_in_company_is_a_figure_like_any_other() -> None:
    """In a quick look it is not: its one window is short."""

    def made(quick: bool) -> Document:
        raw = fake_quick.document(CELLS)
        raw["program"]["quick"] = quick
        return from_raw(raw)

    def contended(document: Document) -> set[str]:
        metrics = measurement.metrics(document)
        subject = CaseInfo("peer_check", "s", "p", "e", "n", document.raw["started"])
        judged = verdict.judge(
            document, references.resolve(metrics, "peer_check", [], document.node), subject=subject, metrics=metrics
        )
        assert {m.name for m in judged.metrics if m.beside} == {m.name for m in metrics if m.beside}
        return {m.name for m in judged.metrics if m.contended}

    assert "NV18.g0_g1" in contended(made(True))
    assert contended(made(False)) == set()
    assert {one.cell for one in measured_cells(made(False), alone=True)} == set(CELLS)
    assert beside_others(made(False)) == []


# Calibrated and diagnosed


def test_what_was_measured_alone_calibrates() -> None:
    made = quick()
    cells = {one.cell for one in measured_cells(made, alone=True)}
    assert cells == {*(parse(f"n0:g{g}") for g in range(4)), *(parse(f"g{g}:n0") for g in range(4)), parse("g2:g3")}
    assert cells | set(beside_others(made)) == set(CELLS) == {one.cell for one in measured_cells(made)}
    found = calibrate(node_type_of(made.node, "quick"), measured_cells(made, alone=True))
    assert found.estimates["g1.h2d"].low == pytest.approx(55.456, rel=0.001)
    assert found.estimates["g2.out"].low == pytest.approx(390.0) and "g0.out" not in found.estimates


def test_a_quick_look_blames_a_gpus_lanes() -> None:
    healthy, raw = quick(), fake_quick.document(CELLS)
    for result in raw["results"]:
        if parse(result["cell"]).flows[0].kind == "peer" and 1 in parse(result["cell"]).flows[0].gpus:
            rate = result["flows"][0]["rate"]
            rate.update(median=rate["median"] * 0.7, ci=[value * 0.7 for value in rate["ci"]])
    found = diagnose(node_type_of(healthy.node, "quick"), measured_cells(from_raw(raw)), measured_cells(healthy))
    (blame,) = found.sets[0]
    assert blame.part.name == "g1.nvlink" and blame.factor == pytest.approx(0.7, rel=0.02)


def test_the_commands_say_what_they_left_out_and_refuse_a_loaded_node(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, loaded = tmp_path / "quick.json", tmp_path / "loaded.json"
    file.write_text(json.dumps(quick().raw))
    loaded.write_text(json.dumps({**quick().raw, "aggressor": ["n0:g2"]}))
    told = "nearfar: left out: g0:g1, g1:g0, g0:g1@g1 and 20 more: measured beside other flows, in a quick run\n"
    assert main(["calibrate", str(file), "--json"]) == 0
    printed = capsys.readouterr()
    assert printed.err == told and "g0:g1" not in printed.out
    assert main(["diagnose", str(file), "--healthy", str(file)]) == 0
    assert capsys.readouterr().err == ""
    assert main(["calibrate", str(loaded)]) == 2
    assert "was measured while n0:g2 ran in the background (--aggressor)" in capsys.readouterr().err
    assert main(["diagnose", str(file), "--healthy", str(loaded)]) == 2
    assert main(["diagnose", str(loaded), "--healthy", str(file)]) == 0, "a loaded path is what is to be found"
