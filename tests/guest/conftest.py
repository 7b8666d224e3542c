"""The guests: each boots once, for all that is asked of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from . import schemes, wrappers
from .guest import Guest, NoGuest, NumaNode

LSTOPO = "env HWLOC_PLUGINS_PATH=/lib/hwloc lstopo --of xml --whole-io"
STREAM = "nearfar-copy --json --budget 10 c0:n1/triad"
STREAM_CELLS = "nearfar-copy --set host_memory_check --list"
#: Started on CPU 2 alone, as a launcher binds a rank.
RANK_PLACES = "taskset 0x4 rank_places_test"
#: Two ranks on every pair of NUMA nodes, as they are bound before MPI starts.
NUMA_PAIRS = "taskset 0x4 numa_pairs_test"
#: Sixteen huge pages of 2 MiB on node 1 alone.
HUGE = "echo 16 > /sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages; placement_test"
#: Control groups, for the commands after it.
GROUPS = "mount -t cgroup2 groups /sys/fs/cgroup && echo '+memory +cpuset' > /sys/fs/cgroup/cgroup.subtree_control"
#: STREAM's arrays of 192 MiB in a control group that has less.
IN_SMALL_GROUP = "mkdir /sys/fs/cgroup/small; echo 100M > /sys/fs/cgroup/small/memory.max; "
IN_SMALL_GROUP += f"sh -c 'echo 0 > /sys/fs/cgroup/small/cgroup.procs; exec {STREAM}'"
#: Node 0's CPUs and all memory.
IN_CPUSET = "mkdir /sys/fs/cgroup/first; echo 0-1 > /sys/fs/cgroup/first/cpuset.cpus; "
IN_CPUSET += "sh -c 'echo 0 > /sys/fs/cgroup/first/cgroup.procs; exec placement_test'"
#: Node 0's memory and all CPUs.
IN_MEMSET = "mkdir /sys/fs/cgroup/mems; echo 0 > /sys/fs/cgroup/mems/cpuset.mems; "
IN_MEMSET += "sh -c 'echo 0 > /sys/fs/cgroup/mems/cgroup.procs; exec placement_test'"
#: A PCIe root of its own on NUMA node 1, with a network card behind it.
CARD = ["-device", "pxb-pcie,id=root1,bus_nr=64,numa_node=1"]
CARD += ["-device", "pcie-root-port,id=port1,bus=root1,chassis=1", "-device", "e1000e,bus=port1"]

Outcomes = dict[str, tuple[int, str]]


def boot(
    build_folder: Path, folder: Path, nodes: list[NumaNode], commands: list[str], more: dict[str, Path] | None = None
) -> Outcomes:
    """Run the commands in a guest of two packages, with ``more`` files; skips, with the reason, where no guest can be had."""
    files = {
        f"bin/{name}": build_folder / "bin" / name
        for name in ("placement_test", "rank_places_test", "numa_pairs_test", "nearfar-copy")
    }
    lstopo = [path for path in map(Path, ("/usr/bin/lstopo-no-graphics", "/usr/bin/lstopo")) if path.exists()]
    if not lstopo:
        pytest.skip("lstopo is not in /usr/bin")
    files["bin/lstopo"] = lstopo[0].resolve()
    for plugin in Path("/usr/lib").glob("*/hwloc/hwloc_pci.so"):
        files[f"lib/hwloc/{plugin.name}"] = plugin
    files.update(more or {})
    guest = Guest(nodes, 2, {path: file for path, file in files.items() if file.exists()}, CARD)
    try:
        return guest.run(commands, folder)
    except NoGuest as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def two_nodes(build_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    """A guest of two packages with one NUMA node each; CPUs 0-1 and 2-3."""
    nodes = [NumaNode("0-1", 512), NumaNode("2-3", 512)]
    commands = [
        LSTOPO,
        "placement_test",
        "taskset 0x4 placement_test",
        RANK_PLACES,
        NUMA_PAIRS,
        STREAM_CELLS,
        "nearfar-copy --list",
        STREAM,
        GROUPS,
        IN_SMALL_GROUP,
        IN_CPUSET,
        IN_MEMSET,
        HUGE,
        *wrappers.COMMANDS,
        schemes.COMMAND,
    ]
    folder = tmp_path_factory.mktemp("two_nodes")
    return boot(build_folder, folder, nodes, commands, {**wrappers.files(folder), **schemes.files(schemes.TWO, folder)})


@pytest.fixture(scope="session")
def four_nodes(build_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    """Four NUMA nodes: 0 and 1 as usual, 2 without memory, 3 without CPUs."""
    nodes = [NumaNode("0", 192), NumaNode("1", 192), NumaNode("2-3", 0), NumaNode("", 192)]
    commands = [LSTOPO, "placement_test", STREAM_CELLS, "nearfar-copy --list", schemes.COMMAND]
    folder = tmp_path_factory.mktemp("four_nodes")
    return boot(
        build_folder, folder, nodes, commands, {**wrappers.files(folder), **schemes.files(schemes.FOUR, folder)}
    )
