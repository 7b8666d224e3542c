"""NCCL's collectives on the page: the bus bandwidth of each beside what is expected, and the ring that NCCL built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nearfar import nccl
from nearfar.report.blocks import Block, Entry, Text, row, table
from nearfar.report.figures import Figure
from nearfar.topology import Node

from .mpi import figure_entry


def collective_blocks(figures: list[Figure], document: Mapping[str, Any], node: Node | None) -> list[Block]:
    """The table of a check of collectives; none of any other."""
    mine = {(figure.subject, _label(figure)): figure for figure in figures if figure.quantity == nccl.BUSBW}
    if not mine:
        return []
    labels = sorted(dict.fromkeys(label for _, label in mine), key=nccl.size_of)
    rows = []
    for subject in dict.fromkeys(subject for subject, _ in mine):
        known = [mine.get((subject, label)) for label in labels]
        places = [figure_entry(f, *([f.expected_words] if f is not None and f.reference else [])) for f in known]
        rows.append(row(Entry(nccl.parse_case(subject).words, mark="label"), *places))
    caption = "bus bandwidth, GB/s, and what is expected"
    shown = table(["", *(f">{label}" for label in labels)], rows, title="Collectives", caption=caption, kind="mpi")
    hops = nccl.ring_hops(document, node)
    words = f"NCCL's first ring: GPU {' → '.join(map(str, [hop.source for hop in [*hops, *hops[:1]]]))}"
    limiting = [hop.words for hop in hops if hop.limiting]
    words += f"; limited by {'; '.join(limiting)}" if limiting else ""
    return [shown, *([Text((words,), kind="muted")] if hops else [])]


def _label(figure: Figure) -> str:
    return figure.question.rpartition(".")[2]
