"""The Slurm form on a real Slurm: a private one of two nodes, both this machine, with CPU and memory binding, and pretended GPUs."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nearfar.binding import Layout, place
from tests.support.launching import ROOT, as_mpirun, crossed, of_another_node, one_cpu, open_mpi_5, tell, told, write
from tests.support.private_slurm import PrivateSlurm, needed

pytestmark = pytest.mark.slurm


@pytest.fixture(scope="module")
def slurm() -> Iterator[PrivateSlurm]:
    needed()
    with PrivateSlurm(cpus=len(os.sched_getaffinity(0)), gpus=2, nodes=2) as private:
        yield private


def batch(slurm: PrivateSlurm, script: Path, *program: str) -> tuple[int, str]:
    """Submit the script as a site's user does, and wait: exit code and output."""
    output = script.with_suffix(".out")
    done = slurm.batch("--nodes=1", f"--output={output}", script, *program)
    return done.returncode, output.read_text() if output.exists() else done.stderr


def told_by(code: int, said: str) -> list[dict[str, str | None]]:
    return told(subprocess.CompletedProcess([], code, said, said))


def interactive(slurm: PrivateSlurm, script: Path, *program: str, nodes: int = 1) -> tuple[int, str]:
    """Run the script within an allocation of the options that it gives to sbatch."""
    options = [line.split()[1] for line in script.read_text().splitlines() if line.startswith("#SBATCH")]
    done = slurm.run(["salloc", "--quiet", f"--nodes={nodes}", *options, "bash", str(script), *program])
    return done.returncode, done.stdout + done.stderr


def test_cpus_memory_and_gpus_of_each_rank(slurm: PrivateSlurm, tmp_path: Path) -> None:
    node, ranks = crossed()
    script = write(tmp_path, "slurm", node, ranks)
    assert "--gpus-per-task=1 --gpu-bind=map_gpu:0,1" in script.read_text()
    code, said = batch(slurm, script, *tell(tmp_path))
    rows = told_by(code, said)
    assert [row["cpus"] for row in rows] == [one_cpu(p.cpus[0]) for p in ranks]
    assert {row["memory"] for row in rows} == {f"{1 << ranks[0].memory_nodes[0]:#010x} (bind)"}
    assert [row["CUDA_VISIBLE_DEVICES"] for row in rows] == ["0", "1"]
    assert [row["OMP_PLACES"] for row in rows] == [f"{{{p.cpus[0]}}}" for p in ranks]


def test_every_node_of_a_job_is_bound_alike(slurm: PrivateSlurm, tmp_path: Path) -> None:
    node, ranks = crossed()
    rows = told_by(*interactive(slurm, write(tmp_path, "slurm", node, ranks), *tell(tmp_path), nodes=2))
    assert sorted((row["SLURMD_NODENAME"], row["CUDA_VISIBLE_DEVICES"], row["cpus"]) for row in rows) == [
        (name, str(p.gpu), one_cpu(p.cpus[0])) for name in ("n1", "n2") for p in ranks
    ]


def test_the_gpus_in_another_order_than_the_ranks(slurm: PrivateSlurm, tmp_path: Path) -> None:
    node, ranks = crossed(Layout(threads_per_rank=1, gpus=(1, 0)))
    script = write(tmp_path, "slurm", node, ranks)
    assert "--gpus-per-node=2 --gpu-bind=map_gpu:1,0" in script.read_text()
    rows = told_by(*interactive(slurm, script, *tell(tmp_path)))
    assert {row["CUDA_VISIBLE_DEVICES"]: row["cpus"] for row in rows} == {
        "1": one_cpu(ranks[0].cpus[0]), "0": one_cpu(ranks[1].cpus[0]),
    }  # fmt: skip


def test_two_ranks_on_one_gpu(slurm: PrivateSlurm, tmp_path: Path) -> None:
    node, ranks = crossed(Layout(threads_per_rank=1, gpus=(1,), ranks_per_gpu=2))
    rows = told_by(*interactive(slurm, write(tmp_path, "slurm", node, ranks), *tell(tmp_path)))
    assert sorted(str(row["cpus"]) for row in rows) == sorted(one_cpu(p.cpus[0]) for p in ranks)
    assert {row["CUDA_VISIBLE_DEVICES"] for row in rows} == {"1"}


def test_one_rank_alone_whose_gpu_slurm_does_not_bind(slurm: PrivateSlurm, tmp_path: Path) -> None:
    node, ranks = crossed(Layout(threads_per_rank=1, gpus=(1,)))
    rows = told_by(*interactive(slurm, write(tmp_path, "slurm", node, ranks), *tell(tmp_path)))
    assert [(row["CUDA_VISIBLE_DEVICES"], row["cpus"]) for row in rows] == [("1", one_cpu(ranks[0].cpus[0]))]


def test_host_ranks(slurm: PrivateSlurm, tmp_path: Path) -> None:
    node, ranks = crossed(Layout(threads_per_rank=1, numa_nodes=(crossed()[1][0].memory_nodes[0],) * 2))
    rows = told_by(*interactive(slurm, write(tmp_path, "slurm", node, ranks), *tell(tmp_path)))
    assert sorted(str(row["cpus"]) for row in rows) == sorted(one_cpu(p.cpus[0]) for p in ranks)


def test_a_free_rank_beside_a_bound_one(slurm: PrivateSlurm, tmp_path: Path) -> None:
    node, crossing = crossed()
    home = crossing[0].memory_nodes[0]
    ranks = place(node, Layout(threads_per_rank=1, numa_nodes=(home, None)))
    free = ranks[1]
    rows = told_by(*interactive(slurm, write(tmp_path, "slurm", node, ranks), *tell(tmp_path)))
    every = hex(sum(1 << cpu for cpu in free.cpus))
    assert sorted(str(row["cpus"]) for row in rows) == sorted([one_cpu(ranks[0].cpus[0]), every])


def test_ranks_that_share_cores(slurm: PrivateSlurm, tmp_path: Path) -> None:
    node, ranks = crossed(Layout(threads_per_rank=1, ranks_per_gpu=2, oversubscribe=True))
    rows = told_by(*interactive(slurm, write(tmp_path, "slurm", node, ranks), *tell(tmp_path)))
    assert [(row["CUDA_VISIBLE_DEVICES"], row["cpus"]) for row in rows] == sorted(
        (str(p.gpu), one_cpu(p.cpus[0])) for p in ranks
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give the nodes names of their own")
@pytest.mark.parametrize("form", ["openmpi", "openmpi 5", "mpich"])
def test_an_mpi_on_two_nodes_of_a_job(slurm: PrivateSlurm, tmp_path: Path, form: str) -> None:
    node, ranks = crossed()
    program = {"openmpi": "mpirun.openmpi", "mpich": "mpiexec.mpich"}.get(form) or open_mpi_5()
    script = write(tmp_path, form.split()[0], node, ranks)
    output = tmp_path / "out"
    line = ["--nodes=2", "--exclusive", "--ntasks-per-node=2", f"--output={output}", script]
    environment = {"NODES": "2", **ROOT, **as_mpirun(tmp_path, program, slurm.environment["PATH"])}
    done = slurm.batch(*line, *tell(tmp_path), **environment)
    rows = told_by(done.returncode, output.read_text())
    assert sorted((row["host"], row["CUDA_VISIBLE_DEVICES"], row["cpus"]) for row in rows) == [
        (name, str(p.gpu), one_cpu(p.cpus[0])) for name in ("n1", "n2") for p in ranks
    ]


@pytest.mark.parametrize("form", ["numactl", "taskset"])
def test_the_wrappers_below_srun(slurm: PrivateSlurm, tmp_path: Path, form: str) -> None:
    node, ranks = crossed()
    wrapper = write(tmp_path, form, node, ranks)
    line = ["srun", "--exclusive", "--ntasks=2", "--gpus-per-node=2", "--cpu-bind=none", "bash", str(wrapper)]
    rows = told(slurm.run([*line, *tell(tmp_path)]))
    assert [(row["CUDA_VISIBLE_DEVICES"], row["cpus"]) for row in rows] == [
        (str(p.gpu), one_cpu(p.cpus[0])) for p in ranks
    ]


def test_a_mask_that_slurm_did_not_apply_is_found_out(slurm: PrivateSlurm, tmp_path: Path) -> None:
    """As in a step that has not all CPUs of its node: the ranks are started all the same."""
    node, ranks = crossed()
    script = write(tmp_path, "slurm", node, ranks)
    script.write_text(
        script.read_text()
        .replace("exec srun", "exec srun --cpu-bind=none")
        .replace(" --cpu-bind=mask", " --comment=mask")
    )
    code, said = interactive(slurm, script, "touch", str(tmp_path / "ran"))
    assert code != 0 and "--cpu-bind is not in effect" in said, said
    assert not (tmp_path / "ran").exists()


def test_a_gpu_that_slurm_did_not_bind_is_found_out(slurm: PrivateSlurm, tmp_path: Path) -> None:
    node, ranks = crossed()
    script = write(tmp_path, "slurm", node, ranks)
    for instead, words in (
        ("--gpu-bind=none", "not 1 alone"),
        ("--gpu-bind=map_gpu:1,1", "'1', not 0 alone"),
    ):
        script.write_text(
            re.sub("--gpus-per-task=1 --gpu-bind=[^ ]*", f"--gpus-per-node=2 {instead}", script.read_text())
        )
        code, said = interactive(slurm, script, "touch", str(tmp_path / "ran"))
        assert code != 0 and words in said, said
        script = write(tmp_path, "slurm", node, ranks)


def test_memory_that_slurm_did_not_bind_is_found_out(slurm: PrivateSlurm, tmp_path: Path) -> None:
    node, ranks = crossed()
    script = write(tmp_path, "slurm", node, ranks)
    script.write_text(script.read_text().replace("--mem-bind=map_mem:", "--comment="))
    code, said = interactive(slurm, script, "touch", str(tmp_path / "ran"))
    assert code != 0 and "follows the policy 'default', not bind:" in said, said
    assert not (tmp_path / "ran").exists()


def test_cpus_that_the_node_has_not(slurm: PrivateSlurm, tmp_path: Path) -> None:
    node, ranks = of_another_node()
    code, said = interactive(slurm, write(tmp_path, "slurm", node, [ranks[0], replace(ranks[1], gpu=1)]), "true")
    assert code != 0, said
