"""Load balance: what each rank does of an iteration under each binding, and the efficiencies, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nearfar.mpi import load_balance
from nearfar.report.blocks import Table, words_table
from nearfar.report.figures import number

_PARTS = ("to_device", "compute", "to_host")
_COLUMNS = (
    "to the device",
    "kernel",
    "to the host",
    "else",
    "waiting for the other ranks",
    "an iteration",
    "CPUs",
    "memory of NUMA node",
)
_TITLES = {"default": "As launched", "gpu": "Bound beside the GPUs", "wrong": "Bound to the farthest NUMA nodes"}


def balances(document: Mapping[str, Any]) -> list[Table]:
    """A table for each binding that was measured: the parts of an iteration, and the binding in effect, of each rank."""
    known = load_balance.results(document)
    found: list[Table] = []
    for binding in (word for word in load_balance.BINDINGS if (word, "waiting") in known):
        parts = {what: _medians(known[binding, what]) for what in (*_PARTS, "useful", "waiting")}
        rows = []
        for part in known[binding, "useful"]["flows"]:
            rank = str(part["flow"])
            *steps, useful, waiting = (parts[what][rank] for what in parts)
            times = (*steps, max(0.0, useful - sum(steps)), waiting, max(useful, sum(steps)) + waiting)
            nodes = ", ".join(map(str, part.get("memory_nodes") or ["not reported"]))
            rows.append((rank.replace("rank", "rank "), *map(number, times), part.get("cpus", "not reported"), nodes))
        gpu = not str(known[binding, "useful"]["quantity"]).startswith(load_balance.FAMILIES[1])
        title = f"{_TITLES[binding]}{'' if gpu else ' (host memory in place of GPUs)'}"
        found += words_table(title, f"ms; {_efficiencies(binding, known)}", _COLUMNS, rows)
    return found


def _medians(result: Mapping[str, Any]) -> dict[str, float]:
    """ms, by rank."""
    return {str(part["flow"]): float(part["rate"]["median"]) for part in result["flows"]}


def _efficiencies(binding: str, known: Mapping[tuple[str, str], Mapping[str, Any]]) -> str:
    names = ("load_balance", "communication_efficiency", "parallel_efficiency")
    parts = {name: _whole(known[binding, name]) for name in names if (binding, name) in known}
    shown = [f"{name.replace('_', ' ')} {100 * part:.0f} %" for name, part in parts.items()]
    if time := known.get((binding, "run_time")):
        shown.append(f"{number(_whole(time))} ms an iteration")
    return ", ".join(shown)


def _whole(result: Mapping[str, Any]) -> float:
    """Of all ranks together."""
    return next(iter(_medians(result).values()))
