"""The bus bandwidth of a collective, expected from the node's capacities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nearfar.model.prediction import NodeType
from nearfar.topology import Node

#: The collectives, named as in nccl-tests (``NAME_perf``).
COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "alltoall", "sendrecv")
#: The codes of what makes a collective slower than its node allows.
CAUSES = (
    "p2p_off_shm", "pcie_instead_of_nvlink", "socket_instead_of_ib", "no_gdr", "nvls_off", "acs_on", "iommu_on", "vm_hides_pci",
    "no_peermem", "fabric_manager", "container_limits", "nic_far", "env", "few_channels", "narrow_link",
)  # fmt: skip


@dataclass(frozen=True)
class Fabric:
    """The network between nodes: ``nics`` in each node, ``rate`` of one in GB/s one way (400 Gbit/s: 50.0)."""

    nics: int
    rate: float
    #: ``infiniband``, ``roce``, ``efa`` or ``socket``.
    kind: str = "infiniband"
    #: Whether the NICs read and write the GPUs' memory; otherwise all goes through host memory.
    gpudirect: bool = True


@dataclass(frozen=True)
class Expected:
    """What nccl-tests should print as bus bandwidth, GB/s."""

    collective: str
    gpus: tuple[int, ...]
    nodes: int
    #: The size that it is expected at; None: any large one.
    bytes: int | None
    typical: float
    low: float
    high: float
    #: The part that limits it, by nearfar's name of it: ``g0.out``, ``g3.d2h``, ``p0-p1``, ``n0.memory``, ``nic``.
    limit: str
    #: ``ring``, ``tree``, ``nvls``, ``nvls_tree`` or ``pairwise``.
    algorithm: str
    #: ``nvlink``, ``pcie`` (peers), ``shm`` (host memory), ``ib_gdr``, ``ib`` or ``socket``: the slowest that data takes.
    transport: str
    #: Where the limit's figure is from: ``measured`` on this node type, ``assumed``, or ``ceiling`` of its link.
    basis: str


def expected(
    node: Node | NodeType,
    collective: str,
    gpus: Sequence[int] | None = None,
    bytes: int | None = None,
    nodes: int = 1,
    *,
    fabric: Fabric | None = None,
    transport: str | None = None,
    nvls: bool | None = None,
) -> Expected:
    """What the collective should reach among ``gpus`` (all of them) of each of ``nodes`` such nodes, at ``bytes`` (None: any large size).

    ``fabric`` is needed for more than one node. ``transport`` (``nvlink``, ``pcie``, ``shm``) and ``nvls`` ask what it would reach with
    those; None: what a healthy node uses. Raises ``NearfarError`` for what the node lacks.
    """
    raise NotImplementedError
