"""The parts of a node that break as one, each with the capacities that it carries; one that is blamed, and by how much it is degraded.
Links that are slow alike are one bridge, where they are those of all GPUs behind it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from nearfar.base import NearfarError, did_you_mean, grouped, listed
from nearfar.cells import Cell, parsed
from nearfar.model.prediction import NodeType, healthy_value, link_of, switches
from nearfar.topology import shared_uplinks

from . import thresholds

#: Names of capacities, and the part that carries them beside others: (pattern, name of the part, what it is).
_WHOLE = (
    (r"g(\d+)\.(?:h2d|d2h|both|(?:peers|staged)_(?:in|out))", "g{0}.link", "GPU {0}'s {link}"),
    (r"g(\d+)\.(?:out|in)", "g{0}.nvlink", "GPU {0}'s NVLink to the switch"),
    (r"switch:(.+)\.(?:up|down|both)", "switch:{0}", "the uplink of PCIe bridge {0} above {above}"),
    (r"n(\d+)\.memory", "n{0}.memory", "the memory of NUMA node {0}"),
    (r"g(\d+)\.memory", "g{0}.memory", "GPU {0}'s memory"),
)
#: Capacities of one direction, which breaks alone: (pattern, what it is).
_ONE_WAY = (
    (r"g(\d+)\.h2d", "GPU {0}'s {link} from host to device"),
    (r"g(\d+)\.d2h", "GPU {0}'s {link} from device to host"),
    (r"g(\d+)\.out", "GPU {0}'s NVLink into the switch"),
    (r"g(\d+)\.in", "GPU {0}'s NVLink out of the switch"),
    (r"switch:(.+)\.up", "the uplink of PCIe bridge {0} from {above} to the host"),
    (r"switch:(.+)\.down", "the uplink of PCIe bridge {0} from the host to {above}"),
    (r"p(\d+)-p(\d+)", "the link from package {0} to package {1}"),
)
#: A GPU's link to the host in words.
_LINKS = {"pcie": "PCIe link", "nvlink": "host NVLink", "c2c": "C2C link"}


@dataclass(frozen=True)
class Part:
    """What breaks as one: ``capacities`` by name, all multiplied by one factor. ``description`` says what it is."""

    name: str
    capacities: tuple[str, ...]
    description: str


def parts_of(node_type: NodeType) -> list[Part]:
    """Every part that the node type's capacities imply, in their order.

    A GPU's link as a whole and each of its directions; a NUMA node's memory; the link between two packages, a PCI bridge's
    uplink and a GPU's lanes to an NVLink switch, as a whole and each direction; a pair of GPUs.
    """
    by_name: dict[str, tuple[list[str], str]] = {}

    def add(name: str, capacity: str, description: str) -> None:
        by_name.setdefault(name, ([], description))[0].append(capacity)

    devices = shared_uplinks(node_type.node)
    for name in node_type.capacities:
        bridge = re.match(r"switch:(.+)\.", name)
        below = devices.get(bridge[1], ()) if bridge else ()
        named = [re.sub(r"^g(\d+)$", r"GPU \1", each) for each in below]
        above = " and ".join(named) if len(named) < 3 else listed(named)
        gpu = re.match(r"g(\d+)\.", name)
        owner = node_type.node.gpu(int(gpu[1])) if gpu else None
        link = _LINKS[owner.link.kind if owner is not None else "pcie"]
        for pattern, whole, description in _WHOLE:
            match = re.fullmatch(pattern, name)
            if match:
                add(whole.format(match[1]), name, description.format(match[1], above=above, link=link))
        packages = re.fullmatch(r"p(\d+)-p(\d+)", name)
        if packages:
            a, b = sorted(map(int, packages.groups()))
            add(f"p{a}-p{b}.link", name, f"the link between packages {a} and {b}")
        # What a GPU's link carries of copies between GPUs goes with the link's direction.
        way = link_of(name) or name
        for pattern, description in _ONE_WAY:
            match = re.fullmatch(pattern, way)
            if match:
                add(way, name, description.format(*match.groups(), above=above, link=link))
    for cell, cap in node_type.caps.items():
        if {flow.kind for flow in cell.flows} == {"peer"} and len({frozenset(flow.gpus) for flow in cell.flows}) == 1:
            a, b = sorted(cell.flows[0].gpus)
            if not any(flow.staged for flow in cell.flows):
                add(f"g{a}-g{b}.link", cap.name, f"the link between GPUs {a} and {b}")
    return [Part(name, tuple(names), description) for name, (names, description) in by_name.items()]


def parts_seen(parts: Iterable[Part], crossed: Collection[str]) -> list[Part]:
    """The parts by what of them was measured: without the capacities that no cell crosses, and of those that are then alike the
    smallest alone (with one direction measured, that direction and not the whole link)."""
    smallest: dict[tuple[str, ...], Part] = {}
    for part in parts:
        seen = tuple(name for name in part.capacities if name in crossed)
        other = smallest.get(seen)
        if seen and (other is None or len(part.capacities) < len(other.capacities)):
            smallest[seen] = part
    return [_named(part, seen) for seen, part in smallest.items()]


def _named(part: Part, seen: tuple[str, ...]) -> Part:
    """A pair of GPUs of which one direction was measured alone says so."""
    one_way = len(seen) == 1 < len(part.capacities) and re.match(r"g\d+-g", part.name)
    words = f"{part.description}, measured in one direction alone ({seen[0]})" if one_way else part.description
    return replace(part, capacities=seen, description=words)


def degraded_by(faults: Iterable[str], node_type: NodeType) -> dict[str, float]:
    """The factor of each capacity of faults as ``--degrade`` takes them: ``g0.d2h=0.5`` a capacity, ``g0.link=0.5`` all known ones of a
    part; of a capacity the last counts. Raises ``NearfarError`` where a fault is not of that form."""
    return {name: factor for fault in faults for name, factor in _by_capacity(*_factor(fault), node_type)}


def _factor(text: str) -> tuple[str, float]:
    name, equals, value = text.rpartition("=")
    try:
        factor = float(value if equals else "")
    except ValueError:
        raise NearfarError(f"--degrade {text}: expected PART=FACTOR, such as g0.d2h=0.5 or g0.link=0.5") from None
    if not 0 < factor <= 1:
        raise NearfarError(f"--degrade {text}: a factor is above 0 and at most 1, such as 0.5")
    return name, factor


def _by_capacity(name: str, factor: float, node_type: NodeType) -> Iterator[tuple[str, float]]:
    """The factor of each capacity that a part's name stands for; any other name is a capacity's own."""
    values = {item.name: healthy_value(item, node_type) for item in node_type.capacities.values()}
    values |= {item.name: item.value for item in node_type.caps.values()}
    parts = parts_of(node_type)
    part = next((item for item in parts if item.name == name), None)
    if part is None and name not in values and not parsed(name):
        known_parts = [item.name for item in parts if any(values[each] is not None for each in item.capacities)]
        hint = did_you_mean(name, known_parts, else_all=False)
        parts_text = ", ".join(_ranges(known_parts)) or "none of which anything is known"
        raise NearfarError(
            f"--degrade {name}={factor:g}: {node_type.name} has no such part{hint}; its parts: {parts_text}"
        )
    known = [capacity for capacity in (part.capacities if part else ()) if values[capacity] is not None]
    # Of a part that nobody knows anything of, the first says why it cannot be degraded.
    for capacity in known or (part.capacities[:1] if part else (name,)):
        yield capacity, factor


def _ranges(names: Iterable[str]) -> Iterator[str]:
    """The names, those that differ by numbers alone as ``g0.link to g5.link``."""
    for group in grouped((re.sub(r"\d+", "#", name), name) for name in names).values():
        yield group[0] if len(group) == 1 else f"{group[0]} to {group[-1]}"


@dataclass(frozen=True)
class DegradedPart:
    """A degraded part: its capacities times ``factor`` (``low`` to ``high``: 95 %). ``now`` has each capacity's value
    in GB/s, ``healthy`` what the factor counts from; for ``unknown`` ones, whose own value nobody knows, that is the
    most that healthy cells ask."""

    part: Part
    factor: float
    low: float
    high: float
    now: Mapping[str, float]
    healthy: Mapping[str, float]
    unknown: tuple[str, ...]

    @property
    def certain(self) -> bool:
        """Whether its factor is known well enough to call it degraded."""
        return self.high <= thresholds.SLIGHT and self.high - self.low <= thresholds.WIDEST


#: A capacity of a GPU's link, and the bridge's that stands for it.
_OF_BRIDGE = {"h2d": "down", "d2h": "up"}


def bridge_of_links(
    blames: Sequence[DegradedPart], node_type: NodeType, bad: Collection[Cell]
) -> tuple[DegradedPart, ...]:
    """The bridge in place of its GPUs' links, where these are all that is blamed and as slow as each other, and no copy between the GPUs
    behind it, which does not cross its uplink, is among the ``bad`` cells; else ``blames``."""
    found = [m for blame in blames if (m := re.fullmatch(r"g(\d+)\.(link|h2d|d2h)", blame.part.name))]
    gpus, ways = {int(match[1]) for match in found}, {match[2] for match in found}
    if len(gpus) < 2 or len(found) < len(blames) or len(ways) > 1:
        return tuple(blames)
    bridge = next((name for name, behind in switches(node_type.node).items() if set(behind) == gpus), None)
    alike = max(blame.low for blame in blames) <= min(blame.high for blame in blames)
    inside = any({f.kind for f in cell.flows} == {"peer"} and set(cell.gpus) <= gpus for cell in bad)
    if bridge is None or not alike or inside:
        return tuple(blames)
    way = ways.pop()
    name = f"switch:{bridge}" + (f".{_OF_BRIDGE[way]}" if way in _OF_BRIDGE else "")
    shared = {own: f"switch:{bridge}.{whole}" for own, whole in _OF_BRIDGE.items() if way in (own, "link")}
    part = next(part for part in parts_of(node_type) if part.name == name)
    return (
        DegradedPart(
            replace(part, capacities=tuple(shared.values())),
            sum(blame.factor for blame in blames) / len(blames),
            min(blame.low for blame in blames),
            max(blame.high for blame in blames),
            _most([blame.now for blame in blames], shared),
            _most([blame.healthy for blame in blames], shared),
            tuple(shared.values()),
        ),
    )


def _most(links: Sequence[Mapping[str, float]], shared: Mapping[str, str]) -> dict[str, float]:
    """Of each of the bridge's capacities the most that a link has of its own."""
    values: dict[str, float] = {}
    for link in links:
        for name, value in link.items():
            whole = shared.get(name.partition(".")[2])
            if whole is not None:
                values[whole] = max(value, values.get(whole, 0.0))
    return values
