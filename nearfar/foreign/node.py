"""The node that several outputs are of: from a topology or a node type where there is one, else from what the tools list."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from nearfar.base import NearfarError
from nearfar.topology import Gpu, Node, NumaNode, bus_order, normal_bus_id

from .nvidia_smi_topo import SOME_MEMORY, unknown_pci
from .output import ForeignOutput, SeenGpu

#: So many GPUs with NVLink of generation 3 or newer are on a board with NVSwitch: each pair has all lanes.
_SWITCHED = 8


def make(
    outputs: Mapping[str, Sequence[ForeignOutput]],
    given: Node | None,
    named: str,
    gpu_links: Mapping[str, Mapping[str, int]],
) -> tuple[Node, dict[int, int]]:
    """The node, and its GPUs' numbers by the tools' numbers.

    ``outputs`` are by file; ``given`` is the node of a topology or a node type, ``named`` what a message calls that. ``gpu_links`` has the
    ``nvlinks`` and ``nvlink_generation`` of GPU models. Raises ``NearfarError`` for outputs that are not all of this node.
    """
    seen = _seen(outputs)
    hosts = {each.hostname: file for file, found in outputs.items() for each in found if each.hostname}
    if len(hosts) > 1:
        (one, first), (other, second) = list(hosts.items())[:2]
        raise NearfarError(
            f"{second}: is of host {other}, and {first} of {one}: import the files of one node at a time"
        )
    hostname = next(iter(hosts), "")
    most = 1 + max([-1, *seen, *_numbers("g", [each for found in outputs.values() for each in found])])
    if given is None:
        every = [each for found in outputs.values() for each in found]
        memories = max(1, *(each.numa_nodes for each in every), 1 + max([-1, *(_numbers("n", every))]))
        node = _listed([seen.get(index, SeenGpu(index)) for index in range(most)], memories, gpu_links)
        return replace(node, hostname=hostname), _by_place(seen, node)
    if not given.gpus and most:
        raise NearfarError(
            f"{named}: has no GPU, and the files have figures of {most}: name the topology of their node"
        )
    numbers = _by_place(seen, given)
    if len(numbers) < len(seen) or not seen:
        whole = any(each.every_gpu and each.gpus for found in outputs.values() for each in found)
        if (whole and len(seen) != len(given.gpus)) or most > len(given.gpus):
            raise NearfarError(
                f"{named}: has {len(given.gpus)} GPUs, and the files are of {most}: they are of another node, or name not all of its GPUs"
            )
        numbers = {index: gpu.index for index, gpu in enumerate(sorted(given.gpus, key=lambda gpu: gpu.index))}
    models = {numbers[index]: each.name for index, each in seen.items() if each.name and index in numbers}
    for gpu in given.gpus:
        model = models.get(gpu.index)
        if gpu.name and model and _plain(gpu.name) != _plain(model):
            raise NearfarError(
                f"{named}: GPU {gpu.index} is a {gpu.name}, and in the files it is a {model}: they are of another node"
            )
    pcis = {numbers[index]: _bus_id(each.pci) for index, each in seen.items() if each.pci and index in numbers}
    gpus = tuple(
        replace(gpu, name=gpu.name or models.get(gpu.index),
                pci=pcis.get(gpu.index, gpu.pci) if gpu.pci.startswith("unknown") else gpu.pci)
        for gpu in given.gpus
    )  # fmt: skip
    return replace(given, hostname=hostname or given.hostname, gpus=gpus), numbers


def _numbers(kind: str, outputs: Sequence[ForeignOutput]) -> set[int]:
    """The GPUs (``g``) or NUMA nodes (``n``) of the figures, by the tool's numbers."""
    figures = [figure for output in outputs for figure in output.figures if figure.quantity == "copy"]
    return {int(n) for figure in figures for flow, _ in figure.rates for n in re.findall(rf"\b{kind}(\d+)\b", flow)}


def _seen(outputs: Mapping[str, Sequence[ForeignOutput]]) -> dict[int, SeenGpu]:
    """The GPUs as all files list them. Raises ``NearfarError`` where two differ, or one has a figure of a GPU that it does not list."""
    seen: dict[int, SeenGpu] = {}
    by: dict[int, str] = {}
    whole: tuple[str, int] | None = None
    for file, found in outputs.items():
        for each in (one for one in found if one.gpus):
            listed = {gpu.index for gpu in each.gpus}
            if each.every_gpu and (strange := _numbers("g", [each]) - listed):
                raise NearfarError(
                    f"{file}: has figures of GPU {min(strange)}, and lists {len(listed)} GPUs: the file was edited, or cut"
                )
            if each.every_gpu and whole is not None and whole[1] != len(listed):
                raise NearfarError(
                    f"{file}: lists {len(listed)} GPUs, and {whole[0]} {whole[1]}: import the files of one node at a time"
                )
            whole = (file, len(listed)) if each.every_gpu else whole
            for gpu in each.gpus:
                before = seen.get(gpu.index)
                differ = before and (
                    (before.name and gpu.name and _plain(before.name) != _plain(gpu.name))
                    or (before.pci and gpu.pci and _bus_id(before.pci) != _bus_id(gpu.pci))
                )
                if before is not None and differ:
                    raise NearfarError(
                        f"{file}: GPU {gpu.index} is {gpu.name} at {gpu.pci}, and in {by[gpu.index]} {before.name} at {before.pci}: "
                        "import the files of one node at a time"
                    )
                if before is None or (gpu.pci and not before.pci):
                    seen[gpu.index], by[gpu.index] = gpu, file
    return seen


def _by_place(seen: Mapping[int, SeenGpu], node: Node) -> dict[int, int]:
    """The node's numbers of those GPUs whose bus id is one of the node's."""
    known = {gpu.pci: gpu.index for gpu in node.gpus}
    places = {index: known.get(_bus_id(gpu.pci) if gpu.pci else unknown_pci(index)) for index, gpu in seen.items()}
    return {index: number for index, number in places.items() if number is not None}


def _bus_id(text: str) -> str:
    try:
        return normal_bus_id(text if "." in text else f"{text}.0")
    except NearfarError:
        return text


def _plain(name: str) -> str:
    """A model's name without the vendor, which some tools leave out."""
    return (
        re.sub(r"(?i)^(?:nvidia|tesla|amd|quadro|instinct)\s+|\s+", " ", re.sub(r"(?i)^(?:nvidia|amd)\s+", "", name))
        .strip()
        .lower()
    )


def _listed(gpus: Sequence[SeenGpu], memories: int, gpu_links: Mapping[str, Mapping[str, int]]) -> Node:
    """A node as the tools list it. Pairs of GPUs are of an unknown class, but those that NVSwitch joins."""
    if all(re.search(r"\.\d$", _bus_id(gpu.pci or "")) for gpu in gpus):
        gpus = sorted(gpus, key=lambda gpu: bus_order(_bus_id(gpu.pci or "")))
    notes = (
        ["its packages were not given"]
        if memories > 1
        else ["host memory is shown as one NUMA node: its topology was not given"]
    )
    models = {gpu.name for gpu in gpus}
    known = gpu_links.get(next(iter(models)) or "", {}) if len(models) == 1 else {}
    joined = "unknown"
    if len(gpus) == _SWITCHED and known.get("nvlinks") and known.get("nvlink_generation", 0) >= 3:
        joined = f"NV{known['nvlinks']}"
        notes.append(f"eight GPUs of this model are taken to be joined by NVSwitch ({joined})")
    made = tuple(
        Gpu(
            index,
            _bus_id(gpu.pci) if gpu.pci else unknown_pci(index),
            name=gpu.name,
            numa_node=0 if memories == 1 else gpu.numa,
        )
        for index, gpu in enumerate(gpus)
    )
    peers = {(a, b): joined for a in range(len(made)) for b in range(a + 1, len(made))}
    numa_nodes = tuple(NumaNode(index, None, (), SOME_MEMORY) for index in range(memories))
    return Node("", (), numa_nodes, made, peers=peers, notes=tuple(notes))
