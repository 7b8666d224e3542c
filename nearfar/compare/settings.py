"""What differs between two sides beside their figures: software, boards, links and settings, as the runs' files have them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nearfar.base import grouped
from nearfar.topology import SETTINGS, Gpu, Node, setting_values

from .sides import NodeSide

_NAMES = {"cuda": "CUDA", "mps": "MPS", "vbios": "GPU firmware (VBIOS)", "mpi": "MPI", "os": "system"}
#: What a part is known by: where one side alone has it, the part is there no more, or new.
_PARTS = ("board", "link", "NIC", "host memory")
_NONE = "none"
_GIB = 1 << 30


@dataclass(frozen=True)
class ChangedSetting:
    """One thing that is not the same on both sides; ``of`` names the part (``software``, ``g0``, ``n1``)."""

    node: str
    of: str
    what: str
    before: str
    after: str


def stamps(node: NodeSide) -> dict[tuple[str, str], tuple[str, ...]]:
    """Part and what is said of it, with its value; several, in their order, where runs of the side differ."""
    known = (((part, what), str(value)) for part, what, value in _facts(node) if value is not None and value != "")
    return {key: tuple(dict.fromkeys(values)) for key, values in grouped(known).items()}


def changed(name: str, before: NodeSide, after: NodeSide) -> list[ChangedSetting]:
    """What differs, in the order of the stamps. What one side alone says is a change where it is a part, not where nobody looked;
    of sizes and places (not of software and boards) a value that both sides have is none."""
    first, second = stamps(before), stamps(after)
    settings = []
    for part, what in {**first, **second}:
        earlier, later = first.get((part, what), ()), second.get((part, what), ())
        exact = part == "software" or what in _PARTS[:2]
        known = bool(earlier and later) or what in _PARTS
        if known and earlier != later and (exact or not set(earlier) & set(later)):
            sides = (", then ".join(values) or _NONE for values in (earlier, later))
            settings.append(ChangedSetting(name, part, what, *sides))
    return settings


def moved_boards(before: NodeSide, after: NodeSide) -> list[str]:
    """A sentence for each board that is in another place than before."""
    places = [{gpu.uuid: gpu.index for gpu in _gpus(side) if gpu.uuid} for side in (before, after)]
    return [
        f"g{after_index} is the board that was g{places[0][uuid]}: figures are paired by place"
        for uuid, after_index in places[1].items()
        if uuid in places[0] and places[0][uuid] != after_index
    ]


def _facts(side: NodeSide) -> Iterator[tuple[str, str, Any]]:
    for run in side.runs:
        machine = run.node
        software = dict(machine.software) if machine is not None else {}
        for verdict in side.verdicts:
            software.update({key: value for key, value in verdict.software.items() if key not in software})
        for key in sorted(software, key=lambda key: (key not in ("driver", "cuda", "kernel"), key)):
            yield "software", _NAMES.get(key, key), software[key]
        for check in run.checks:
            info = check.verdict.measurement if check.verdict else None
            if info is not None and info.program and info.version:
                yield "software", info.program, info.version
            mpi = check.document.get("mpi")
            if isinstance(mpi, Mapping) and mpi.get("implementation"):
                named = [str(mpi[key]) for key in ("implementation", "version") if mpi.get(key)]
                yield "software", "MPI", " ".join(named)
        if machine is not None:
            yield from _machine(machine)
        # Of idle GPUs links say nothing.
        for entry in (each for check in run.checks for each in check.document.get("gpus_under_load", [])):
            link = entry.get("link") or {}
            yield f"g{entry.get('index')}", "link under load", _link(link.get("gen"), link.get("width"))


def _machine(node: Node) -> Iterator[tuple[str, str, Any]]:
    yield "node", "product", node.product
    yield "node", "virtual machine", {True: "yes", False: "no", None: None}[node.virtual_machine]
    yield "node", "CPU model", ", ".join(sorted({p.model for p in node.packages if p.model})) or None
    yield "node", "packages", len(node.packages) or None
    yield "node", "CPUs", sum(len(package.cpus) for package in node.packages) or None
    for numa in node.host_numa_nodes:
        yield f"n{numa.index}", "host memory", f"{numa.memory / _GIB:.0f} GiB"
        yield f"n{numa.index}", "CPUs", len(numa.cpus)
    yield "node", "NUMA nodes with memory", len(node.host_numa_nodes)
    yield "node", "GPUs", len(node.gpus)
    for gpu in node.gpus:
        part = f"g{gpu.index}"
        yield part, "board", " ".join(filter(None, [gpu.name, gpu.uuid, gpu.serial and f"serial {gpu.serial}"])) or None
        yield part, "PCI address", gpu.pci
        yield part, "NUMA node", gpu.numa_node
        yield part, "memory", None if gpu.memory is None else f"{gpu.memory / _GIB:.0f} GiB"
        yield part, "MIG", {True: "on", False: "off", None: None}[gpu.mig]
        yield part, "active NVLink lanes", gpu.nvlinks
        yield part, "widest link", _link(gpu.link.max_gen, gpu.link.max_width)
        yield part, "fault", gpu.fault
    for (a, b), link in sorted(node.peers.items()):
        yield f"g{a}-g{b}", "link", link
    for nic in node.nics:
        yield nic.name, "NIC", nic.pci
        yield nic.name, "NUMA node", nic.numa_node
    known = setting_values(node)
    for setting in SETTINGS:
        if setting.key not in node.software:
            yield from ((part, setting.title, value) for part, value in known.get(setting.key, {}).items())


def _gpus(side: NodeSide) -> tuple[Gpu, ...]:
    return next((run.node.gpus for run in reversed(side.runs) if run.node is not None), ())


def _link(generation: Any, width: Any) -> str | None:
    return f"generation {generation} x{width}" if generation and width else None
