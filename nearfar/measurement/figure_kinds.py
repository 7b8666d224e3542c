"""Which kind of figure is it: the kinds that ``topology.SETTINGS`` name as what a setting can explain."""

from __future__ import annotations

from nearfar.cells import Cell
from nearfar.topology import settings

_BY_QUANTITY = {"mpi.": settings.NETWORK, "latency.": settings.LATENCY, "kernel.": settings.KERNELS}
#: By the kind of a cell's flows; of a cell of several kinds the first counts.
_BY_FLOW = {
    "host": settings.HOST_DEVICE, "peer": settings.PEERS, "stream": settings.MEMORY, "local": settings.KERNELS,
    "gpu_stream": settings.KERNELS, "compute": settings.KERNELS,
}  # fmt: skip


def figure_kind(quantity: str, cell: Cell | None) -> str | None:
    """The kind of a figure, in the words of ``Setting.explains``; None for what no setting is known to change."""
    for prefix, kind in _BY_QUANTITY.items():
        if quantity.startswith(prefix):
            return kind
    flows = set() if cell is None else {flow.kind for flow in cell.flows}
    return next((kind for flow, kind in _BY_FLOW.items() if flow in flows), None)
