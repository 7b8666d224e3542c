"""What the tests of launch lines share: two ranks on two CPUs of this machine, and a program that tells where it runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from nearfar.binding import Layout, Placement, place, render
from nearfar.topology import Gpu, Nic, Node, NumaNode, inventory

#: Asks hwloc, not the scripts' own reading: binding, memory policy, and what MPI, CUDA and OpenMP would be told.
TELL = """
import json, os, subprocess
def hwloc(*words):
    return subprocess.run(["hwloc-bind", "--get", *words], capture_output=True, text=True, check=True).stdout.strip()
names = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "UCX_NET_DEVICES", "OMP_NUM_THREADS", "OMP_PLACES", "OMP_PROC_BIND",
         "NEARFAR_MPI_CPUS", "NEARFAR_GPU_CPUS", "SLURMD_NODENAME")
line = {"host": os.uname().nodename, "cpus": hwloc("--taskset"), "memory": hwloc("--membind", "--nodeset")}
line.update({n: os.environ.get(n) for n in names})
os.write(1, ("told " + json.dumps(line) + "\\n").encode())  # one write: print makes two where Python is unbuffered
"""
#: Launchers started by root ask for this; a test that inherits another launcher's job would believe itself part of it.
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
JOBS = ("SLURM_", "PMI", "OMPI_COMM", "MPI_", "CUDA_", "UCX_", "PRTE_", "OMP_")


def this_node() -> tuple[Node, int, int]:
    """This machine with two made-up GPUs on its first NUMA node, and two CPUs of it."""
    node = inventory.observe()
    usable = sorted(os.sched_getaffinity(0))
    home = next(n for n in node.host_numa_nodes if set(n.cpus) & set(usable))
    here = sorted(set(home.cpus) & set(usable))
    if len(here) < 2:
        pytest.skip("two CPUs on one NUMA node are needed")
    gpus = tuple(Gpu(i, f"0000:0{i}:00.0", numa_node=home.index, package=home.package) for i in (0, 1))
    nics = (Nic("lo", "0000:05:00.0", numa_node=home.index, package=home.package),)
    node = replace(node, gpus=gpus, nics=nics, allowed_cpus=(here[0], here[1]), cores=())
    return node, here[0], here[1]


def crossed(layout: Layout | None = None) -> tuple[Node, list[Placement]]:
    """Rank 0 on the second CPU and rank 1 on the first: no launcher does so by itself."""
    node, first, second = this_node()
    ranks = place(node, layout or Layout(threads_per_rank=1))
    other = {first: (second,), second: (first,)}
    moved = [replace(p, cpus=other[p.cpus[0]], mpi_cpus=other[p.cpus[0]], gpu_cpus=other[p.cpus[0]]) for p in ranks]
    return node, moved


def of_another_node() -> tuple[Node, list[Placement]]:
    """As ``crossed``, but rank 1 on a CPU and a memory that this machine has not."""
    node, ranks = crossed()
    node = replace(node, numa_nodes=(*node.numa_nodes, NumaNode(55, None, (900,), 1 << 30)), allowed_cpus=None)
    absent = replace(ranks[1], cpus=(900,), mpi_cpus=(900,), gpu_cpus=(900,), numa_node=55, memory_nodes=(55,))
    return node, [ranks[0], absent]


def write(folder: Path, form: str, node: Node, placements: Sequence[Placement]) -> Path:
    """The script of a form, in a file."""
    path = folder / f"{form}.sh"
    path.write_text(render(form, node, placements))
    return path


def tell(folder: Path) -> list[str]:
    """The command of the program that tells where it runs."""
    path = folder / "tell.py"
    path.write_text(TELL)
    python = shutil.which("python3")
    assert python
    return [python, str(path)]


def clean_environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process' environment without any job's."""
    return {**{k: v for k, v in os.environ.items() if not k.startswith(JOBS)}, **ROOT, **(more or {})}


def run(command: Sequence[str | Path], **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a launch line for at most a minute."""
    return subprocess.run(
        [str(word) for word in command], env=clean_environment(environment), capture_output=True, text=True, timeout=60
    )


def told(finished: subprocess.CompletedProcess[str]) -> list[dict[str, str | None]]:
    """What the ranks told, sorted by their GPU and CPUs."""
    lines = [line for line in finished.stdout.splitlines() if line.startswith("told ")]
    assert finished.returncode == 0 and lines, f"exit code {finished.returncode}\n{finished.stdout}\n{finished.stderr}"
    return sorted((json.loads(line[5:]) for line in lines), key=lambda row: (row["CUDA_VISIBLE_DEVICES"], row["cpus"]))


def one_cpu(cpu: int) -> str:
    """A CPU as hwloc writes a set of it alone, in taskset's way."""
    return hex(1 << cpu)


def needs(program: str) -> str:
    """The program's path, or the test is skipped with its name."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed")
    return found


def as_mpirun(folder: Path, program: str, path: str | None = None) -> dict[str, str]:
    """A PATH on which ``program`` is called mpirun."""
    (folder / "bin").mkdir()
    (folder / "bin" / "mpirun").symlink_to(needs(program))
    return {"PATH": f"{folder / 'bin'}:{path or os.environ['PATH']}"}


def open_mpi_5() -> str:
    """An Open MPI 5: its mpirun is named by NEARFAR_TEST_OPENMPI5."""
    named = os.environ.get("NEARFAR_TEST_OPENMPI5")
    if not named:
        pytest.skip("no Open MPI 5: NEARFAR_TEST_OPENMPI5 names its mpirun")
    return named
