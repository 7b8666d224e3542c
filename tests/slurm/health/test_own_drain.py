"""A node with hard evidence drains itself: at once, within caps and floor, and only where the site allows it."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nearfar.base import Finding
from nearfar.site import Policy
from nearfar.site.drain_policy import AvailableFloor, DrainCap
from nearfar.slurm.controller import NodeState, Slurm
from nearfar.slurm.drains import our_reason
from nearfar.slurm.health import check
from tests.slurm.health.test_health import SYSTEM, hardware
from tests.slurm.health.test_prolog import install, topology_of
from tests.support.fake_slurm import FakeSlurm
from tests.support.private_slurm import PrivateSlurm, needed

pytestmark = pytest.mark.slurm


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Health check and epilog as installed; every node sees its own hardware."""
    (tmp_path / "site" / "systems").mkdir(parents=True)
    (tmp_path / "site" / "systems" / "vm.yaml").write_text(SYSTEM)
    monkeypatch.setenv("NEARFAR_SITE", str(tmp_path / "site"))
    return install(tmp_path / "etc", tmp_path / "health")


@pytest.fixture
def private(scripts: Path) -> Iterator[PrivateSlurm]:
    needed(root=True)
    with PrivateSlurm(cpus=1, gpus=0, nodes=4, settings={"Epilog": f"{scripts}/epilog"}) as private:
        for name in private.names:
            hardware(private.own(name) / "topo.xml", without="08" if name in ("n2", "n3") else None)
        topology_of(scripts, private.node / "topo.xml")
        yield private


def checked(private: PrivateSlurm, scripts: Path, name: str, *words: str) -> str:
    """What the installed health check prints on a node."""
    script = scripts / f"check-{name}"
    script.write_text((scripts / "health-check").read_text().replace(f"{private.node}/", f"{private.own(name)}/"))
    script.chmod(0o755)
    environment = {"SLURMD_NODENAME": name, "SLURM_CONF": private.environment["SLURM_CONF"]}
    done = subprocess.run([script, *words], env=environment, capture_output=True, text=True)
    assert done.stderr == "", done.stderr
    return done.stdout


def test_a_gpu_that_is_gone_drains_its_node_up_to_the_cap(private: PrivateSlurm, scripts: Path, tmp_path: Path) -> None:
    slurm = Slurm(private.environment)
    assert "drained" not in checked(private, scripts, "n1") and not slurm.node("n1").drain
    assert "drained" not in checked(private, scripts, "n2", "--quick") and not slurm.node("n2").drain, (
        "a prolog only fails"
    )
    assert "  drained: nearfar: FAIL health " in checked(private, scripts, "n2")
    reason, run = our_reason(slurm.node("n2")), json.loads((tmp_path / "health" / "n2.json").read_text())["run"]
    assert reason is not None and (reason.check, reason.run) == ("health", run)
    assert "the job starts all the same: no more than " in checked(private, scripts, "n3", "--quick"), "nor past a cap"
    assert "  not drained: it is drained already" in checked(private, scripts, "n2", "--quick", "--drain")
    assert "  not drained: no more than 1 of the 4 nodes of partition all drained within a day" in checked(
        private, scripts, "n3"
    )
    slurm.call("scontrol", "update", "nodename=n2", "state=resume")
    slurm.wait("n2", lambda node: node.idle, 30)
    slurm.call("scontrol", "update", "nodename=n4", "state=drain", "reason=maintenance")
    assert "  not drained: partition all: 1 of 4 nodes are already out" in checked(private, scripts, "n3")
    slurm.call("scontrol", "update", "nodename=n4", "state=resume")
    slurm.wait("n4", lambda node: node.idle, 30)
    slurm.call("scontrol", "update", "nodename=n3", "state=drain", "reason=theirs")
    assert "  not drained: its reason is not ours: 'theirs'" in checked(private, scripts, "n3")
    assert slurm.node("n3").reason == "theirs"


class SlowSlurm(FakeSlurm):
    """What it shows of the nodes is some milliseconds old when it arrives."""

    def nodes(self) -> Mapping[str, NodeState]:
        shown = super().nodes()
        time.sleep(0.005)
        return shown


def test_nodes_of_a_large_job_keep_to_the_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose epilogs find the same at one moment: all but a few see the drains of the others."""
    slurm = SlowSlurm(tuple(f"n{number}" for number in range(100)), keeps=True)
    policy = Policy(
        "vm", frozenset({0}), per_day=DrainCap(2, 1.0), in_all=DrainCap(2, 1.0), available=AvailableFloor(0.0)
    )
    monkeypatch.setattr(check, "_slurm", lambda path: slurm)
    monkeypatch.setattr(check, "_APART", 0.02)
    finding = Finding("gpus", "FAIL", "all are missing", True, "gpu.missing")
    with ThreadPoolExecutor(100) as threads:
        said = list(threads.map(lambda name: check._drain(name, finding, "0123abcd", policy, ""), slurm.states))
    drained = [words for words in said if words.startswith("drained")]
    assert 2 <= len(drained) <= 20, said


def test_a_site_that_only_observes(private: PrivateSlurm, scripts: Path, tmp_path: Path) -> None:
    (tmp_path / "site" / "systems" / "vm.yaml").write_text(SYSTEM.replace("default: drain", "default: observe"))
    assert "drained" not in checked(private, scripts, "n2")
    assert not Slurm(private.environment).node("n2").drain


def test_slurmctld_that_is_away_drains_nothing(private: PrivateSlurm, scripts: Path, tmp_path: Path) -> None:
    private.stop_controller()
    assert "  not drained: " in checked(private, scripts, "n2")
    assert json.loads((tmp_path / "health" / "n2.json").read_text())["verdict"] == "FAIL", "act drains it later"
    private.start_controller()


def test_after_a_job_the_epilog_drains(private: PrivateSlurm, tmp_path: Path) -> None:
    slurm = Slurm(private.environment)
    assert private.run(["srun", "-w", "n2", "hostname"]).stdout == "n2\n"
    node = slurm.wait("n2", lambda node: node.drain, 30)
    assert our_reason(node) is not None and os.listdir(tmp_path / "health" / "kept") == ["n2"]
