"""What differs between the software that a reference was tuned with and that of now, and what it did to the fleet. Pure.

A reference of other software moves to where its fleet is, by the median of the nodes; where that is not known its bounds are wider by
an allowance (docs/references.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from nearfar.measurement import TIME_UNITS
from nearfar.verdict import thresholds

from .reference import Reference

#: The software of a node that the stamp of a reference may name.
SOFTWARE = ("driver", "cuda", "mps", "mpi")
_NAMES = {"cuda": "CUDA", "mps": "MPS", "mpi": "MPI", "version": "nearfar"}
#: How the bounds of a stale reference came to be.
MOVED, WIDENED = "moved", "widened"


@dataclass(frozen=True)
class FleetLevel:
    """What the figures of a reference entry (``near.h2d``) are on the nodes with one software; ``gpu_model`` None: without GPUs.

    ``software`` has the versions that are known, by the names in ``SOFTWARE``. ``value``: the median of ``nodes`` nodes' medians, in
    ``unit``, with its interval ``low`` to ``high``. ``first_seen``: the day of the first of these runs, as 2026-11-01.
    """

    partition: str
    check: str
    row: str
    gpu_model: str | None
    unit: str
    software: Mapping[str, str]
    value: float
    low: float
    high: float
    nodes: int
    first_seen: str

    def part(self, value: float) -> float:
        """By which part it is more than a ``value`` (-0.015: 1.5 % less)."""
        return self.value / value - 1


def name(software: str) -> str:
    """As people write it: ``CUDA``."""
    return _NAMES.get(software, software)


def changes(then: Mapping[str, str], now: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """By name, the versions of a stamp and of now, where they differ. What either does not name is the same."""
    return {key: (version, now[key]) for key, version in then.items() if now.get(key, version) != version}


def changed_words(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """What differs between the software of two runs: ``driver 580.95 -> 590.12``, ``version`` being nearfar's own."""
    names = [each for each in (*SOFTWARE, "version") if before.get(each) != after.get(each)]
    return ", ".join(f"{name(each)} {before.get(each, 'unknown')} -> {after.get(each, 'unknown')}" for each in names)


def words(software: Mapping[str, str]) -> str:
    """``driver 590.12, CUDA 13.1``."""
    return ", ".join(f"{name(key)} {version}" for key, version in software.items())


def signed_percent(part: float) -> str:
    """``−1.5 %``."""
    return f"{'−' if part < 0 else '+'}{abs(part) * 100:.1f} %"


def level_now(
    value: float, unit: str, levels: Iterable[FleetLevel], then: Mapping[str, str], now: Mapping[str, str]
) -> FleetLevel | None:
    """What the fleet has with the software of ``now`` of a reference's ``value``, tuned with ``then``: of the levels of its entry with that
    software the one of most nodes. None where there is none, or it is so far off that the fleet itself is to be looked into."""
    wanted = {key: now[key] for key in then if key in now}
    own = [level for level in levels if level.unit == unit and wanted.items() <= level.software.items()]
    best = max(own, key=lambda level: level.nodes, default=None)
    return None if best is None or abs(best.part(value)) > thresholds.MOST_SHIFT else best


def judged(
    reference: Reference, then: Mapping[str, str], now: Mapping[str, str], levels: Sequence[FleetLevel], lone: bool
) -> Reference:
    """A ``reference`` that was tuned with the software ``then`` as it judges a figure of ``now``. ``levels`` are those of its entry;
    ``lone``: it is of a copy alone. As long as nothing is known of the fleet, what is better than before has no bound."""
    changed = changes(then, now)
    old, new = (words({key: pair[which] for key, pair in changed.items()}) for which in (0, 1))
    fleet = level_now(reference.value, reference.unit, levels, then, now)
    if fleet is not None:
        part = fleet.part(reference.value)
        value = reference.value * (1 + part)
        below = above = 1 + part
        why = f"its fleet is at {signed_percent(part)} with {new} ({fleet.nodes} nodes)"
    else:
        value, allowance = reference.value, thresholds.LONE_ALLOWANCE if lone else thresholds.ALLOWANCE
        below, above = 1 - allowance, 1 + allowance
        why = (
            f"what {new} does to the fleet is not known, or more than a driver does (nearfar history --shifts): "
            f"bounds are {allowance * 100:.0f} % wider"
        )

    def scaled(bound: float | None, factor: float, part_of: float = 0.0) -> float | None:
        return None if bound is None else bound * factor / part_of - 1 if part_of else bound * factor

    found = replace(
        reference, value=value, lower=scaled(reference.lowest, below, value), upper=scaled(reference.highest, above, value),
        degraded_below=scaled(reference.degraded_below, below), degraded_above=scaled(reference.degraded_above, above),
        note=f"{reference.note}, with {old}; {why}", stale_bounds=WIDENED if fleet is None else MOVED,
    )  # fmt: skip
    if fleet is None and reference.unit in TIME_UNITS:
        found = replace(found, lower=None, degraded_below=None)
    elif fleet is None:
        found = replace(found, upper=None, degraded_above=None)
    return found.worded()
