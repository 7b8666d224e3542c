"""Faults: what they leave of each column, nodes × nights × columns (or an array that broadcasts to it)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.simulated_nights import FAULTS, PATHS

from .columns import columns

#: A fault begins on this night; before, the node is healthy.
ONSET = 30
#: Copies with the host of the nodes whose driver is the new one.
DRIVER = 0.985
#: Of nodes whose ranks are bound to the other package, or whose NPS setting is another: lone copies, sums, STREAM (assumed).
BINDING = {"h2d": 0.88, "d2h": 0.90, "sum": 0.80, "stream": 0.70}
#: The part of the nights with an intermittent fault.
INTERMITTENT = 0.2
#: A fleet that is upgraded node by node takes so many nights.
ROLLING = 14

Left = Callable[[int, int, np.random.Generator], np.ndarray]


@dataclass(frozen=True)
class FleetFault:
    """``left(nodes, nights, source)``; ``words``: the words that find it; ``of_fleet``: it is no fault of a node."""

    left: Left
    words: tuple[str, ...] = ("FAIL",)
    of_fleet: bool = False


def steadily(name: str) -> np.ndarray:
    """What a fault of ``simulated_nights`` leaves of each column."""
    return np.array([FAULTS[name](PATHS[each.cell].cell)[0] for each in columns()])


def _steady(name: str) -> Left:
    own = steadily(name)
    return lambda nodes, nights, source: _since(nights, own)


def _since(nights: int, own: np.ndarray) -> np.ndarray:
    found = np.ones((1, nights, len(own)))
    found[:, ONSET:] = own
    return found


def _intermittent(nodes: int, nights: int, source: np.random.Generator) -> np.ndarray:
    own = steadily("NVLink lane")
    there = source.random((nodes, nights)) < INTERMITTENT
    there[:, :ONSET] = False
    return np.where(there[:, :, None], own, 1.0)


def _step(nodes: int, nights: int, source: np.random.Generator) -> np.ndarray:
    """One lone H2D path, by one per cent."""
    return _since(nights, np.array([0.99 if each.path.cell == "n0:g0" else 1.0 for each in columns()]))


def _host_copies(left: float) -> np.ndarray:
    return np.array([left if "n0" in each.path.cell and each.path.kind != "stream" else 1.0 for each in columns()])


def _binding(nodes: int, nights: int, source: np.random.Generator) -> np.ndarray:
    return _since(nights, np.array([BINDING.get(each.path.kind, 1.0) for each in columns()]))


def drift(per_week: float) -> Left:
    """One lone H2D path, linearly in time."""

    def left(nodes: int, nights: int, source: np.random.Generator) -> np.ndarray:
        found = np.ones((1, nights, len(columns())))
        own = next(number for number, each in enumerate(columns()) if each.path.cell == "n0:g0")
        found[0, ONSET:, own] -= per_week / 7 * np.arange(1, nights - ONSET + 1)
        return found

    return left


def driver_nights(nodes: int, nights: int, rolling: bool) -> np.ndarray:
    """The night on which each node gets the new driver."""
    return ONSET + (np.arange(nodes) * ROLLING // nodes if rolling else np.zeros(nodes, int))


def _driver(rolling: bool) -> Left:
    def left(nodes: int, nights: int, source: np.random.Generator) -> np.ndarray:
        new = np.arange(nights)[None] >= driver_nights(nodes, nights, rolling)[:, None]
        return np.where(new[:, :, None], _host_copies(DRIVER), 1.0)

    return left


FLEET_FAULTS: dict[str, FleetFault] = {
    "NVLink lane": FleetFault(_steady("NVLink lane")),
    "half of PCIe": FleetFault(_steady("half of PCIe")),
    "memory channel": FleetFault(_steady("memory channel")),
    "copy engine -3 %": FleetFault(_steady("copy engine -3 %")),
    "binding or NPS swapped": FleetFault(_binding),
    "lane, one night in five": FleetFault(_intermittent),
    "drift 0.1 %/week": FleetFault(drift(0.001), ("DEGRADED", "FAIL")),
    "drift 0.5 %/week": FleetFault(drift(0.005), ("DEGRADED", "FAIL")),
    "drift 1 %/week": FleetFault(drift(0.01), ("DEGRADED", "FAIL")),
    "step -1 %": FleetFault(_step, ("DEGRADED", "FAIL")),
    "driver -1.5 % at once": FleetFault(_driver(False), ("DEGRADED",), of_fleet=True),
    "driver -1.5 % rolling": FleetFault(_driver(True), ("DEGRADED",), of_fleet=True),
}
#: What bad nodes have, in turn.
BAD = ("NVLink lane", "half of PCIe", "memory channel", "copy engine -3 %")


def bad_nodes(count: int, share: float) -> np.ndarray:
    """What each of ``count`` nodes lacks from the first night on where ``share`` of them are bad, nodes × columns."""
    found = np.ones((count, len(columns())))
    for number in range(round(share * count)):
        found[number] = steadily(BAD[number % len(BAD)])
    return found
