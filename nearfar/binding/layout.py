"""What a user wants of the ranks of one node: how many, how wide, and beside which device."""

from __future__ import annotations

from dataclasses import dataclass

from nearfar.base import NearfarError, plural

#: Where a rank runs: beside its GPU, beside its NIC, or its MPI thread beside the NIC and the rest beside the GPU.
SIDES = ("gpu", "nic", "split")
#: More ranks of one GPU than any machine has hardware threads are a slip of the fingers.
MOST_RANKS = 1024


@dataclass(frozen=True)
class Layout:
    """The ranks of one node.

    With GPUs: ``ranks_per_gpu`` ranks for each of ``gpus`` (``None``: all that are visible), in the order of the GPUs.
    With ``numa_nodes``: one rank for each entry, on that NUMA node (``None``: bound to nothing); its GPU is that of the same place
    in ``gpus``, and where these are ``None`` it has none.
    ``threads_per_rank`` counts cores (``None``: the largest number that all ranks can have near their device).
    ``near`` is one of ``SIDES``. ``nic`` names the NIC of all ranks (``None``: the nearest one to each rank's GPU; host
    ranks then have none). ``oversubscribe`` lets ranks share cores where there are too few.
    """

    ranks_per_gpu: int = 1
    threads_per_rank: int | None = None
    near: str = "gpu"
    gpus: tuple[int, ...] | None = None
    numa_nodes: tuple[int | None, ...] | None = None
    nic: str | None = None
    oversubscribe: bool = False

    def check(self) -> None:
        """Raise ``NearfarError`` for a layout that no node can have."""
        if self.ranks_per_gpu < 1:
            raise NearfarError(f"{self.ranks_per_gpu} ranks per GPU: at least 1 is needed")
        if self.ranks_per_gpu > MOST_RANKS:
            raise NearfarError(f"{self.ranks_per_gpu} ranks per GPU: at most {MOST_RANKS} are placed")
        if self.threads_per_rank is not None and self.threads_per_rank < 1:
            raise NearfarError(f"{self.threads_per_rank} threads per rank: at least 1 is needed")
        if self.near not in SIDES:
            raise NearfarError(f"near '{self.near}': expected one of {', '.join(SIDES)}")
        if self.near == "split" and self.threads_per_rank == 1:
            raise NearfarError("a split rank has an MPI thread and a GPU thread: give it at least 2 threads")
        if self.numa_nodes is not None:
            self._check_numa_nodes(self.numa_nodes)
        if self.gpus == ():
            raise NearfarError("no GPU: name those that get ranks, such as 0,1")
        if self.gpus is not None and len(set(self.gpus)) != len(self.gpus):
            raise NearfarError("a GPU is named twice; several ranks share one with more ranks per GPU")

    def _check_numa_nodes(self, numa_nodes: tuple[int | None, ...]) -> None:
        if self.near != "gpu":
            raise NearfarError(
                f"ranks on given NUMA nodes are near those: leave out near '{self.near}', or the NUMA nodes"
            )
        if not numa_nodes:
            raise NearfarError("no rank: name the NUMA node of each, such as 0,1")
        if self.gpus is None and self.ranks_per_gpu != 1:
            raise NearfarError("ranks on given NUMA nodes have no GPU: name their GPUs, or leave out the ranks per GPU")
        if self.gpus is None:
            return
        ranks = len(self.gpus) * self.ranks_per_gpu
        if len(numa_nodes) != ranks:
            raise NearfarError(
                f"{plural(len(numa_nodes), 'NUMA node')} for {plural(ranks, 'rank')} ({plural(len(self.gpus), 'GPU')} with "
                f"{plural(self.ranks_per_gpu, 'rank')} each): name one for each rank"
            )
