"""Prolog and epilog as installed: what they note, when they stop a job, and that their own faults never do."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nearfar.cli import main
from nearfar.slurm.controller import Slurm
from tests.slurm.health.test_health import SYSTEM, hardware
from tests.support.private_slurm import PrivateSlurm, needed, search_path


def install(folder: Path, health: Path, *words: str) -> Path:
    """Prolog, epilog and health check in ``folder``; they find the Slurm that is tested."""
    scontrol = shutil.which("scontrol", path=search_path())
    words = (*words, *([] if scontrol is None else [f"--slurm-bin={Path(scontrol).parent}"]))
    wanted = ["slurm", "install", "--partition=all", "--results=/nowhere", "--user=nobody", f"--folder={folder}",
              f"--health-output={health}", "--what", "health", "prolog", "epilog", "--apply", *words]  # fmt: skip
    assert main(wanted) == 0
    return folder


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "site" / "systems").mkdir(parents=True)
    (tmp_path / "site" / "systems" / "vm.yaml").write_text(SYSTEM)
    monkeypatch.setenv("NEARFAR_SITE", str(tmp_path / "site"))
    return tmp_path


def topology_of(folder: Path, xml: Path) -> None:
    """Let the installed health check see another machine than this one."""
    script = folder / "health-check"
    text = script.read_text().replace("\nfrom nearfar", f'\nos.environ["HWLOC_XMLFILE"] = "{xml}"\nfrom nearfar', 1)
    script.write_text(text.replace("HealthOptions(\n", f'HealthOptions(\n            state="{folder}/state",\n', 1))


def called(script: Path) -> int:
    return subprocess.run([script], env={"SLURMD_NODENAME": "n1", "SLURM_JOB_ID": "7"}).returncode


def test_a_gpu_that_is_gone_before_a_job(site: Path) -> None:
    folder = install(site / "etc", site / "health")
    hardware(site / "n1.xml", without="08")
    topology_of(folder, site / "n1.xml")
    assert called(folder / "prolog") == 1
    assert called(folder / "epilog") == 0
    found = json.loads((site / "health" / "n1.json").read_text())
    assert found["verdict"] == "FAIL" and list((site / "health" / "kept" / "n1").iterdir())


def test_a_node_that_is_well_leaves_the_newest_whole_look_in_place(site: Path) -> None:
    folder = install(site / "etc", site / "health")
    hardware(site / "n1.xml")
    topology_of(folder, site / "n1.xml")
    assert called(folder / "prolog") == 0 and not (site / "health" / "n1.json").exists()
    assert called(folder / "health-check") == 0
    before = (site / "health" / "n1.json").read_text()
    assert called(folder / "prolog") == 0 and (site / "health" / "n1.json").read_text() == before


@pytest.mark.parametrize("fault", ["exec sleep 60", "kill -9 $$", "echo 'exit 9'; exit 1", "exit 2", ""])
def test_its_own_faults_never_stop_a_job(site: Path, fault: str) -> None:
    """It hangs, dies, prints what another would end with, is refused, is not there."""
    folder = install(site / "etc", site / "health")
    prolog = folder / "prolog"
    for name in ("prolog", "epilog"):
        script = folder / name
        script.write_text(re.sub(r"-t \d+", "-t 0.5", script.read_text()))
    (folder / "health-check").unlink()
    if fault:
        (folder / "health-check").write_text(f"#!/bin/bash\n{fault}\n")
        (folder / "health-check").chmod(0o755)
    began = time.monotonic()
    assert called(prolog) == 0 and called(folder / "epilog") == 0
    assert time.monotonic() - began < 30


def test_a_site_that_only_observes_stops_no_job(site: Path) -> None:
    folder = install(site / "etc", site / "health")
    (site / "site" / "systems" / "vm.yaml").write_text(SYSTEM.replace("default: drain", "default: observe"))
    hardware(site / "n1.xml", without="08")
    topology_of(folder, site / "n1.xml")
    assert called(folder / "prolog") == 0
    assert json.loads((site / "health" / "n1.json").read_text())["verdict"] == "FAIL"


@pytest.fixture
def private(site: Path) -> Iterator[PrivateSlurm]:
    needed(root=True)
    scripts = install(site / "etc", site / "health")
    settings = {"Prolog": f"{scripts}/prolog", "PrologFlags": "Alloc"}
    with PrivateSlurm(cpus=1, gpus=0, nodes=2, settings=settings) as private:
        yield private


@pytest.mark.slurm
def test_under_a_real_slurm(site: Path, private: PrivateSlurm) -> None:
    """Slurm drains a broken node by itself, and puts its job back."""
    slurm = Slurm(private.environment)
    for name in private.names:
        hardware(private.own(name) / "topo.xml", without="08" if name == "n2" else None)
    folder = install(site / "etc", site / "health")
    topology_of(folder, private.node / "topo.xml")
    assert private.run(["srun", "-w", "n1", "hostname"]).stdout == "n1\n"
    private.run(["sbatch", "-w", "n2", "--wrap", "hostname"])
    node = slurm.wait("n2", lambda node: node.drain, 30)
    assert node.reason == "Prolog error"
    end = time.monotonic() + 30
    while "PD" not in (job := private.run(["squeue", "--noheader", "--format=%t %r"]).stdout):
        assert time.monotonic() < end, job
        time.sleep(0.2)
    assert "held" in job, job
    assert not slurm.node("n1").drain
