"""The node that several outputs are of: from a topology or a node type where there is one, else from what the tools list."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from nearfar.base import CouldNotJudge, NearfarError, short_host_name
from nearfar.topology import Gpu, Node, NumaNode, bus_order, normal_bus_id

from .nvidia_smi_topo import SOME_MEMORY, unknown_pci
from .output import ForeignOutput, SeenGpu

#: Several outputs by their files.
Files = Mapping[str, Sequence[ForeignOutput]]
#: So many GPUs with NVLink of generation 3 or newer are on a board with NVSwitch: each pair has all lanes.
_SWITCHED = 8
#: No node has more GPUs, or NUMA nodes.
_MOST = 1024
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}")
#: What no name of a GPU has, and a page could take for markup, a terminal for commands.
_MARKUP = re.compile(r"[<>\x00-\x1f\x7f-\x9f]|.{201}")
_ONE_NODE = "import the files of one node at a time"
_ONE_OF = "keep one node's lines"


def make(
    outputs: Files, given: Node | None, named: str, gpu_links: Mapping[str, Mapping[str, int]]
) -> tuple[Node, dict[int, int]]:
    """The node, and its GPUs' numbers by the tools' numbers.

    ``given`` is the node of a topology or a node type, ``named`` what a message calls that. ``gpu_links`` has the ``nvlinks`` and
    ``nvlink_generation`` of GPU models. Raises ``NearfarError`` for outputs that are not all of this node.
    """
    seen, every = _seen(outputs), [each for found in outputs.values() for each in found]
    hosts: dict[str, tuple[str, str]] = {}
    for file, name in ((file, each.hostname) for file, found in outputs.items() for each in found if each.hostname):
        if not _HOST.fullmatch(name):
            raise CouldNotJudge(f"{file}: {name[:60]!r} is not a host name")
        hosts.setdefault(short_host_name(name), (name, file))
    if len(hosts) > 1:
        (one, first), (other, second), *_ = hosts.values()
        raise NearfarError(f"{second}: is of host {other}, and {first} of {one}: {_ONE_NODE}")
    hostname = next((name for name, _ in hosts.values()), "")
    gpus = 1 + max([-1, *seen, *_numbers("g", every)])
    memories = max(1, *(each.numa_nodes for each in every), 1 + max([-1, *_numbers("n", every)]))
    if max(gpus, memories) > _MOST:
        raise CouldNotJudge(f"{', '.join(outputs)}: {max(gpus, memories)} GPUs or NUMA nodes are more than a node has")
    if given is None:
        node = _listed([seen.get(index, SeenGpu(index)) for index in range(gpus)], memories, gpu_links)
        return replace(node, hostname=hostname), _by_place(seen, node)
    numbers = _by_place(seen, given)
    if len(numbers) < len(seen) or not seen:
        whole = any(each.every_gpu and each.gpus for each in every)
        if gpus > len(given.gpus) or (whole and gpus < len(given.gpus)):
            raise NearfarError(
                f"{named}: has {len(given.gpus)} GPUs, and the files are of {gpus}: they are of another node, or show not all GPUs"
            )
        numbers = {index: gpu.index for index, gpu in enumerate(sorted(given.gpus, key=lambda gpu: gpu.index))}
    found = {numbers[index]: each for index, each in seen.items() if index in numbers}
    for gpu in given.gpus:
        model = found[gpu.index].name if gpu.index in found else None
        if gpu.name and model and _plain(gpu.name) != _plain(model):
            raise NearfarError(
                f"{named}: GPU {gpu.index} is a {gpu.name}, and in the files it is a {model}: they are of another node"
            )
    filled = tuple(_filled(gpu, found.get(gpu.index, SeenGpu(gpu.index))) for gpu in given.gpus)
    return replace(given, hostname=hostname or given.hostname, gpus=filled), numbers


def _filled(gpu: Gpu, seen: SeenGpu) -> Gpu:
    """A GPU of a topology with the name, and the bus id, that a tool adds."""
    pci = _bus_id(seen.pci) if seen.pci and gpu.pci == unknown_pci(gpu.index) else gpu.pci
    return replace(gpu, name=gpu.name or seen.name, pci=pci)


def _numbers(kind: str, outputs: Sequence[ForeignOutput]) -> set[int]:
    """The GPUs (``g``) or NUMA nodes (``n``) of the figures, by the tool's numbers."""
    figures = [figure for output in outputs for figure in output.figures if figure.quantity == "copy"]
    return {int(n) for figure in figures for flow, _ in figure.rates for n in re.findall(rf"\b{kind}(\d+)\b", flow)}


def _seen(outputs: Files) -> dict[int, SeenGpu]:
    """The GPUs as all files list them. Raises ``NearfarError`` where two differ, or one has a figure of a GPU that it does not list."""
    seen: dict[int, tuple[SeenGpu, str]] = {}
    whole: tuple[str, int] | None = None
    for file, output in ((file, output) for file, found in outputs.items() for output in found if output.gpus):
        count = len(output.gpus)
        if output.every_gpu and (strange := _numbers("g", [output]) - {gpu.index for gpu in output.gpus}):
            raise NearfarError(
                f"{file}: has figures of GPU {min(strange)}, and lists {count} GPUs: the file was edited, or cut"
            )
        if output.every_gpu and whole is not None and whole[1] != count:
            other, advice = (
                (f"{whole[0]} {whole[1]}", _ONE_NODE) if whole[0] != file else (f"{whole[1]} above", _ONE_OF)
            )
            raise NearfarError(f"{file}: lists {count} GPUs, and {other}: {advice}")
        whole = (file, count) if output.every_gpu else whole
        for gpu in output.gpus:
            if gpu.name and _MARKUP.search(gpu.name):
                raise CouldNotJudge(f"{file}: {gpu.name[:60]!r} is not a GPU name")
            before, other = seen.setdefault(gpu.index, (gpu, file))
            names = {_plain(one.name) for one in (gpu, before) if one.name}
            if len(names) > 1 or len({_bus_id(one.pci) for one in (gpu, before) if one.pci}) > 1:
                words = f"{_described(gpu)}, and in {other} {_described(before)}"
                raise NearfarError(f"{file}: GPU {gpu.index} is {words}: {_ONE_NODE}")
            if gpu.pci and not before.pci:
                seen[gpu.index] = gpu, file
    return {index: gpu for index, (gpu, _) in seen.items()}


def _described(gpu: SeenGpu) -> str:
    """``a Tesla K80 at 0000:14:00.0``, as far as it is known."""
    return " ".join([f"a {gpu.name}" if gpu.name else "a GPU", *([f"at {gpu.pci}"] if gpu.pci else [])])


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
    return " ".join(re.sub(r"(?i)^(?:nvidia|amd)\s+|\btesla\s+|\binstinct\s+", "", name).lower().split())


def _listed(gpus: Sequence[SeenGpu], memories: int, gpu_links: Mapping[str, Mapping[str, int]]) -> Node:
    """A node as the tools list it. Pairs of GPUs are of an unknown class, but those that NVSwitch joins."""
    if all(re.search(r"\.\d$", _bus_id(gpu.pci or "")) for gpu in gpus):
        gpus = sorted(gpus, key=lambda gpu: bus_order(_bus_id(gpu.pci or "")))
    one = memories == 1
    notes = [
        "its packages were not given"
        if not one
        else "its topology was not given: host memory is shown as one NUMA node"
    ]
    models = {gpu.name for gpu in gpus}
    if unnamed := [str(index) for index, gpu in enumerate(gpus) if gpu.name is None]:
        which = "its GPUs" if len(unnamed) == len(gpus) else f"GPU{'s' * (len(unnamed) > 1)} {', '.join(unnamed)}"
        notes.append(
            f"the model of {which} was not given: what is usual for it judges nothing; give --node TYPE, or its XML"
        )
    known = gpu_links.get(models.pop() or "", {}) if len(models) == 1 else {}
    joined = "unknown"
    if len(gpus) == _SWITCHED and known.get("nvlinks") and known.get("nvlink_generation", 0) >= 3:
        joined = f"NV{known['nvlinks']}"
        notes.append(f"eight GPUs of this model are taken to be joined by NVSwitch ({joined})")
    elif len(gpus) > 1:
        notes.append(
            "pairs of GPUs are of an unknown class: name nvidia-smi topo -m or rocm-smi --showtopo of the node, too"
        )
    places = [_bus_id(gpu.pci) if gpu.pci else unknown_pci(index) for index, gpu in enumerate(gpus)]
    made = tuple(
        Gpu(index, place, name=gpu.name, numa_node=0 if one else gpu.numa)
        for index, (place, gpu) in enumerate(zip(places, gpus))
    )
    peers = {(a, b): joined for a in range(len(made)) for b in range(a + 1, len(made))}
    numa_nodes = tuple(NumaNode(index, None, (), SOME_MEMORY) for index in range(memories))
    return Node("", (), numa_nodes, made, peers=peers, notes=tuple(notes))
