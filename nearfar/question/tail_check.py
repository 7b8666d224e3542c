"""How slow is the slowest of a thousand transfers over every path: what comes so rarely is in no median."""

from __future__ import annotations

from nearfar import cells
from nearfar.base import Finding
from nearfar.measurement import Document

from . import messages
from .question import ACCEPT, Question

#: The item of the finding that is the answer.
SLOWEST = "slowest transfer"


def the_worst(document: Document | None) -> list[Finding]:
    """A note of the slowest transfer of all paths, held against the median of its own path, and when it was; before it that all
    arrived, where each path was verified."""
    results = [] if document is None else document.results
    tails = [(r.tail, r.cell, r.verified) for r in results if r.tail is not None and r.cell is not None]
    if not tails:
        return []
    tail, cell, _ = max(tails, key=lambda r: r[0].worst_over_p50)
    worst = messages.SLOWEST_TRANSFER.finding(
        SLOWEST, path=cells.pretty(cell), transfers=tail.count, ratio=tail.worst_over_p50, seconds=tail.worst_at, sample=tail.worst_visit
    )  # fmt: skip
    if not all(verified for _, _, verified in tails):
        return [worst]
    return [messages.ALL_ARRIVED.finding("transfers", transfers=sum(tail.count for tail, _, _ in tails)), worst]


QUESTION = Question(
    name="tail_check",
    title="Slowest of many transfers",
    description="the slowest of 1,000 transfers over every path",
    program="nearfar-copy",
    cells=cells.tail_cells,
    levels=(ACCEPT,),
    # No disturbance is predicted.
    systems=("+gpu -modelled",),
    options=("--tail",),
    nothing_to_ask="no GPU, or no host memory, on this node",
    quantities=lambda subject: ("tail",),
    findings=the_worst,
    answer=SLOWEST,
)
