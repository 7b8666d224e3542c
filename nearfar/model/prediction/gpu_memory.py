"""What the memory of GPUs carries, a capacity of each, and an xGMI link between two, by their model (``site/gpus/``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from nearfar.base import SiteFile, site_files
from nearfar.topology import Node

from .capacities import Capacity


def name_of(gpu: int) -> str:
    """The capacity that is the memory of a GPU."""
    return f"g{gpu}.memory"


def with_nominal_rates(
    capacities: Mapping[str, Capacity], node: Node, directories: Sequence[Path]
) -> dict[str, Capacity]:
    """The capacities, those of GPUs' memory with the nominal rate of their model as what is nominal.

    A figure of the node type stands before it; a model of which no file says anything stays unknown. Raises ``SiteFileError`` for
    a file of a GPU model that cannot be read.
    """
    rates = _nominal_rates(directories, "memory") if node.gpus else {}
    named = dict(capacities)
    for gpu in node.gpus:
        rate, source_words = rates.get(gpu.name or "", (None, ""))
        memory = named[name_of(gpu.index)]
        if rate is not None and memory.best is None:
            source = memory.source if memory.value is not None else "no figure of this node type is given"
            named[memory.name] = replace(memory, nominal=rate, nominal_words=source_words, source=source)
    return named


def xgmi_rate(node: Node, directories: Sequence[Path]) -> float | None:
    """The line rate of one xGMI link of the node's GPUs in one direction, GB/s; None where it has none or its model's file has no rate."""
    if "XGMI" not in node.peers.values():
        return None
    return _nominal_rates(directories, "xgmi").get(node.gpus[0].name or "", (None, ""))[0]


def _nominal_rates(directories: Sequence[Path], part: str) -> dict[str, tuple[float, str]]:
    """GB/s of a part of GPUs and where they are published, by GPU model; the first directory that has a model counts."""
    rates: dict[str, tuple[float, str]] = {}
    for path in site_files("gpus", list(directories)).values():
        file = SiteFile(path)
        file.check("gpu-1")
        entry = file.data.get(part)
        for model in file.data["gpu_models"] if entry else ():
            rates.setdefault(model, (float(entry["bandwidth"]), entry["source"]))
    return rates
