"""The checks under a real ReFrame: its result and verdict.json never disagree, whatever a program prints."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from nearfar.base import site_file, supervise
from nearfar.base.verdicts import NOT_JUDGED, passes
from tests.conftest import CHECKOUT
from tests.support import fake_program

#: What the fake program does, and the verdict on it.
CASES = {
    "good": "PASS",
    "broken_path": "FAIL",
    "busy": "INDETERMINATE",
    "slower_path": "DEGRADED",
    "far_slow": "PASS",
    "unsettled": "INDETERMINATE",
    "unsettled_first": "PASS",
    "unsettled_and_good": "PASS",
    "unverified": "INDETERMINATE",
    "missing_cell": "INDETERMINATE",
    "wrong_data": "FAIL",
    "absent": "FAIL",
    "placement": "INDETERMINATE",
    "denied": "INDETERMINATE",
    "representative": "INDETERMINATE",
    "all_but_one_unsupported": "INDETERMINATE",
    "latencies_alone": "INDETERMINATE",
    "of_1970": "INDETERMINATE",
    "inverted": "INDETERMINATE",
    "thousandfold": "INDETERMINATE",
    "empty": "INDETERMINATE",
    "newer_schema": "INDETERMINATE",
    "crash": "INDETERMINATE",
    "crash_late": "DEGRADED",
    "garbage": "INDETERMINATE",
    "own_watchdog": "FAIL",
    "hang_once": "DEGRADED",
    "slow_first": "DEGRADED",
    "hang_in_look": "INDETERMINATE",
    "killed_in_look": "INDETERMINATE",
    "interrupted_in_look": "INDETERMINATE",
    "wrong_data_in_look": "FAIL",
    "replays_in_look": "FAIL",
    "modelled_in_look": "INDETERMINATE",
    "aggressor_in_look": "INDETERMINATE",
    "other_node_in_look": "INDETERMINATE",
    "cut_in_look": "INDETERMINATE",
    "supervisor_killed_in_look": "INDETERMINATE",
    "plan_gone": "INDETERMINATE",
    "plan_cut": "INDETERMINATE",
    "markup": "INDETERMINATE",
    "counter_went_back": "PASS",
}
HANGS = ("hang_in_look",)
SITE = "system: fake\npartitions:\n" + "".join(
    f"  - {{name: {case}, node_type: unpublished, features: [gpu], env_vars: {{FAKE_CASE: {case}}}}}\n"
    for case in CASES
)


def programs(folder: Path) -> Path:
    """A folder that holds the fake under the program's name."""
    folder.mkdir()
    script = folder / "nearfar-copy"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} {(CHECKOUT / "tests/support/fake_program.py")} "$@"\n')
    script.chmod(0o755)
    return folder


def reframe(folder: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """ReFrame by hand, as any suite is run."""
    command = [
        sys.executable,
        "-c",
        "from reframe.frontend.cli import main; main()",
        "-C",
        str(CHECKOUT / "reframe_config.py"),
    ]
    return subprocess.run(
        [*command, "-c", str(CHECKOUT / "checks"), "--exec-policy=serial", "--nocolor", *options], cwd=folder, text=True,
        env={**os.environ, "NEARFAR_STATE": str(folder), "NEARFAR_RUN_DIR": str(folder / "run"), **environment},
        capture_output=True, timeout=600,
    )  # fmt: skip


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[dict[str, Any], dict[str, Any]]]]:
    """For each case ReFrame's entry and the verdict."""
    folder = tmp_path_factory.mktemp("checks")
    site = folder / "site"
    # Keeneland's node under another name, so that no published figure but the prediction judges it.
    (site / "nodes").mkdir(parents=True)
    shutil.copy(CHECKOUT / "site/nodes/keeneland.xml", site / "nodes")
    described = (CHECKOUT / "site/nodes/keeneland.yaml").read_text()
    (site / "nodes" / "unpublished.yaml").write_text(
        described.replace("node_type: keeneland", "node_type: unpublished")
    )
    (site / "gpus").mkdir()
    (site / "gpus" / "fake.yaml").write_text(fake_program.HEALTHY)
    programs(folder / "bin")
    # What hangs is waited for in a session beside the others': theirs have all the time that a busy machine needs.
    others = [case for case in CASES if case not in HANGS]
    with ThreadPoolExecutor(2) as beside:
        waiting = beside.submit(session, folder, "hangs", HANGS, 4)
        yield {**session(folder, "others", others, 60), **waiting.result()}


def session(folder: Path, name: str, cases: Sequence[str], limit: int) -> dict[str, Any]:
    """One session of ReFrame over some cases, each a partition; its entry and the verdict of each."""
    own = folder / name
    systems = own / "site" / "systems"
    systems.mkdir(parents=True)
    lines = SITE.splitlines(keepends=True)
    (systems / "fake.yaml").write_text("".join(line for line in lines if _case_of(line) in (None, *cases)))
    done = reframe(
        own, "-r", "--system=fake", "-n", "^host_device_check$",
        "-S", f"host_device_check.program_limit={limit}", "-S", "host_device_check.cell_limit=0",
        "-S", "host_device_check.look_spacing=0",
        NEARFAR_SITE=f"{own / 'site'}:{folder / 'site'}", NEARFAR_SYSTEM="fake", NEARFAR_PROGRAMS=str(folder / "bin"),
    )  # fmt: skip
    report = own / "run" / "reframe-report.json"
    assert report.exists(), done.stdout + done.stderr
    entries = {
        e["partition"]: e
        for e in json.loads(report.read_text())["runs"][0]["testcases"]
        if e["name"] == "host_device_check"
    }
    verdicts = [json.loads(path.read_text()) for path in (own / "run").glob("*/*/verdict.json")]
    return {judged["partition"]: (entries[judged["partition"]], judged) for judged in verdicts}


def _case_of(line: str) -> str | None:
    """The partition that a line of the system file describes."""
    return line.partition("name: ")[2].partition(",")[0] or None


@pytest.mark.parametrize("case", CASES)
def test_reframe_and_the_verdict_agree(outcome: dict[str, Any], case: str) -> None:
    entry, judged = outcome[case]
    jsonschema.validate(judged, site_file.schema("verdict-2"))
    assert judged["verdict"] == CASES[case], judged["reasons"]
    assert (entry["result"] == "pass") == passes(judged["verdict"]), entry["fail_reason"]
    if judged["verdict"] == "INDETERMINATE":
        assert "INDETERMINATE: " in entry["fail_reason"]
    # Where ReFrame came to compare, it compared the same figures with the same bounds and found the same.
    for name, (value, reference, lower, _, unit, result) in (entry["perfvalues"] or {}).items():
        if value is None:
            assert entry["fail_phase"] == "sanity"
            continue
        figure = next(m for m in judged["metrics"] if m["name"] == name.rpartition(":")[2])
        assert (value, unit) == (figure["value"], figure["unit"])
        assert (result == "fail") == (figure["verdict"] == "FAIL"), name
        bounds = figure["reference"]
        assert (lower is None) == (bounds is None or bounds["lowest"] is None)
        if lower is not None:
            assert reference * (1 + lower) == bounds["lowest"]
    if judged["verdict"] == "PASS":
        assert len(entry["perfvalues"]) == len(judged["metrics"]) > 0


@pytest.mark.parametrize(
    "case, words",
    [
        ("broken_path", "GPU 2, device to host into NUMA node 1: 1.38 GB/s, expected at least"),
        ("busy", "9.5 of 12 CPUs busy (stream of x 9.5)"),
        ("hang_once", "n0:g2 did not end within 30 s; it is tried once more"),
        ("own_watchdog", "n0:g2: GPU 2: no progress within 5 s"),
        ("crash", "nearfar-copy was ended by signal 6: nearfar-copy: CUDA error 999"),
        ("crash_late", "nearfar-copy was ended by signal 6 after"),
        ("garbage", "nearfar-copy"),
        ("newer_schema", "nearfar-measurement/9"),
        ("missing_cell", "requested but not measured: g2:n1"),
        ("wrong_data", "g2:n1: GPU 2: wrong_data"),
        ("representative", "not measured: g2:n1"),
        ("all_but_one_unsupported", "GPU 2: unsupported (the node has this memory and this GPU)"),
        ("latencies_alone", "requested but not measured: n0:g0 (copy)"),
        ("of_1970", "started at 1970-01-01T00:00:00Z"),
        ("inverted", "its interval, 6 to 5.5, is not valid"),
        ("thousandfold", "more than a GPU's link to the host can be"),
        ("broken_path", "3 measurements: 1.38, 1.38, 1.38 GB/s, all beyond"),
        ("slow_first", "GPU 2, device to host into NUMA node 1: intermittent: 3 measurements: 1.38, 5.87, 5.87 GB/s, 1 of 3 beyond"),
        ("hang_in_look", "the second measurement did not end within 4 s"),
        ("killed_in_look", "the second measurement was ended by signal 9"),
        ("interrupted_in_look", "the second measurement was interrupted"),
        ("wrong_data_in_look", "g2:n1: GPU 2: wrong_data"),
        ("replays_in_look", "GPU 2: 500 PCIe replays "),
        ("modelled_in_look", "the second measurement left a document that is modelled, of fake"),
        ("aggressor_in_look", "the second measurement was made beside an aggressor"),
        ("other_node_in_look", "the second measurement left a document that is measured, of elsewhere"),
        ("cut_in_look", "the second measurement left no document"),
        ("supervisor_killed_in_look", "the second measurement was interrupted"),
        ("plan_gone", "the second measurement was not made"),
        ("plan_cut", "the second measurement was not made"),
        ("markup", "(?<b>evil</b>?[31mxxx"),
    ],
)  # fmt: skip
def test_the_culprit_is_named(outcome: dict[str, Any], case: str, words: str) -> None:
    assert words in outcome[case][1]["reasons"][0]


def test_by_hand_on_a_modelled_system(tmp_path: Path) -> None:
    done = reframe(tmp_path, "-r", "--system=keeneland")
    assert done.returncode == 0, done.stdout
    assert re.search(r"\[  PASSED  \] Ran (\d+)/\1 test case", done.stdout)
    for check in (
        "host_device_check",
        "peer_check",
        "saturation_check",
        "sharing_check",
        "size_sweep_check",
        "topology_check",
    ):
        judged = json.loads((tmp_path / "run" / "keeneland-modelled" / check / "verdict.json").read_text())
        assert judged["kind"] == "modelled" and passes(judged["verdict"])


def test_a_check_without_cells_on_a_modelled_node_is_modelled_too(tmp_path: Path) -> None:
    reframe(tmp_path, "-r", "--system=jaguarpf", "-n", "topology_check")
    judged = json.loads((tmp_path / "run" / "jaguarpf-modelled" / "topology_check" / "verdict.json").read_text())
    assert (judged["kind"], judged["verdict"], judged["reasons"]) == ("modelled", NOT_JUDGED, [])


def test_listing_writes_nothing(tmp_path: Path) -> None:
    done = reframe(tmp_path, "-l", "--system=summit")
    assert "host_memory_check" in done.stdout
    assert os.listdir(tmp_path) == []


def test_a_node_without_what_a_check_looks_at_is_skipped(tmp_path: Path) -> None:
    site = tmp_path / "site"
    (site / "systems").mkdir(parents=True)
    (site / "systems" / "bare.yaml").write_text(
        "system: bare\npartitions: [{name: p, node_type: jaguarpf, features: [gpu, modelled]}]\n"
    )
    done = reframe(tmp_path, "-r", "--system=bare", "-n", "host_device_check", NEARFAR_SITE=str(site))
    assert "no GPU, or no host memory, on this node" in done.stdout
    assert "1 skipped" in done.stdout


def test_supervise_passes_on_what_a_program_that_did_not_end_had_printed(tmp_path: Path) -> None:
    program = ["sh", "-c", "echo whole; sleep 60"]
    command = [sys.executable, "-m", "nearfar.base.supervise", "--limit", "0.6", "--", *program]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stdout) == (supervise.EXIT_HANG, "whole\n")
    assert json.loads((tmp_path / supervise.ACCOUNT).read_text())["timed_out"]


def test_supervise_gives_a_signal_that_ended_the_program_as_a_shell_does(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "nearfar.base.supervise", "--limit", "9", "--", "sh", "-c", "kill -SEGV $$"]
    done = subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(CHECKOUT)}, timeout=60)
    assert done.returncode == 128 + signal.SIGSEGV


def test_a_full_disk_ends_in_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "nearfar.base.supervise", "--limit", "9", "--", "echo", "hello"]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
        )
    assert done.returncode == 3
    assert done.stderr == "nearfar: standard output cannot be written: No space left on device\n"
