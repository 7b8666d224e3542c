"""Sweeps as sites have them, over a real Slurm: by an ordinary user, preempted by others, on disks that take nothing."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import sweeping
from tests.support.other_user import NOBODY, become, place_for_all, python_of
from tests.support.private_slurm import PrivateSlurm, needed

pytestmark = pytest.mark.slurm
for_all = pytest.fixture(place_for_all)


@contextlib.contextmanager
def mounted(place: Path, options: str) -> Iterator[Path]:
    """A file system in memory at ``place``; skips the test where none can be mounted."""
    if subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A disk that a sweep's journal fits on, and no result. Nodes have the mounts that were there when they started."""
    if os.geteuid() != 0:
        pytest.skip("only root mounts")
    with mounted(tmp_path_factory.mktemp("small"), "size=64k") as place:
        yield place


@pytest.fixture(scope="module")
def slurm(small: Path) -> Iterator[PrivateSlurm]:
    needed(root=True)
    settings = {"PreemptType": "preempt/partition_prio", "PreemptMode": "CANCEL"}
    with PrivateSlurm(cpus=2, gpus=0, nodes=2, settings=settings) as private:
        made = private.run(
            ["scontrol", "create", "partitionname=urgent", "nodes=n[1-2]", "prioritytier=10", "state=up"]
        )
        assert made.returncode == 0, made.stderr
        yield private


@pytest.fixture
def variables(slurm: PrivateSlurm, tmp_path: Path) -> dict[str, str]:
    return sweeping.site(tmp_path, slurm)


def report(sweep: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((sweep / "sweep-report.json").read_text())
    return found


def test_by_an_ordinary_user_into_a_directory_of_his_own(slurm: PrivateSlurm, for_all: Path) -> None:
    """Nothing of it is root's: neither the sweep, nor its jobs, nor what they leave."""
    python = python_of(NOBODY, for_all)
    variables = sweeping.site(for_all, slurm, python=python)
    for name in ("results", "state"):
        (for_all / name).mkdir()
        os.chown(for_all / name, NOBODY, NOBODY)
    sweeping.build(slurm, "n2", "slow")
    words = ["sweep", "--partition=all", "--level=quick", f"--results={for_all}/results", "--name=s", "--result-wait=1"]
    out, said = sweeping.started(slurm, variables, *words, before=[*become(NOBODY), python]).communicate(timeout=120)
    assert (for_all / "results/s/sweep-report.json").exists(), out + said
    nodes = {node["node"]: node["verdict"] for node in report(for_all / "results/s")["nodes"]}
    assert nodes == {"n1": "PASS", "n2": "FAIL"}, out + said
    assert {path.lstat().st_uid for path in (for_all / "results").rglob("*")} == {NOBODY}
    assert "Traceback" not in out + said


def test_a_job_of_higher_priority_has_the_nodes_at_once(
    slurm: PrivateSlurm, variables: dict[str, str], tmp_path: Path
) -> None:
    """A sweep's job on n1 and a nightly run's on n2 are preempted: the one is a gap, the other made way."""
    # Jobs that must not be requeued are cancelled in this mode too.
    slurm.run(["scontrol", "update", "partitionname=all", "preemptmode=REQUEUE"])
    for node in slurm.names:
        sweeping.build(slurm, node, "busy")
    words = ["--partition=all", "--level=quick", "--result-wait=1", "--json"]
    running = [
        sweeping.started(
            slurm, variables, "sweep", *idle, *words, f"--nodes={node}", f"--results={tmp_path}/{node}", "--name=s"
        )
        for idle, node in (([], "n1"), (["--idle"], "n2"))
    ]
    states = ["squeue", "-h", "-p", "all", "-o", "%T"]
    sweeping.until(lambda: slurm.run(states).stdout.split() == ["RUNNING"] * 2, "both jobs run")
    sweeping.until(lambda: all(list(tmp_path.glob(f"{node}/s/jobs/n*.out")) for node in ("n1", "n2")), "both measure")
    urgent = slurm.run(
        ["sbatch", "--parsable", "-p", "urgent", "-N2", "--exclusive", "--output=/dev/null", "--wrap=sleep 60"]
    )
    state = ["squeue", "-h", "-j", urgent.stdout.strip(), "-o", "%T"]
    sweeping.until(lambda: slurm.run(state).stdout.strip() == "RUNNING", "the urgent job runs")
    (out, said), (nightly, more) = [each.communicate(timeout=60) for each in running]
    slurm.run(["scancel", urgent.stdout.strip()])
    (node,) = json.loads(out)["nodes"]
    assert (node["verdict"], "PREEMPTED" in node["reason"]) == ("INDETERMINATE", True), (node, said)
    assert json.loads(nightly)["nodes"] == [] and "PREEMPTED" in json.loads(nightly)["left_out"]["n2"], more
    assert "Traceback" not in said + more


def test_results_on_a_full_disk(slurm: PrivateSlurm, variables: dict[str, str], small: Path) -> None:
    """Each node's gap is told with its reason, nothing half is left, and the sweep goes on once there is room."""
    words = ["--result-wait=1", f"--results={small}"]
    sweep = sweeping.started(
        slurm, variables, "sweep", "--partition=all", "--level=quick", "--nodes=n1", "--name=s", *words
    )
    out, said = sweep.communicate(timeout=120)
    assert sweep.returncode == 3, out + said
    assert (
        f"{small}/s/nodes/n1/1: cannot be written: the disk is full; make room, or name another --results DIR" in said
    )
    assert list((small / "s/nodes/n1").iterdir()) == [] and "Traceback" not in out + said
    subprocess.run(["mount", "-o", "remount,size=16m", str(small)], check=True)
    out, said = sweeping.started(slurm, variables, "sweep", "--resume=s", *words).communicate(timeout=120)
    (node,) = report(small / "s")["nodes"]
    assert (node["verdict"], node["result"]) == ("PASS", "nodes/n1/1"), out + said


def test_a_node_that_may_not_write_to_the_results_directory(
    slurm: PrivateSlurm, variables: dict[str, str], tmp_path: Path
) -> None:
    place = tmp_path / "results"
    place.mkdir()
    there = f"mount --bind {place} {place} && mount -o remount,bind,ro {place}"
    subprocess.run(["nsenter", f"--target={slurm.nodes['n1'].pid}", "--mount", "sh", "-c", there], check=True)
    words = [
        "sweep",
        "--partition=all",
        "--level=quick",
        "--nodes=n1",
        "--name=s",
        "--result-wait=1",
        f"--results={place}",
    ]
    out, said = sweeping.started(slurm, variables, *words).communicate(timeout=120)
    # slurm-versions.md
    assert re.search(r"FAILED \(.*\); does n1 see the results directory, and may it write there\?", out), out + said
    undone = ["nsenter", f"--target={slurm.nodes['n1'].pid}", "--mount", "umount", str(place)]
    subprocess.run(undone, check=True)


def test_results_on_a_read_only_disk(slurm: PrivateSlurm, variables: dict[str, str], tmp_path: Path) -> None:
    place = tmp_path / "results"
    place.mkdir()
    with mounted(place, "ro"):
        sweep = sweeping.started(slurm, variables, "sweep", "--partition=all", f"--results={place}")
        out, said = sweep.communicate(timeout=60)
    assert sweep.returncode == 3 and not out, out + said
    assert said.strip() == (
        f"nearfar: {place}/.lock: cannot be written: the file system is read-only; name another --results DIR that can be "
        "written"
    )
    assert not slurm.run(["squeue", "-h", "-n", "nearfar"]).stdout
