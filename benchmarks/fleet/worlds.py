"""Worlds that fleets live in: how healthy nodes differ, and what comes over them that is no fault. Amplitudes, periods and lengths are
drawn at random in their ranges, so that no rule is fitted to them; another seed is another draw."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from benchmarks.simulated_nights import BETWEEN, NOISE, PATHS

#: Columns of a level: host memory to a GPU and what shares it, back, host memory itself.
_H2D = np.array(["n0:g" in path.cell or path.kind == "stream" for path in PATHS])
_D2H = np.array([":n0" in path.cell and "n0:g" not in path.cell for path in PATHS])
_STREAM = np.array([path.kind == "stream" for path in PATHS])
_HOST = _H2D | _D2H


@dataclass(frozen=True)
class World:
    """How healthy nodes differ, and what happens to them. Parts of a figure, unless said otherwise."""

    #: Standard deviation from node to node, in multiples of ``BETWEEN``; the share of its variance that a node's paths have in common.
    between: float = 1.0
    common: float = 0.0
    #: ``normal``, ``ceiling`` (exponential below one), ``heavy`` (Student's t with four degrees).
    tail: str = "normal"
    #: The part of the node-nights on which unseen load begins, for how many nights it stays, and what it takes of host memory.
    load: float = 0.0
    load_nights: int = 1
    load_takes: tuple[float, float] = (0.05, 0.35)
    #: Single runs that lose ``wild_takes`` of one figure.
    wild: float = 0.0
    wild_takes: tuple[float, float] = (0.02, 0.15)
    #: All figures of the host's paths swing by so much in so many nights.
    season: float = 0.0
    season_nights: float = 60.0
    #: Racks of sixteen nodes: on this part of their nights their host paths are lower by ``rack_takes``.
    rack: float = 0.0
    rack_takes: tuple[float, float] = (0.005, 0.03)
    #: After a boot, each so many nights on average, half of the nodes' host paths are lower by ``boot_takes``.
    boot_takes: float = 0.0
    boot_nights: float = 10.0
    #: Half of the nodes have memory of a second vendor, slower by so much.
    vendor: float = 0.0
    #: What a flow of several gets swings from night to night by so much more.
    shares: float = 0.0


def drawn(name: str, source: np.random.Generator) -> World:
    """A world of this name, its parameters drawn."""
    u = source.uniform
    made: dict[str, World] = {
        "plain": World(),
        "ceiling": World(tail="ceiling"),
        "heavy tails": World(between=u(0.8, 1.4), common=u(0.2, 0.7), tail="heavy"),
        "alike paths": World(between=u(0.8, 1.5), common=u(0.5, 0.9)),
        "wide": World(between=u(1.5, 2.2), common=u(0.2, 0.7)),
        "wild runs": World(wild=u(0.001, 0.004)),
        "unseen load": World(load=u(0.01, 0.06)),
        "load for nights": World(load=u(0.004, 0.015), load_nights=int(source.integers(2, 6))),
        "season": World(season=u(0.003, 0.007), season_nights=u(40, 120)),
        "racks": World(rack=u(0.02, 0.1)),
        "boot modes": World(boot_takes=u(0.01, 0.018), boot_nights=u(5, 25)),
        "two vendors": World(vendor=u(0.04, 0.07)),
        "uneven shares": World(shares=u(0.02, 0.08)),
    }
    return made[name]


NAMES = (
    "plain", "ceiling", "heavy tails", "alike paths", "wide", "wild runs", "unseen load", "load for nights", "season", "racks",
    "boot modes", "two vendors", "uneven shares",
)  # fmt: skip


def on(world: World, host: str) -> World:
    """The world as a kind of host has it: shared ones have neighbours on one night in a hundred at least."""
    return replace(world, load=max(world.load, 0.01)) if host == "shared" else world


def _between(world: World, shape: tuple[int, int], source: np.random.Generator) -> np.ndarray:
    def draws(shape: tuple[int, int]) -> np.ndarray:
        if world.tail == "ceiling":
            return np.asarray(1 - source.exponential(1.0, shape))
        if world.tail == "heavy":
            return np.asarray(source.standard_t(4, shape) / np.sqrt(2))
        return source.standard_normal(shape)

    own, together = draws(shape), draws((shape[0], 1))
    return BETWEEN * world.between * (np.sqrt(1 - world.common) * own + np.sqrt(world.common) * together)


def levels(
    world: World, host: str, nodes: int, nights: int, source: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """What each cell has on each night, nodes × nights × cells, as parts of the nominal figures; and which node-nights had unseen load."""
    shape = (nodes, nights, len(PATHS))
    night = np.array([NOISE[host][path.kind].night for path in PATHS])
    found = 1 + _between(world, (nodes, len(PATHS)), source)[:, None] + night * source.standard_normal(shape)
    if world.vendor:
        found[source.random(nodes) < 0.5] *= 1 - world.vendor * _STREAM
    if world.season:
        phase = source.uniform(0, 2 * np.pi)
        swing = world.season * np.sin(2 * np.pi * np.arange(nights) / world.season_nights + phase)
        found *= 1 + swing[None, :, None] * _HOST
    if world.rack:
        racks = -(-nodes // 16)
        takes = np.where(
            source.random((racks, nights)) < world.rack, source.uniform(*world.rack_takes, (racks, nights)), 0
        )
        found *= 1 - np.repeat(takes, 16, axis=0)[:nodes, :, None] * _HOST
    if world.boot_takes:
        boots = np.cumsum(source.random((nodes, nights)) < 1 / world.boot_nights, axis=1)
        modes = source.random((nodes, nights + 1)) < 0.5
        low = np.take_along_axis(modes, boots, axis=1)
        found *= 1 - world.boot_takes * low[:, :, None] * _HOST
    if world.shares:
        several = np.array(["+" in path.cell for path in PATHS])
        found *= 1 + world.shares / 2 * source.standard_normal(shape) * several
    loaded = np.zeros((nodes, nights), dtype=bool)
    if world.load:
        begins, strength = (
            source.random((nodes, nights)) < world.load,
            source.uniform(*world.load_takes, (nodes, nights)),
        )
        takes = np.zeros((nodes, nights))
        for later in range(min(world.load_nights, nights)):
            takes[:, later:] = np.maximum(takes[:, later:], (begins * strength)[:, : nights - later])
        loaded = takes > 0
        found *= 1 - takes[:, :, None] * (_H2D + 0.05 * _D2H)
    return found, loaded


def wild(world: World, shape: tuple[int, ...], source: np.random.Generator) -> np.ndarray | float:
    """What single runs leave of their figures."""
    if not world.wild:
        return 1.0
    return 1 - np.where(source.random(shape) < world.wild, source.uniform(*world.wild_takes, shape), 0)
