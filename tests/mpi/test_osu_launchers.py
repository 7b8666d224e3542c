"""Real launchers: Open MPI's and MPICH's mpirun start bound ranks, and what goes wrong with one is told."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from nearfar.binding.locality import fabric_nics
from nearfar.mpi import RankPlan, rank_files
from nearfar.mpi.osu import installed
from nearfar.mpi.osu.measuring import Options, measure
from nearfar.mpi.osu.rank_places import layout
from nearfar.mpi.osu.subjects import parse
from nearfar.topology import inventory
from tests.conftest import CHECKOUT

CASE = "osu_latency/H-H/same_numa_node"
NAMES = {"openmpi": "Open MPI", "mpich": "MPICH"}


def built(name: str, folder: Path) -> Path:
    """The folder with the stand-in built for an MPI of this machine."""
    compiler = shutil.which(f"mpicc.{name}")
    missing = f"no {NAMES[name]} on this machine (Debian: {'libopenmpi-dev' if name == 'openmpi' else 'libmpich-dev'})"
    if compiler is None or shutil.which(f"mpirun.{name}") is None:
        pytest.skip(missing)
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two ranks need two cores")
    (folder / "pt2pt").mkdir()
    program = folder / "pt2pt" / "osu_latency"
    source = str(CHECKOUT / "tests/support/fake_osu.c")
    done = subprocess.run([compiler, "-O1", "-o", str(program), source], capture_output=True, text=True)
    if "mpi.h: No such file" in done.stderr:
        pytest.skip(missing)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module", params=["openmpi", "mpich"])
def mpi(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """An MPI of this machine, and a folder with the stand-in built for it."""
    name = str(request.param)
    return name, built(name, tmp_path_factory.mktemp(name))


def measured(mpi: tuple[str, Path], monkeypatch: pytest.MonkeyPatch, folder: Path, bend: str = "") -> dict[str, Any]:
    for name, value in {"NEARFAR_OSU": str(mpi[1]), "FAKE_OSU": bend}.items():
        monkeypatch.setenv(name, value)
    for name in ("NEARFAR_MPIRUN", "OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(folder)
    return measure(inventory.observe(), [parse(CASE)], Options(runs=1, limit=60.0), ["nearfar", "osu"])


def test_the_launcher_of_the_programs_mpi(mpi: tuple[str, Path]) -> None:
    found = installed.mpi_of(mpi[1] / "pt2pt" / "osu_latency")
    assert found.implementation == mpi[0]
    assert found.name.startswith(NAMES[mpi[0]])


def test_a_launcher_of_another_mpi_is_refused(mpi: tuple[str, Path]) -> None:
    other = shutil.which("mpirun.mpich" if mpi[0] == "openmpi" else "mpirun.openmpi")
    if other is None:
        pytest.skip("one MPI alone")
    with pytest.raises(
        installed.CouldNotJudge, match=f"is linked with {NAMES[mpi[0]]}.*load the MPI that it was built with"
    ):
        installed.mpi_of(mpi[1] / "pt2pt" / "osu_latency", {**os.environ, "NEARFAR_MPIRUN": other})


def test_ranks_run_where_they_were_bound(
    mpi: tuple[str, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:  # fmt: skip
    found = measured(mpi, monkeypatch, tmp_path)
    assert (found["failed"], found["skipped"]) == ([], [])
    ranks = found["mpi"]["ranks"][CASE]
    wished = layout(inventory.observe(), parse(CASE))
    assert [rank["cpus"] for rank in ranks] == [str(rank.cpus[0]) for rank in wished]
    assert len(found["results"]) == 23
    assert list(tmp_path.iterdir()) == []


def test_an_mpi_that_moves_its_ranks(mpi: tuple[str, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (failed,) = measured(mpi, monkeypatch, tmp_path, "move")["failed"]
    assert failed["code"] == "placement"
    assert failed["reason"].endswith("while it ran: the MPI or its launcher moved it")


def test_a_rank_that_dies_takes_the_others_along(
    mpi: tuple[str, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:  # fmt: skip
    began = time.monotonic()
    (failed,) = measured(mpi, monkeypatch, tmp_path, "die")["failed"]
    assert time.monotonic() - began < 30
    # MPICH ends the other rank with the same signal: which of them was seen to end first is a matter of microseconds.
    who = "rank [01]" if mpi[0] == "mpich" else "rank 1"
    assert re.match(f"{who} on ", failed["reason"]), failed["reason"]
    assert "was ended by signal 9; the other ranks ended within" in failed["reason"]


#: Stands in for ssh: the command runs on this machine, under the other host's name.
FAKE_SSH = """#!/bin/bash
while [[ $1 == -* ]]; do case $1 in -[oliFp]) shift 2 ;; *) shift ;; esac; done
host=$1
shift
exec unshare --uts bash -c 'hostname "$1"; shift; eval "$*"' _ "$host" "$@"
"""


def test_between_two_hosts_through_a_nic(
    mpi: tuple[str, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:  # fmt: skip
    node = inventory.observe()
    nic = next((nic for nic in fabric_nics(node) if Path("/sys/class/net", nic.name, "operstate").exists()), None)
    if nic is None or len(node.host_numa_nodes) > 1:
        pytest.skip("no network interface, or not on the one NUMA node")
    if subprocess.run(["unshare", "--uts", "hostname", "nodea"], capture_output=True).returncode:
        pytest.skip("this user may not give a process another host name")
    ssh = tmp_path / "fakessh"
    ssh.write_text(FAKE_SSH)
    ssh.chmod(0o755)
    for name, value in {
        "NEARFAR_OSU": str(mpi[1]), "HYDRA_LAUNCHER": "ssh", "HYDRA_LAUNCHER_EXEC": str(ssh),
        "OMPI_MCA_plm_rsh_agent": str(ssh), "UCX_TLS": "tcp,self",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    case = f"osu_latency/H-H/sole/{nic.name}"
    found = measure(node, [parse(case)], Options(runs=1, limit=60.0, hosts=("nodea", "nodeb")), ["nearfar", "osu"])
    if mpi[0] == "openmpi":  # it goes through TCP here, and does not say by which NIC
        assert "is not proven" in found["failed"][0]["reason"]
        return
    assert found["failed"] == []
    assert [rank["host"] for rank in found["mpi"]["ranks"][case]] == ["nodea", "nodeb"]
    assert found["mpi"]["nics"][case] == [nic.name]


def test_a_rank_without_a_launcher_does_not_run_unbound(tmp_path: Path) -> None:
    plan = tmp_path / "plan"
    bare = {key: value for key, value in os.environ.items() if not key.startswith(("OMPI_", "PMI", "SLURM_", "MV2_"))}

    def refused(cpu: int, **more: str) -> str:
        rank_files.write_plan(plan, [RankPlan(cpus=(cpu,))], (0.5, 0.1))
        words = [*rank_files.wrapper(plan), "true"]
        done = subprocess.run(words, env={**bare, **more}, capture_output=True, text=True)
        assert done.returncode == 3
        return done.stderr

    assert "not started by an MPI launcher" in refused(0)
    assert "rank 1 of a plan of 1 ranks" in refused(0, PMI_RANK="1")
    assert "cannot be bound to CPUs 1023" in refused(1023, PMI_RANK="0")
