"""Which benchmark, from which buffers, between ranks that sit where: the subjects of MPI figures, and which to ask of a node.

``osu_latency/H-H/same_numa_node`` · ``osu_allreduce/H-H/across_packages/x8`` (8 ranks) · ``osu_bw/D-D/near/g0-g1`` (the ranks
sit on their GPUs' own NUMA nodes) · ``osu_latency/H-H/off_socket/mlx5_0`` (between two nodes, through that NIC, the ranks
on a NUMA node of another package than the NIC's) · ``osu_bw/H-H/near/mlx5_0-mlx5_1`` (through both at once) ·
``osu_bw/D-D/near/g0-mlx5_0`` (GPU memory of two nodes; ``g0-mlx5_0-staged``: without GPUDirect). docs/reference/document.md has them all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from nearfar.base import NearfarError
from nearfar.binding import RELATIONS, cores_of, fabric_nics, pairs
from nearfar.topology import Gpu, Nic, Node, NumaNode, nic_class

from .benchmarks import BENCHMARKS

#: Where two ranks of a node sit to each other, the nearest first.
WITHIN = RELATIONS
#: Where ranks sit to the device that they use (a GPU, a NIC), the nearest first.
BESIDE = ("near", "sole", "on_socket", "off_socket")
#: Of each placement the one that it is held against: wrong over right.
RIGHT = {WITHIN[1]: WITHIN[0], WITHIN[2]: WITHIN[0], "on_socket": "near", "off_socket": "near"}
HOST = ("H", "H")
#: Ranks of a benchmark of many, at most: more take minutes and say nothing new of the node.
MOST_RANKS = 16

_SUBJECT = re.compile(
    r"(?P<benchmark>osu_\w+)/(?P<source>[DH])-(?P<sink>[DH])/(?P<placement>[a-z_]+)(?:/x(?P<ranks>\d+))?(?:/(?P<device>[\w-]+))?"
)
_GPU = re.compile(r"g\d+")
STAGED = "staged"


@dataclass(frozen=True)
class MpiCase:
    """One benchmark in one placement. ``ranks`` is 2 of a pair's benchmark. ``device``: ``g0-g1`` (the ranks' GPUs), ``g0``
    (the one rank's that has one), a NIC's name or those of several, ``g0-mlx5_0``, or empty; device buffers without a device use every
    GPU, one a rank."""

    benchmark: str
    buffers: tuple[str, str]
    placement: str
    ranks: int = 2
    device: str = ""

    def __str__(self) -> str:
        """The subject, as documents have it."""
        many = "" if BENCHMARKS[self.benchmark].pair else f"/x{self.ranks}"
        device = f"/{self.device}" if self.device else ""
        return f"{self.benchmark}/{'-'.join(self.buffers)}/{self.placement}{many}{device}"

    @property
    def on_devices(self) -> bool:
        """Whether a buffer is in a GPU's memory."""
        return "D" in self.buffers

    @property
    def gpus(self) -> tuple[int, ...]:
        """The GPUs that it names, in the order of the ranks that have one."""
        return tuple(int(name[1:]) for name in self._devices() if _GPU.fullmatch(name)) if self.on_devices else ()

    @property
    def nic(self) -> str | None:
        """The NIC between the two nodes, or several (``mlx5_0-mlx5_1``); None within a node."""
        return "-".join(name for name in self._devices() if not (self.on_devices and _GPU.fullmatch(name))) or None

    @property
    def staged(self) -> bool:
        """Whether UCX is told to copy GPU memory through the host, as without GPUDirect."""
        return self.on_devices and self.device.endswith(f"-{STAGED}")

    def _devices(self) -> list[str]:
        return [name for name in self.device.split("-") if name and not (self.on_devices and name == STAGED)]

    @property
    def right(self) -> MpiCase | None:
        """The same with the ranks where they should be, or None where they are."""
        placement = RIGHT.get(self.placement)
        return None if placement is None else replace(self, placement=placement)


#: Letters of what is no case that a message repeats.
_SHOWN = 80


def parse(text: str) -> MpiCase:
    """The case that ``str(case)`` wrote. Raises ``NearfarError``."""
    match = _SUBJECT.fullmatch(text)
    benchmark = BENCHMARKS.get(match["benchmark"]) if match else None
    if match is None or benchmark is None or match["placement"] not in (*WITHIN, *BESIDE):
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
        raise NearfarError(f"'{shown}' is not an MPI case such as osu_latency/H-H/same_numa_node")
    if benchmark.pair != (match["ranks"] is None) or (match["ranks"] or "2") in ("0", "1"):
        many = "takes two ranks" if benchmark.pair else "needs a number of ranks such as /x4"
        raise NearfarError(f"'{text}': {benchmark.name} {many}")
    buffers = (match["source"], match["sink"])
    return MpiCase(benchmark.name, buffers, match["placement"], int(match["ranks"] or 2), match["device"] or "")


def cases(node: Node, *, nodes: int = 1, benchmarks: Sequence[str] = (), ranks: int | None = None) -> list[MpiCase]:
    """What to ask of a node of this kind: host buffers in every placement that it has, device buffers of every GPU, and
    with ``nodes`` of 2 every NIC, all at once, and the memory of a GPU through a NIC of each path class.

    ``ranks``: of the benchmarks of many (None: as the node has cores)."""
    names = list(benchmarks) or list(BENCHMARKS)
    for name in names:
        if name not in BENCHMARKS:
            raise NearfarError(f"'{name}' is none of the benchmarks {', '.join(BENCHMARKS)}")
    on_node = [*_within(node, names, ranks), *_on_devices(node, names)]
    return on_node + (list(_between(node, names, ranks)) if nodes > 1 else [])


def default_ranks(node: Node) -> int:
    """Ranks that fit on the cores of every NUMA node: a power of two from 2 to ``MOST_RANKS``."""
    least = min((len(cores_of(node, numa.index)) for numa in with_cores(node)), default=2)
    count = 2
    while count * 2 <= min(least, MOST_RANKS):
        count *= 2
    return count


def with_cores(node: Node) -> list[NumaNode]:
    """The NUMA nodes that have both host memory and CPUs."""
    return [numa for numa in node.host_numa_nodes if numa.cpus]


def relation(node: Node, numa: NumaNode, home: int | None) -> str | None:
    """Where a rank on ``numa`` sits to a device on NUMA node ``home`` (one of ``BESIDE``); None where nobody says."""
    if len(with_cores(node)) == 1:
        return "sole"
    own = None if home is None else node.numa_node(home)
    if own is None:
        return None
    if own.index == numa.index:
        return "near"
    if own.package is None or numa.package is None:
        return None
    return "on_socket" if own.package == numa.package else "off_socket"


def beside(node: Node, home: int | None, placement: str) -> NumaNode | None:
    """The first NUMA node from which a device on NUMA node ``home`` is ``placement``."""
    return next((numa for numa in with_cores(node) if relation(node, numa, home) == placement), None)


def _within(node: Node, names: Sequence[str], ranks: int | None) -> Iterator[MpiCase]:
    for name in names:
        many = 2 if BENCHMARKS[name].pair else ranks or default_ranks(node)
        for placement in pairs(node):
            yield MpiCase(name, HOST, placement, many)


def _on_devices(node: Node, names: Sequence[str]) -> Iterator[MpiCase]:
    gpus = [gpu.index for gpu in node.gpus]
    homes = {gpu.index: gpu.numa_node for gpu in node.gpus}
    # Each GPU in one pair; an odd one out meets its neighbour.
    couples = [tuple(gpus[i : i + 2]) if i + 1 < len(gpus) else (gpus[i - 1], gpus[i]) for i in range(0, len(gpus), 2)]
    for name in names:
        if not BENCHMARKS[name].pair:
            # Pairs of ranks need an even number of GPUs.
            if len(gpus) > 1 and (BENCHMARKS[name].folder == "collective" or len(gpus) % 2 == 0):
                yield from (
                    MpiCase(name, ("D", "D"), placement, len(gpus))
                    for placement in BESIDE
                    if all(beside(node, home, placement) for home in homes.values())
                )
            continue
        for placement in BESIDE:
            for pair in couples if len(gpus) > 1 else []:
                if all(beside(node, homes[gpu], placement) for gpu in pair):
                    yield MpiCase(name, ("D", "D"), placement, 2, "-".join(f"g{gpu}" for gpu in pair))
            for buffers in (("D", "H"), ("H", "D")) if name != "osu_bibw" else ():
                for gpu in gpus:
                    if beside(node, homes[gpu], placement):
                        yield MpiCase(name, buffers, placement, 2, f"g{gpu}")


def _between(node: Node, names: Sequence[str], ranks: int | None) -> Iterator[MpiCase]:
    for name in names:
        many = 2 if BENCHMARKS[name].pair else 2 * (ranks or default_ranks(node))
        for nic in fabric_nics(node):
            for placement in BESIDE:
                if beside(node, nic.numa_node, placement) is not None:
                    yield MpiCase(name, HOST, placement, many, nic.name)
        if BENCHMARKS[name].pair:
            yield from _rails(node, name)


def _rails(node: Node, name: str) -> Iterator[MpiCase]:
    """A pair's benchmark through all NICs at once, and from a GPU's memory through a NIC: the first GPU and NIC of each path class."""
    nics = fabric_nics(node)
    near = [placement for placement in BESIDE[:2] if nics and beside(node, nics[0].numa_node, placement)]
    if len(nics) > 1 and name == "osu_bw":
        yield from (MpiCase(name, HOST, placement, 2, "-".join(nic.name for nic in nics)) for placement in near)
    first: dict[str, tuple[Gpu, Nic]] = {}
    for nic in nics:
        for gpu in node.gpus:
            first.setdefault(nic_class(node, gpu.index, nic.name), (gpu, nic))
    for gpu, nic in first.values():
        for placement in BESIDE[:2]:
            if beside(node, gpu.numa_node, placement):
                yield MpiCase(name, ("D", "D"), placement, 2, f"g{gpu.index}-{nic.name}")
                if name == "osu_bw":
                    yield MpiCase(name, ("D", "D"), placement, 2, f"g{gpu.index}-{nic.name}-{STAGED}")
