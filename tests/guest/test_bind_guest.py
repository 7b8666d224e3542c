"""The wrappers on a real kernel with several NUMA nodes: CPUs and memory of each rank, and what is refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from nearfar import topology
from nearfar.binding import Layout, place, render
from nearfar.topology import Gpu, Node, Package

from .guest import Guest, NoGuest, NumaNode

pytestmark = pytest.mark.guest

#: Two packages of two CPUs; the first GPU hangs on the second of them.
NODE = Node(
    "guest",
    (Package(0, (0, 1)), Package(1, (2, 3))),
    (topology.NumaNode(0, 0, (0, 1), 1 << 28), topology.NumaNode(1, 1, (2, 3), 1 << 28)),
    (Gpu(0, "0000:01:00.0", numa_node=1, package=1), Gpu(1, "0000:02:00.0", numa_node=0, package=0)),
)
CPUS = "hwloc-bind --get --taskset"
MEMORY = "hwloc-bind --get --membind --nodeset"


def ask(form: str, rank: int, program: str) -> str:
    return f"env SLURM_LOCALID={rank} bash /bin/{form}.sh {program}"


def narrowed(rank: int) -> str:
    return f"taskset 0x1 {ask('numactl', rank, CPUS)}"


COMMANDS = [
    ask(form, rank, program) for form in ("numactl", "taskset") for rank in (0, 1) for program in (CPUS, MEMORY)
]
COMMANDS += [narrowed(0), ask("elsewhere", 0, CPUS)]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    folder = tmp_path_factory.mktemp("bind_guest")
    files = {}
    for name in ("bash", "numactl", "hwloc-bind"):
        found = shutil.which(name)
        if found is None:
            pytest.skip(f"{name} is not installed")
        files[f"bin/{name}"] = Path(found).resolve()
    ranks = place(NODE, Layout(threads_per_rank=1))
    more = topology.NumaNode(2, 1, (4,), 1 << 28)
    elsewhere = topology.Node(
        "elsewhere", NODE.packages, (*NODE.numa_nodes, more), (Gpu(0, "0000:01:00.0", numa_node=2, package=1),)
    )
    scripts = {form: render(form, NODE, ranks) for form in ("numactl", "taskset")}
    scripts["elsewhere"] = render("numactl", elsewhere, place(elsewhere, Layout()))
    for name, text in scripts.items():
        (folder / f"{name}.sh").write_text(text)
        files[f"bin/{name}.sh"] = folder / f"{name}.sh"
    try:
        return Guest([NumaNode("0-1", 192), NumaNode("2-3", 192)], 2, files).run(COMMANDS, folder)
    except NoGuest as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("form", ["numactl", "taskset"])
@pytest.mark.parametrize("rank, cpu, memory", [(0, "0x4", "0x00000002"), (1, "0x1", "0x00000001")])
def test_each_rank_beside_its_gpu(
    outcomes: dict[str, tuple[int, str]], form: str, rank: int, cpu: str, memory: str
) -> None:
    assert outcomes[ask(form, rank, CPUS)] == (0, f"{cpu}\n")
    if form == "numactl":
        assert outcomes[ask(form, rank, MEMORY)] == (0, f"{memory} (bind)\n")


def test_a_launcher_that_has_bound_already_is_overruled(outcomes: dict[str, tuple[int, str]]) -> None:
    assert outcomes[narrowed(0)] == (0, "0x4\n")


def test_the_layout_of_another_node_is_refused(outcomes: dict[str, tuple[int, str]]) -> None:
    code, said = outcomes[ask("elsewhere", 0, CPUS)]
    assert code == 2 and "numactl cannot bind local rank 0 to CPUs 4 and memory 2" in said, said
