"""Which figure judges a physical fact, where several speak of it: the others are measured, shown, kept and compared."""

from __future__ import annotations

from nearfar.cells import Cell
from nearfar.measurement import RATIO, RATIO_UNIT, TASK, AnyMetric, SubjectMetric
from nearfar.model import link_limits

#: Checks that measure single paths again, as steps of a ramp or over sizes.
_REPEATING = ("saturation_check", "sharing_check", "size_sweep_check")


def judged_elsewhere(check: str, figure: AnyMetric) -> str | None:
    """What judges the fact that a figure of ``check`` speaks of, as the end of a sentence; None where the figure itself does.

    Each fact is judged once: of a ratio what it is made of; of several flows the sum; of tasks that share GPUs the slowest; one path by
    ``host_device_check`` or ``peer_check``, whichever check measures it again; a memory by its own check's triad, and beside that what one
    core gets, and a GPU of a memory that is not its own. The size of half the rate and the slowest of many transfers are made of
    figures that are judged nowhere, and judge themselves.
    """
    cell, flow = (None, None) if isinstance(figure, SubjectMetric) else (figure.cell, figure.flow)
    return judged_elsewhere_by_parts(check, figure.quantity, figure.unit, figure.derived, cell, flow is not None)


def judged_elsewhere_by_parts(
    check: str, quantity: str, unit: str, derived: str, cell: Cell | None, share: bool
) -> str | None:
    """The same of a figure as the history has it. ``cell``: None for what is no cell; ``share``: of one flow of several."""
    if quantity == RATIO and (derived not in ("", "tail_worst") or unit != RATIO_UNIT):
        return "it explains figures that are judged"
    if quantity == TASK and derived != "slowest_task":
        return "the slowest task is judged"
    if cell is None or quantity not in ("copy", "stream"):
        return None
    if share and not cell.copies_beside_kernels:
        return "the sum is judged"
    flow = cell.flows[0]
    if flow.staged and not cell.lone:
        return "each direction by itself is judged"
    if check in _REPEATING and (link_limits.host_load(cell) or link_limits.peer_load(cell)):
        return f"{'peer' if flow.kind == 'peer' else 'host_device'}_check judges this path"
    if check == "sharing_check":
        return "the slowest task is judged" if flow.tasks > 1 else "saturation_check judges this load"
    if check == "memory_kernels_check" and flow.source != flow.destination and flow.kind == "gpu_stream":
        return None
    if check == "memory_kernels_check" and flow.cores != "one":
        return f"{'host' if flow.kind == 'stream' else 'gpu'}_memory_check judges this memory"
    return None
