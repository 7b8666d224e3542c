"""Which nodes a sweep is about, and what a job on each has to ask for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from nearfar.base import CouldNotJudge, NearfarError
from nearfar.slurm.controller import ORIGIN, NodeState, Slurm, node_names, reservations

from .slurmctld import partition_nodes

#: GRES that hand out parts of a GPU; a job that has the whole GPU cannot have them too.
_SHARED = ("mps", "shard")


def choose(slurm: Slurm, partition: str, nodes: str | None, reservation: str | None) -> list[str]:
    """The names of the nodes: those of the list or of the reservation, else all of the partition. Raises ``NearfarError`` for names that
    the partition or reservation lacks, and what ``partition_nodes`` raises."""
    wanted = all_of_it = partition_nodes(slurm, partition)
    if nodes is not None:
        wanted = node_names.listed(nodes, "--nodes")
        _all_in(wanted, all_of_it, f"--nodes {nodes}", f"partition {partition}")
    if reservation is None:
        return wanted
    reserved = _reserved(slurm, reservation)
    if nodes is not None:
        _all_in(wanted, sorted(reserved), f"--nodes {nodes}", f"reservation {reservation}")
    wanted = [node for node in wanted if node in reserved]
    if not wanted:
        raise NearfarError(f"reservation {reservation} has no node of partition {partition}")
    return wanted


def _reserved(slurm: Slurm, name: str) -> frozenset[str]:
    found = next((each for each in reservations.show(slurm) if each.name == name), None)
    if found is None:
        words = "Slurm has no such reservation; scontrol show reservation lists them"
        raise NearfarError(f"--reservation {name}: {words}")
    if found.state != "ACTIVE":
        raise CouldNotJudge(f"reservation {name} is {found.state}: no job starts in it now")
    return found.nodes


def _all_in(wanted: Sequence[str], known: Sequence[str], what: str, where: str) -> None:
    absent = sorted(set(wanted) - set(known))
    if absent:
        raise NearfarError(f"{what}: {node_names.fold(absent)} not in {where} (which has {node_names.fold(known)})")


def gres(node: NodeState) -> str:
    """All of a node's GRES as sbatch's ``--gres`` takes them; empty where it has none."""
    listed = node.fields.get("Gres", "")
    found = []
    # gpu:h100:8(S:0-1),nvme:2: commas also stand within the parentheses.
    for entry in re.split(r",(?![^()]*\))", listed):
        words = re.sub(r"\(.*", "", entry).split(":")
        if words[0] and not entry.startswith("(null)") and words[0] not in _SHARED and words[-1] != "0":
            found.append(":".join(word for word in words if word != "no_consume"))
    return ",".join(found)


def gpus(listed: str) -> int:
    """How many GPUs are among GRES as ``gres`` gives them; in MIG mode they may be instances."""
    found = 0
    for name, *words in (entry.split(":") for entry in listed.split(",")):
        if name == "gpu":
            found += int(words[-1]) if words and words[-1].isdecimal() else 1
    return found


def first_objection(
    names: Sequence[str], nodes: Mapping[str, NodeState], objection: Callable[[NodeState | None], str | None]
) -> str | None:
    """The first objection to one of these nodes, with its name where there are several."""
    for name in names:
        why = objection(nodes.get(name))
        if why is not None:
            return why if len(names) == 1 else f"{name}: {why}"
    return None


def refusal(node: NodeState | None) -> str | None:
    """Why no job can start on a node now, in words; None where one can, if only after others have ended."""
    if node is None:
        return "Slurm shows no such node any more"
    who = f" by {node.reason_by}" if node.reason_by else ""
    when = f" at {node.reason_at:%Y-%m-%dT%H:%M:%SZ}" if node.reason_at else ""
    why = f": {' '.join(node.reason.split())}" if node.reason else ""
    if node.drain:
        return f"drained{who}{when}{why}"
    if node.base == "DOWN" or node.flags & {"FAIL", "INVALID_REG", "INVAL"}:
        state = "down" if node.base == "DOWN" else "failing" if "FAIL" in node.flags else "wrongly registered"
        return f"{state}{who}{when}{why}"
    if node.base == "FUTURE":
        return "future: no machine has this name yet"
    return None


def occupation(node: NodeState | None) -> str | None:
    """Why a node is not exactly idle, in words; None where it is: up, no job, not planned for one, not reserved, not powered
    down, and answering."""
    if node is None or node.drain or node.down:
        return refusal(node) or "not responding"
    if node.idle:
        return None
    flags = ", ".join(sorted(node.flags - ORIGIN)).lower().replace("_", " ")
    return flags if node.base == "IDLE" else node.base.lower()
