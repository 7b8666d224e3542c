"""Every launch line is launched, and the binding that hwloc finds in effect is the one that was asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from nearfar.binding import Layout, Placement, place, render
from nearfar.topology import Gpu, Node
from tests.support.launching import (
    ROOT,
    as_mpirun,
    clean_environment,
    crossed,
    needs,
    of_another_node,
    one_cpu,
    open_mpi_5,
    run,
    tell,
    this_node,
    told,
    write,
)


@pytest.mark.parametrize("which", ["4", "5"])
def test_open_mpi_follows_the_rankfile(tmp_path: Path, which: str) -> None:
    node, ranks = crossed()
    path = as_mpirun(tmp_path, "mpirun.openmpi" if which == "4" else open_mpi_5())
    rows = told(run(["bash", write(tmp_path, "openmpi", node, ranks), *tell(tmp_path)], **path))
    assert [row["cpus"] for row in rows] == [one_cpu(p.cpus[0]) for p in ranks]
    assert [(row["CUDA_VISIBLE_DEVICES"], row["CUDA_DEVICE_ORDER"]) for row in rows] == [
        ("0", "PCI_BUS_ID"), ("1", "PCI_BUS_ID"),
    ]  # fmt: skip


@pytest.mark.parametrize("which", ["4", "5"])
def test_open_mpi_ranks_that_share_cores(tmp_path: Path, which: str) -> None:
    node, ranks = crossed(Layout(threads_per_rank=1, ranks_per_gpu=2, oversubscribe=True))
    path = as_mpirun(tmp_path, "mpirun.openmpi" if which == "4" else open_mpi_5())
    rows = told(run(["bash", write(tmp_path, "openmpi", node, ranks), *tell(tmp_path)], **path))
    assert [(row["CUDA_VISIBLE_DEVICES"], row["cpus"]) for row in rows] == sorted(
        (str(p.gpu), one_cpu(p.cpus[0])) for p in ranks
    )


def test_mpich_follows_the_user_binding(tmp_path: Path) -> None:
    needs("mpiexec.mpich")
    node, ranks = crossed()
    rows = told(run(["bash", write(tmp_path, "mpich", node, ranks), *tell(tmp_path)]))
    assert [row["cpus"] for row in rows] == [one_cpu(p.cpus[0]) for p in ranks]
    assert [row["CUDA_VISIBLE_DEVICES"] for row in rows] == ["0", "1"]


def test_programs_bind_themselves(tmp_path: Path) -> None:
    node, ranks = crossed()
    script = tmp_path / "bound.py"
    last = "print(bind(1), sorted(os.sched_getaffinity(0)), os.environ['CUDA_VISIBLE_DEVICES'])"
    script.write_text(f"{render('python', node, ranks)}\n{last}\n")
    done = run([sys.executable, str(script)])
    assert done.stdout.split("\n")[0] == f"{ranks[1].gpu} {sorted(ranks[1].cpus)} {ranks[1].gpu}", done.stderr
    source = tmp_path / "bound.c"
    main = 'int main(void) { const int gpu = nearfar_bind(1); printf("%d %d\\n", gpu, sched_getcpu()); return nearfar_bind(9) != -2; }'
    main = f"#include <stdio.h>\n{main}"
    source.write_text(f"{render('c', node, ranks)}\n{main}\n")
    subprocess.run([needs("cc"), "-Wall", "-Werror", "-o", str(tmp_path / "bound"), str(source)], check=True)
    done = run([str(tmp_path / "bound")])
    assert done.stdout == f"{ranks[1].gpu} {ranks[1].cpus[0]}\n", done.stderr


def free_beside(which: int) -> tuple[Node, list[Placement]]:
    """Rank 0 on one CPU, rank 1 free; ``which`` of the two CPUs."""
    node, first, second = this_node()
    home = node.gpus[0].numa_node
    ranks = place(node, Layout(threads_per_rank=1, numa_nodes=(home, None), gpus=(0, 1)))
    cpus = ((first, second)[which],)
    return node, [replace(ranks[0], cpus=cpus, mpi_cpus=cpus, gpu_cpus=cpus), ranks[1]]


@pytest.mark.parametrize("form", ["openmpi", "mpich", "numactl", "taskset"])
def test_a_free_rank_is_bound_to_nothing(tmp_path: Path, form: str) -> None:
    program = needs("mpiexec.mpich" if form == "mpich" else "mpirun.openmpi")
    if form == "numactl":
        needs("numactl")
    node, ranks = free_beside(1)
    script = ["bash", str(write(tmp_path, form, node, ranks)), *tell(tmp_path)]
    wrapped = [program, "-n", "2", "--bind-to", "none", *script] if form in ("numactl", "taskset") else script
    path = as_mpirun(tmp_path, program) if form == "openmpi" else {}
    bound, free = told(run(wrapped, **path))
    assert bound["cpus"] == one_cpu(ranks[0].cpus[0])
    assert free["cpus"] == hex(sum(1 << cpu for cpu in ranks[1].cpus))
    assert (bound["OMP_PROC_BIND"], free["OMP_PROC_BIND"], free["OMP_PLACES"]) == ("close", "false", None)
    assert free["OMP_NUM_THREADS"] == "1"


@pytest.mark.skipif(os.geteuid() != 0, reason="Open MPI refuses root alone")
def test_as_root_the_line_works_as_it_is_and_says_why(tmp_path: Path) -> None:
    node, ranks = crossed()
    script = ["bash", str(write(tmp_path, "openmpi", node, ranks)), *tell(tmp_path)]
    plain = {k: v for k, v in clean_environment(as_mpirun(tmp_path, "mpirun.openmpi")).items() if k not in ROOT}
    done = subprocess.run(script, env=plain, capture_output=True, text=True, timeout=60)
    assert len(told(done)) == 2
    assert "mpirun gets --allow-run-as-root" in done.stderr


def test_a_map_by_form_where_there_is_one(tmp_path: Path) -> None:
    node, first, second = this_node()
    if len(os.sched_getaffinity(0)) != 2 or len(node.host_numa_nodes) != 1:
        pytest.skip("ppr counts from the first core: this test needs a machine of two CPUs")
    ranks = place(node, Layout(threads_per_rank=1))
    text = write(tmp_path, "openmpi", node, ranks).read_text()
    assert "mpirun -n 2 --map-by ppr:2:numa:pe=1 --bind-to core" in text
    line = [needs("mpirun.openmpi"), "-n", "2", "--map-by", "ppr:2:numa:pe=1", "--bind-to", "core", *tell(tmp_path)]
    assert sorted(str(row["cpus"]) for row in told(run(line))) == [one_cpu(first), one_cpu(second)]


@pytest.mark.parametrize("form", ["numactl", "taskset"])
@pytest.mark.parametrize(
    "launcher",
    [
        ["mpirun.openmpi", "-n", "2", "--bind-to", "none"],
        ["mpirun.openmpi", "-n", "2", "--bind-to", "core"],
        ["mpiexec.mpich", "-n", "2"],
    ],
    ids=["openmpi", "openmpi-that-binds", "mpich"],
)
def test_the_wrappers_bind_under_every_launcher(tmp_path: Path, form: str, launcher: list[str]) -> None:
    needs(form)
    needs(launcher[0])
    node, ranks = crossed()
    rows = told(run([*launcher, "bash", write(tmp_path, form, node, ranks), *tell(tmp_path)]))
    assert [row["cpus"] for row in rows] == [one_cpu(p.cpus[0]) for p in ranks]
    policy = "bind" if form == "numactl" else "firsttouch"
    assert {row["memory"] for row in rows} == {f"{1 << ranks[0].memory_nodes[0]:#010x} ({policy})"}
    assert [row["OMP_PLACES"] for row in rows] == [f"{{{p.cpus[0]}}}" for p in ranks]


@pytest.mark.parametrize(
    "variable", ["OMPI_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PALS_LOCAL_RANKID",
                 "FLUX_TASK_LOCAL_ID", "SLURM_LOCALID"],
)  # fmt: skip
def test_the_local_rank_of_each_launcher(tmp_path: Path, variable: str) -> None:
    node, ranks = crossed()
    script = write(tmp_path, "taskset", node, ranks)
    assert told(run(["bash", script, *tell(tmp_path)], **{variable: "1"}))[0]["cpus"] == one_cpu(ranks[1].cpus[0])


def test_ranks_of_mpirun_inside_a_slurm_job_all_inherit_one_slurm_localid(tmp_path: Path) -> None:
    node, ranks = crossed()
    script = write(tmp_path, "taskset", node, ranks)
    row = told(run(["bash", script, *tell(tmp_path)], SLURM_LOCALID="0", OMPI_COMM_WORLD_LOCAL_RANK="1"))[0]
    assert row["cpus"] == one_cpu(ranks[1].cpus[0])


def test_a_global_rank_counts_only_while_every_rank_has_a_place(tmp_path: Path) -> None:
    node, ranks = crossed()
    script = write(tmp_path, "taskset", node, ranks)
    assert told(run(["bash", script, *tell(tmp_path)], PMI_RANK="1", PMI_SIZE="2"))[0]["CUDA_VISIBLE_DEVICES"] == "1"
    refused = run(["bash", script, "true"], PMI_RANK="1", PMI_SIZE="4")
    assert (refused.returncode, "the local rank is not known" in refused.stderr) == (2, True), refused.stderr


@pytest.mark.parametrize("form", ["numactl", "taskset", "openmp"])
@pytest.mark.parametrize(
    "environment, words",
    [
        ({}, "the local rank is not known; start the ranks with srun, mpirun or mpiexec"),
        ({"SLURM_LOCALID": "x"}, "the local rank is not known"),
        ({"SLURM_LOCALID": "2"}, "local rank 2 is beyond the layout, which has 2 on a node"),
        ({"SLURM_LOCALID": "08"}, "local rank 8 is beyond the layout"),
        (
            {"SLURM_LOCALID": "1", "CUDA_VISIBLE_DEVICES": "0"},
            "GPU 1 of local rank 1 is not among CUDA_VISIBLE_DEVICES=0",
        ),
        ({"SLURM_LOCALID": "1", "CUDA_VISIBLE_DEVICES": ""}, "GPU 1 of local rank 1 is not among"),
        ({"SLURM_LOCALID": "1", "CUDA_VISIBLE_DEVICES": "10,11"}, "GPU 1 of local rank 1 is not among"),
    ],
)
def test_a_wrapper_refuses_to_run_unbound(tmp_path: Path, form: str, environment: dict[str, str], words: str) -> None:
    node, ranks = crossed()
    refused = run(["bash", write(tmp_path, form, node, ranks), "touch", tmp_path / "ran"], **environment)
    assert refused.returncode == 2 and words in refused.stderr, refused.stderr
    assert not (tmp_path / "ran").exists()
    assert refused.stderr.startswith("nearfar bind: ") and refused.stderr.count("\n") == 1, refused.stderr


@pytest.mark.parametrize("form", ["numactl", "taskset", "openmp"])
def test_a_wrapper_refuses_cpus_that_are_not_there(tmp_path: Path, form: str) -> None:
    script = write(tmp_path, form, *of_another_node())
    refused = run(["bash", script, "touch", tmp_path / "ran"], SLURM_LOCALID="1")
    assert refused.returncode == 2 and "900" in refused.stderr, refused.stderr
    assert not (tmp_path / "ran").exists()


def test_numactl_refuses_memory_that_is_not_there(tmp_path: Path) -> None:
    node, ranks = crossed()
    ranks = [replace(p, memory_nodes=(55,)) for p in ranks]
    refused = run(["bash", write(tmp_path, "numactl", node, ranks), "touch", tmp_path / "ran"], SLURM_LOCALID="0")
    assert refused.returncode == 2 and "memory 55" in refused.stderr, refused.stderr
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("launcher, form", [("mpirun.openmpi", "openmpi"), ("mpiexec.mpich", "mpich")])
def test_a_launcher_that_ignores_the_binding_is_found_out(tmp_path: Path, launcher: str, form: str) -> None:
    """In its place: a launcher that starts the ranks and binds none."""
    node, ranks = crossed()
    real = needs(launcher)
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("mpirun", "mpiexec.hydra"):
        ignores = '#!/bin/bash\nif [[ $1 == --version ]]; then echo "mpirun (Open MPI) 4.1.4"; exit; fi\n'
        ignores += f'while [[ $1 != bash ]]; do shift; done\nexec {real} -n 2 {"--" if form == "openmpi" else "-"}bind-to none "$@"\n'
        (folder / name).write_text(ignores)
        (folder / name).chmod(0o755)
    path = {"PATH": f"{folder}:{os.environ['PATH']}"}
    refused = run(["bash", write(tmp_path, form, node, ranks), "touch", tmp_path / "ran"], **path)
    assert refused.returncode != 0 and "did not follow" in refused.stderr, refused.stderr
    assert not (tmp_path / "ran").exists()


def test_mpich_leaves_a_rank_unbound_whose_cpu_is_absent_and_the_rank_refuses(tmp_path: Path) -> None:
    needs("mpiexec.mpich")
    refused = run(["bash", write(tmp_path, "mpich", *of_another_node()), "true"])
    assert refused.returncode != 0 and "not on 900 alone: mpiexec did not follow" in refused.stderr, refused.stderr


def test_an_mpi_that_is_no_open_mpi_is_refused(tmp_path: Path) -> None:
    node, ranks = crossed()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mpirun").write_text("#!/bin/sh\necho HYDRA\n")
    (tmp_path / "bin" / "mpirun").chmod(0o755)
    path = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    refused = run(["bash", write(tmp_path, "openmpi", node, ranks), "true"], **path)
    assert refused.returncode == 2 and "not of Open MPI 4 or 5" in refused.stderr, refused.stderr


def test_the_gpu_by_number_or_by_uuid(tmp_path: Path) -> None:
    node, ranks = crossed()
    node = replace(node, gpus=tuple(replace(gpu, uuid=f"GPU-{gpu.index}") for gpu in node.gpus))

    def seen(**environment: str) -> str | None:
        script = write(tmp_path, "taskset", node, ranks)
        return told(run(["bash", script, *tell(tmp_path)], SLURM_LOCALID="1", **environment))[0]["CUDA_VISIBLE_DEVICES"]

    assert seen() == "1", "a number means the same on every node of the type"
    assert seen(CUDA_VISIBLE_DEVICES="0,1,2") == "1"
    assert seen(CUDA_VISIBLE_DEVICES="GPU-0,GPU-1") == "GPU-1"
    node = replace(node, gpus=(*node.gpus, Gpu(2, "0000:03:00.0", visible=False)))
    assert seen() == "GPU-1", "CUDA does not count GPUs that the driver hides"
    node = replace(node, gpus=tuple(replace(gpu, vendor="amd", visible=True) for gpu in node.gpus))
    done = run(["bash", write(tmp_path, "taskset", node, ranks), "env"], SLURM_LOCALID="1", ROCR_VISIBLE_DEVICES="0,1")
    assert "ROCR_VISIBLE_DEVICES=1" in done.stdout.split("\n") and "\nCUDA_VISIBLE_DEVICES=" not in done.stdout


def test_the_nic_is_told_to_ucx_unless_the_user_has_a_word_of_his_own(tmp_path: Path) -> None:
    node, ranks = crossed(Layout(threads_per_rank=1, nic="lo"))
    script = write(tmp_path, "taskset", node, ranks)
    told_nic = [
        told(run(["bash", script, *tell(tmp_path)], SLURM_LOCALID="0", **more))[0]["UCX_NET_DEVICES"]
        for more in ({}, {"UCX_NET_DEVICES": "mlx5_9:1"})
    ]
    assert told_nic == ["lo", "mlx5_9:1"]
    absent = write(tmp_path, "taskset", node, [replace(p, nic="mlx5_0") for p in ranks])
    refused = run(["bash", absent, "true"], SLURM_LOCALID="0")
    assert refused.returncode == 2 and "NIC mlx5_0 of local rank 0 is absent" in refused.stderr


def test_split_ranks_are_told_both_places(tmp_path: Path) -> None:
    node, first, second = this_node()
    ranks = place(node, Layout(near="split", threads_per_rank=2, nic="lo", gpus=(0,)))
    row = told(run(["bash", write(tmp_path, "numactl", node, ranks), *tell(tmp_path)], SLURM_LOCALID="0"))[0]
    assert (row["NEARFAR_MPI_CPUS"], row["NEARFAR_GPU_CPUS"]) == (str(first), str(second))
    assert row["OMP_PLACES"] == f"{{{first}}},{{{second}}}"
    assert row["cpus"] == hex(1 << first | 1 << second)


OPENMP = """
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>
int main(void) {
#pragma omp parallel
    {
        cpu_set_t set;
        sched_getaffinity(0, sizeof set, &set);
#pragma omp critical
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
            if (CPU_ISSET(cpu, &set)) printf("thread %d of %d cpu %d\\n", omp_get_thread_num(), omp_get_num_threads(), cpu);
    }
}
"""


@pytest.fixture(scope="module")
def openmp_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("openmp")
    (folder / "threads.c").write_text(OPENMP)
    built = subprocess.run(
        [needs("gcc"), "-fopenmp", "-o", folder / "threads", folder / "threads.c"], capture_output=True, text=True
    )
    if built.returncode:
        pytest.skip("this gcc has no OpenMP")
    return folder / "threads"


@pytest.mark.parametrize("form", ["openmp", "numactl"])
def test_openmp_threads_take_their_places_one_by_one(tmp_path: Path, openmp_program: Path, form: str) -> None:
    node, first, second = this_node()
    rank = place(node, Layout(gpus=(0,), threads_per_rank=2))[0]
    rank = replace(rank, mpi_cpus=(second,), gpu_cpus=(first,))  # thread 0 on the second CPU: no default does so
    finished = run(["bash", write(tmp_path, form, node, [rank]), openmp_program], SLURM_LOCALID="0")
    assert sorted(finished.stdout.splitlines()) == [f"thread 0 of 2 cpu {second}", f"thread 1 of 2 cpu {first}"]


def test_openmp_refuses_below_a_launcher_that_has_taken_cpus_away(tmp_path: Path) -> None:
    node, first, second = this_node()
    ranks = place(node, Layout(gpus=(0,), threads_per_rank=2))
    script = write(tmp_path, "openmp", node, ranks)
    narrowed = subprocess.run(
        ["taskset", "-c", str(first), "bash", str(script), "true"],
        env=clean_environment({"SLURM_LOCALID": "0"}), capture_output=True, text=True,
    )  # fmt: skip
    assert narrowed.returncode == 2 and f"CPU {second} of its places" in narrowed.stderr, narrowed.stderr
