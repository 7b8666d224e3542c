"""The launch lines of a placement, from the templates of ``site/templates/bind/``; a site's own directory comes first."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterable, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

from nearfar.base import NearfarError, site_templates
from nearfar.topology import Node, format_cpu_list

from . import launchers
from .locality import is_ethernet
from .open_mpi import map_by, open_mpi_slots
from .placement import Placement

#: What a launch line can be made for.
FORMS = (*launchers.forms(), "numactl", "taskset", "openmp")
#: What binds itself: a function in a program's own language, by the form's template.
SNIPPETS = {"c": "c.c.j2", "python": "python.py.j2"}


def render(
    form: str,
    node: Node,
    placements: Sequence[Placement],
    explanation: Sequence[str] = (),
    program: Sequence[str] = (),
    directories: Sequence[Path] | None = None,
) -> str:
    """The bash script that starts ``program`` (or its own arguments) at these places, or refuses with exit code 2; of ``SNIPPETS`` the
    function that binds the program that calls it.

    ``explanation`` are sentences for its comment, ``directories`` the site directories (default: the user's, then the
    checkout's). Raises ``NearfarError`` for a form that is none of these and for a template that is wrong.
    """
    if form not in (*FORMS, *SNIPPETS):
        raise NearfarError(f"'{form}': expected one of {', '.join((*FORMS, *SNIPPETS))}")
    file = SNIPPETS.get(form, f"{form}.sh.j2")
    return site_templates.render(f"bind/{file}", _values(form, node, placements, explanation, program), directories)


def _values(
    form: str, node: Node, placements: Sequence[Placement], explanation: Sequence[str], program: Sequence[str]
) -> dict[str, Any]:
    """The names that a template of site/templates/bind can use, with their values."""
    gpus = [p.gpu for p in placements if p.gpu is not None]
    every_gpu_once = gpus == [gpu.index for gpu in node.gpus]
    slots, logical_slots = open_mpi_slots(node, placements)
    regular, why_not = map_by(node, placements)
    return {
        "bound_by": form,
        "local_rank": reduce(lambda rest, name: f"${{{name}-{rest}}}", reversed(launchers.local_rank_variables()), ""),
        "rank_variables": launchers.local_rank_variables(),
        "ranks": len(placements),
        "rows": [_row(node, placement) for placement in placements],
        "widest": max(1, *(len(p.cpus) for p in placements)),
        "with_gpus": bool(gpus),
        "visible_devices": "ROCR_VISIBLE_DEVICES" if node.not_measured else "CUDA_VISIBLE_DEVICES",
        "by_uuid": named_by_uuid(node, placements),
        "with_nics": any(_network(p) for p in placements),
        "split": any(p.mpi_cpus != p.gpu_cpus for p in placements),
        "shared": any(p.shared for p in placements),
        "free": any(p.free for p in placements),
        "explanation": comment(explanation),
        "program": shlex.join(program),
        "cpu_masks": ",".join(mask(p.cpus) for p in placements),
        "mem_bind": _memory_option(placements),
        "gpus_per_node": len(node.gpus),
        "slurm_gpus": ("--gpus-per-task=1" if every_gpu_once else f"--gpus-per-node={len(node.gpus)}")
        + f" --gpu-bind=map_gpu:{','.join(map(str, gpus))}",
        "user_binding": ",".join("+".join(map(str, p.cpus)) for p in placements),
        "slots": slots,
        "logical_slots": logical_slots,
        "map_by": regular,
        "no_map_by": why_not,
    }


def _row(node: Node, placement: Placement) -> dict[str, str | int]:
    gpu = None if placement.gpu is None else node.gpu(placement.gpu)
    threads = [*placement.mpi_cpus, *(c for c in placement.gpu_cpus if c not in placement.mpi_cpus)]
    return {
        "cpus": format_cpu_list(placement.cpus),
        "each_cpu": " ".join(map(str, placement.cpus)),
        "memories": format_cpu_list(placement.memory_nodes),
        "memory_list": ", ".join(map(str, placement.memory_nodes)),
        "memory_mask": mask(placement.memory_nodes),
        "places": "" if placement.free else ",".join(f"{{{cpu}}}" for cpu in threads),
        "threads": placement.threads or len(threads),
        "gpu": "" if gpu is None else gpu.index,
        "uuid": (gpu.uuid if gpu is not None else None) or "",
        "nic": _network(placement),
        "mpi_cpus": format_cpu_list(placement.mpi_cpus),
        "gpu_cpus": format_cpu_list(placement.gpu_cpus),
    }


def named_by_uuid(node: Node, placements: Sequence[Placement]) -> bool:
    """Are GPUs named by their UUIDs? CUDA counts only those that the driver shows to a process: where some are hidden,
    their numbers here are not CUDA's. Else the numbers count, which mean the same on every node of the type."""
    uuids = {gpu.index: gpu.uuid for gpu in node.gpus}
    hidden = any(not gpu.visible for gpu in node.gpus)
    return hidden and all(uuids[p.gpu] for p in placements if p.gpu is not None)


def _network(placement: Placement) -> str:
    """The NIC that MPI is told to use: the user's word, else a fabric's; plain Ethernet needs no telling."""
    if placement.nic is None or (not placement.nic_chosen and is_ethernet(placement.nic)):
        return ""
    return placement.nic


def mask(numbers: Iterable[int]) -> str:
    """The numbers as a hexadecimal mask: ``0x15`` for 0, 2 and 4."""
    return hex(sum(1 << number for number in set(numbers)))


def _memory_option(placements: Sequence[Placement]) -> str:
    if all(len(p.memory_nodes) == 1 for p in placements):
        return "map_mem:" + ",".join(str(p.memory_nodes[0]) for p in placements)
    return "mask_mem:" + ",".join(mask(p.memory_nodes) for p in placements)


def comment(sentences: Sequence[str]) -> str:
    """The sentences as a shell comment, a paragraph each."""
    lines = [line for sentence in sentences for line in textwrap.wrap(sentence, 118, break_long_words=False)]
    return "\n".join(f"# {line}" for line in lines) or "#"
