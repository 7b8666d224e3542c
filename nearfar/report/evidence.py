"""What a vendor's ticket has of a node beside its figures: its boards, and what its documents rule out as the cause."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from nearfar.measurement import machine_uses
from nearfar.report.blocks import Block, Text, table
from nearfar.report.figures import plural
from nearfar.verdict import NodeRun, document_facts

from .headline import title

#: Of a board: what is its own of ``topology.Gpu``, and what people call it.
_COLUMNS = {"index": "GPU", "slot": "slot", "pci": "PCI", "name": "model", "serial": "serial", "uuid": "UUID"}


def boards(nodes: Iterable[tuple[str, Iterable[Any]]]) -> tuple[Block, ...]:
    """The GPUs of nodes (anything with the fields of ``topology.Gpu``), their model once where all have the same; what is known of none
    is no column."""
    found = [(name, gpu) for name, gpus in nodes for gpu in gpus]
    models = {gpu.name for _, gpu in found}
    left_out = {"name"} if len(models) == 1 else set()
    keys = [key for key in _COLUMNS if key not in left_out and any(getattr(gpu, key) is not None for _, gpu in found)]
    owned = [(name, [getattr(gpu, key) for key in keys]) for name, gpu in found]
    rows = [(name, *("–" if value is None else str(value) for value in values)) for name, values in owned]
    model = [Text((f"model: {name}",)) for name in models if name is not None and left_out]
    return (*model, table(("node", *map(_COLUMNS.__getitem__, keys)), rows))


def passed(checks: Mapping[str, str], against: Collection[str] = ()) -> list[str]:
    """In a sentence the checks that passed, of verdicts by check; those are left out that something is held ``against``."""
    names = [title(name) for name, word in checks.items() if word == "PASS" and name not in against]
    return [f"checks that passed: {', '.join(names)}"] if names else []


def ruled_out(node: NodeRun) -> list[str]:
    """What is not the cause of a slow figure of a measured node, in sentences: only what a document of it says."""
    verdicts = [check.verdict for check in node.checks if check.verdict is not None]
    documents, metrics = [each.document for each in verdicts], [m for each in verdicts for m in each.metrics]
    loads = [load for document in documents for load in document.get("gpus_under_load") or ()]
    uses = [use for document in documents for use in machine_uses(document)]
    verified = [metric.verified for metric in metrics if metric.verified is not None]
    counts = [counter.grown for use in uses for counter in use.counters]
    counts += [load["replays"] for load in loads if load.get("replays") is not None]
    errors = [load["uncorrected_errors"] for load in loads if load.get("uncorrected_errors") is not None]
    found = {
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
