"""OSU within jobs of a real Slurm: a private one of two nodes, both this machine; a stand-in for the benchmark."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nearfar.binding.locality import fabric_nics
from nearfar.topology import inventory
from tests.conftest import CHECKOUT
from tests.mpi.test_osu_launchers import built
from tests.support.private_slurm import PrivateSlurm, needed

pytestmark = pytest.mark.slurm
WITHIN = "osu_latency/H-H/same_numa_node"


@pytest.fixture(scope="module")
def slurm() -> Iterator[PrivateSlurm]:
    needed(root=True)
    with PrivateSlurm(cpus=len(os.sched_getaffinity(0)), gpus=0, nodes=2) as private:
        yield private


@pytest.mark.parametrize("launcher", ["openmpi", "mpich", "srun"])
def test_a_job_of_two_nodes(slurm: PrivateSlurm, tmp_path: Path, launcher: str) -> None:
    node = inventory.observe()
    nics = fabric_nics(node)
    if not nics or len(node.host_numa_nodes) > 1:
        pytest.skip("no network interface, or not on the one NUMA node")
    between = f"osu_latency/H-H/sole/{nics[0].name}"
    # The two nodes are one machine, and shared memory would not go through the interface.
    variables = {"UCX_TLS": "tcp,self", "PYTHONPATH": str(CHECKOUT)}
    variables["NEARFAR_OSU"] = str(built("mpich" if launcher == "srun" else launcher, tmp_path))
    if launcher == "srun":
        variables.update(NEARFAR_MPIRUN="srun", SLURM_MPI_TYPE="pmi2")
    script, output = tmp_path / "job", tmp_path / "out"
    exports = "".join(f"export {name}='{value}'\n" for name, value in variables.items())
    command = f"{sys.executable} -m nearfar osu --json --runs 1 --limit 60 {WITHIN} {between}"
    script.write_text(f"#!/bin/bash\n{exports}cd {tmp_path}\n{command} > {output}\ntrue\n")
    done = slurm.batch("--nodes=2", "--ntasks-per-node=1", "--exclusive", f"--output={tmp_path}/log", script)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(output.read_text())
    told = (tmp_path / "log").read_text()
    ranks = found["mpi"]["ranks"]
    assert {rank["host"] for rank in ranks[WITHIN]} == {"n1"}, (found["failed"], told)
    if launcher == "openmpi":  # it goes through TCP, and does not say by which interface
        assert [(each["cell"], each["code"]) for each in found["failed"]] == [(between, "placement")]
        return
    assert found["failed"] == [], told
    assert [rank["host"] for rank in ranks[between]] == ["n1", "n2"]
    assert found["mpi"]["nics"] == {between: [nics[0].name]}
