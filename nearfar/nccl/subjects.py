"""What is asked of nccl-tests: a collective among so many GPUs."""

from __future__ import annotations

import re
from dataclasses import dataclass

from nearfar.base import NearfarError
from nearfar.collective import COLLECTIVES
from nearfar.topology import Node

#: The collectives that can use NVLink's multicast.
WITH_MULTICAST = ("all_reduce", "all_gather", "reduce_scatter")
#: The quantity of their results.
BUSBW = "nccl.busbw"
_NVLS = {False: "", True: "/nvls", None: "/nvls_unsaid"}
_CASE = re.compile(r"(?P<collective>[a-z_]+)(?:/x(?P<ranks>\d+))?(?:/nodes(?P<nodes>\d+))?(?P<nvls>/nvls(?:_unsaid)?)?")


@dataclass(frozen=True)
class NcclCase:
    """``all_reduce/x8``, ``all_reduce/x16/nodes2``, ``all_reduce/x8/nvls``, ``all_reduce/x8/nvls_unsaid``."""

    collective: str
    #: GPUs in all; 0: not known.
    ranks: int
    nodes: int = 1
    #: Whether NVLink's multicast is used; None: nobody says, and the GPUs have it.
    nvls: bool | None = False

    def __str__(self) -> str:  # noqa: D105
        ranks = f"/x{self.ranks}" if self.ranks else ""
        nodes = f"/nodes{self.nodes}" if self.nodes > 1 else ""
        return f"{self.collective}{ranks}{nodes}{_NVLS[self.nvls]}"

    @property
    def words(self) -> str:
        """``all_reduce among 8 GPUs of 2 nodes with NVLS``."""
        nodes = f" of {self.nodes} nodes" if self.nodes > 1 else ""
        gpus = self.ranks or "an unknown number of"
        return f"{self.collective} among {gpus} GPUs{nodes}{' with NVLS' if self.nvls else ''}"


def parse_case(text: str) -> NcclCase:
    """The case of a subject. Raises ``NearfarError`` for any other text."""
    found = _CASE.fullmatch(text)
    if found is None:
        raise NearfarError(f"'{text}' is not a case of nccl-tests, such as all_reduce/x8")
    nvls = next(key for key, suffix in _NVLS.items() if suffix == (found["nvls"] or ""))
    return NcclCase(found["collective"], int(found["ranks"] or 0), int(found["nodes"] or 1), nvls)


def cases(node: Node, nodes: int = 1, tests: tuple[str, ...] = (), nvls: bool = False) -> list[NcclCase]:
    """Every test among all GPUs of each of ``nodes`` such nodes; none where that is one GPU."""
    ranks = nodes * len(node.gpus)
    return [NcclCase(test, ranks, nodes, nvls) for test in tests or COLLECTIVES] if ranks > 1 else []
