"""The wrappers as they are tried in the guest of two nodes: scripts and commands."""

from __future__ import annotations

import shutil
from pathlib import Path

from nearfar import topology
from nearfar.binding import Layout, place, render
from nearfar.topology import Gpu, Node, Package

PROGRAMS = ("bash", "numactl", "hwloc-bind")
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


def files(folder: Path) -> dict[str, Path]:
    """The scripts, written to ``folder``, and those of the programs that are installed, by their paths in the guest."""
    found = {f"bin/{name}": Path(path).resolve() for name in PROGRAMS if (path := shutil.which(name))}
    ranks = place(NODE, Layout(threads_per_rank=1))
    more = topology.NumaNode(2, 1, (4,), 1 << 28)
    elsewhere = topology.Node(
        "elsewhere", NODE.packages, (*NODE.numa_nodes, more), (Gpu(0, "0000:01:00.0", numa_node=2, package=1),)
    )
    scripts = {form: render(form, NODE, ranks) for form in ("numactl", "taskset")}
    scripts["elsewhere"] = render("numactl", elsewhere, place(elsewhere, Layout()))
    for name, text in scripts.items():
        (folder / f"{name}.sh").write_text(text)
        found[f"bin/{name}.sh"] = folder / f"{name}.sh"
    return found
