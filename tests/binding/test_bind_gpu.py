"""On a node with GPUs: each rank's first CUDA device is the GPU that it was placed beside."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from nearfar.binding import Layout, place
from nearfar.topology import inventory
from nearfar.topology.pci import normal_bus_id
from tests.support.launching import needs, run, write

pytestmark = pytest.mark.gpu

#: How many devices CUDA shows, and the PCI bus id of the first.
DEVICE = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
count, device, name = ctypes.c_int(), ctypes.c_int(), ctypes.create_string_buffer(32)
assert cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0
assert cuda.cuDeviceGet(ctypes.byref(device), 0) == 0 and cuda.cuDeviceGetPCIBusId(name, 32, device) == 0
print(count.value, name.value.decode())
"""


@pytest.mark.parametrize("form", ["taskset", "numactl", "openmp"])
def test_each_rank_sees_its_own_gpu_alone(tmp_path: Path, form: str) -> None:
    if form != "openmp":
        needs(form)
    node = inventory.observe()
    ranks = place(node, Layout(ranks_per_gpu=2, threads_per_rank=1))
    script = write(tmp_path, form, node, ranks)
    for rank in ranks:
        done = run(["bash", script, sys.executable, "-c", DEVICE], SLURM_LOCALID=str(rank.rank))
        assert done.returncode == 0, done.stderr
        count, pci = done.stdout.split()
        gpu = node.gpu(rank.gpu if rank.gpu is not None else -1)
        assert gpu is not None and (count, normal_bus_id(pci)) == ("1", gpu.pci)


def test_mpirun_gives_each_rank_its_gpu(tmp_path: Path) -> None:
    if shutil.which("mpirun") is None:
        pytest.skip("mpirun is not installed")
    node = inventory.observe()
    ranks = place(node, Layout(threads_per_rank=1))
    done = run(["bash", write(tmp_path, "openmpi", node, ranks), sys.executable, "-c", DEVICE])
    assert done.returncode == 0, done.stderr
    seen = {normal_bus_id(line.split()[1]) for line in done.stdout.splitlines()}
    assert seen == {gpu.pci for gpu in node.gpus}
