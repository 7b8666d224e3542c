"""What a vendor's ticket has of a node beside its figures: its boards, and what its documents rule out as the cause."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nearfar.measurement import machine_uses
from nearfar.report.blocks import Table, table
from nearfar.report.figures import plural
from nearfar.verdict import NodeRun, document_facts

from .headline import title

#: Of a board: what is its own of ``topology.Gpu``, and what people call it.
_COLUMNS = {"index": "GPU", "slot": "slot", "pci": "PCI", "name": "model", "serial": "serial", "uuid": "UUID"}


def boards(nodes: Iterable[tuple[str, Iterable[Any]]]) -> Table:
    """The GPUs of nodes (anything with the fields of ``topology.Gpu``); what is known of none is no column."""
    rows = [(name, [getattr(gpu, key) for key in _COLUMNS]) for name, gpus in nodes for gpu in gpus]
    known = [at for at, _ in enumerate(_COLUMNS) if any(cells[at] is not None for _, cells in rows)]
    names = list(_COLUMNS.values())
    written = [(name, *("–" if cells[at] is None else str(cells[at]) for at in known)) for name, cells in rows]
    return table(("node", *(names[at] for at in known)), written)


def ruled_out(node: NodeRun) -> list[str]:
    """What is not the cause of a slow figure of a measured node, in sentences: only what a document of it says."""
    verdicts = [check.verdict for check in node.checks if check.verdict is not None]
    documents, metrics = (
        [verdict.document for verdict in verdicts],
        [m for verdict in verdicts for m in verdict.metrics],
    )
    loads = [load for document in documents for load in document.get("gpus_under_load") or ()]
    uses = [use for document in documents for use in machine_uses(document)]
    verified = [metric.verified for metric in metrics if metric.verified is not None]
    counts = [counter.grown for use in uses for counter in use.counters] + [
        load["replays"] for load in loads if load.get("replays") is not None
    ]
    errors = [load["uncorrected_errors"] for load in loads if load.get("uncorrected_errors") is not None]
    passed = [title(check.name) for check in node.checks if check.word == "PASS"]
    found = {
        f"checks that passed: {', '.join(passed)}": bool(passed),
        f"other load: none beside any of {plural(len(metrics), 'figure')}": bool(uses)
        and not any(metric.disturbance is not None or metric.contended for metric in metrics),
        "heat and power: the clocks of no GPU were held down under load": bool(loads)
        and not any(map(document_facts.held_down, documents)),
        f"data: all that was compared arrived intact ({plural(len(verified), 'figure')})": bool(verified)
        and all(verified),
        "errors of links: none was counted meanwhile": bool(counts) and not any(counts),
        "memory of the GPUs: no uncorrected error meanwhile": bool(errors) and not any(errors),
    }
    return [sentence for sentence, holds in found.items() if holds]
