"""What owners of real nodes published of nccl-tests (``site/published-collectives/``), beside what is expected there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from nearfar.base import NearfarError, SiteFile, plural, site_files
from nearfar.model import published_nodes
from nearfar.model.prediction import NodeType, implied_capacities

from .expectation import ExpectedBandwidth, Fabric, expected

FOLDER = "published-collectives"
#: From this size on, or from this many seconds on, latency is a small part of a run: these are counted in the summary.
LARGE, LONG = 256 << 20, 5e-3
#: A prediction so near is counted in the summary.
WITHIN = 0.15
_UNITS = {"G": 1 << 30, "M": 1 << 20, "K": 1 << 10, "": 1}


@dataclass(frozen=True, eq=False)
class CollectiveCapture:
    """One run: ``busbw`` in GB/s by size in bytes; ``cause`` and ``what`` of a problem, else None."""

    collective: str
    gpus: tuple[int, ...] | None
    nodes: int
    busbw: Mapping[int, float]
    algorithm: str | None
    transport: str | None
    cause: str | None
    what: str | None


@dataclass(frozen=True, eq=False)
class PublishedCollectives:
    """A node with the runs that were published of it."""

    name: str
    source: str
    used_for_fit: bool
    node_type: NodeType
    fabric: Fabric | None
    captures: tuple[CollectiveCapture, ...]


@dataclass(frozen=True, eq=False)
class CollectiveBeside:
    """A captured bus bandwidth beside what is expected there."""

    published: PublishedCollectives
    capture: CollectiveCapture
    bytes: int
    captured: float
    expected: ExpectedBandwidth

    @property
    def error(self) -> float:
        """The expected figure's relative error."""
        return self.expected.typical / self.captured - 1

    @property
    def counted(self) -> bool:
        """Whether the summary counts it: a run that was not posted as a problem, and large enough."""
        large = self.bytes >= LARGE or self.bytes / self.captured / 1e9 >= LONG
        return self.capture.cause is None and large


def size_in_bytes(text: str) -> int:
    """The bytes of a size as nccl-tests takes it: ``8``, ``32K``, ``1G``. Raises ``NearfarError``."""
    match = re.fullmatch(r"([0-9]{1,15})([KMG]?)B?", text.strip().upper())
    if match is None or int(match[1]) == 0:
        raise NearfarError(f"'{text}' is not a size: write it as 1048576, 32K, 256M or 1G")
    return int(match[1]) * _UNITS[match[2]]


def size_in_words(size: int) -> str:
    """``1 GiB``, ``1536 MiB``, ``1000 bytes``: in the largest unit that divides it."""
    unit = next(unit for unit, bytes in _UNITS.items() if size % bytes == 0)
    return f"{size // _UNITS[unit]} {unit}iB" if unit else plural(size, "byte")


def from_file(file: SiteFile) -> PublishedCollectives:
    """What a file says. Raises ``SiteFileError``."""
    file.check("published-collective-1")
    file.check_finite()
    data, name = file.data, file.path.stem
    if data["collectives"] != name:
        raise file.error(
            f"collectives: '{data['collectives']}' in a file called {name}.yaml: use one name for both", "collectives"
        )
    for key in data.get("assumed", {}):
        if key not in data["topology"]:
            raise file.error(f"assumed: {key}: is not a key of topology in this file", "assumed", key)
    node = published_nodes.topology_node(file, name)
    net = {key: value for key, value in data.get("fabric", {}).items() if key != "assumed"}
    result = PublishedCollectives(
        name=name,
        source=data["source"],
        used_for_fit=data["used_for_fit"],
        node_type=NodeType(
            name, node, implied_capacities(node), description=data["description"], source=data["source"], file=file.path
        ),
        fabric=Fabric(**net) if net else None,
        captures=tuple(_capture(file, place) for place in range(len(data["captures"]))),
    )
    for place, capture in enumerate(result.captures):
        try:
            beside(result, capture)
        except NearfarError as error:
            raise file.error(str(error), "captures", place) from None
    return result


def _capture(file: SiteFile, place: int) -> CollectiveCapture:
    entry = file.data["captures"][place]
    try:
        busbw = {size_in_bytes(str(size)): float(value) for size, value in entry["busbw"].items()}
    except NearfarError as error:
        raise file.error(str(error), "captures", place, "busbw") from None
    problem = entry.get("problem", {})
    gpus = entry.get("gpus")
    return CollectiveCapture(
        collective=entry["collective"],
        gpus=None if gpus is None else tuple(gpus),
        nodes=entry.get("nodes", 1),
        busbw=busbw,
        algorithm=entry.get("algorithm"),
        transport=entry.get("transport"),
        cause=problem.get("cause"),
        what=problem.get("what"),
    )


def published_collectives(directories: Sequence[Path]) -> list[PublishedCollectives]:
    """Every file of the site's directories, by name."""
    return [from_file(SiteFile(path)) for _, path in sorted(site_files(FOLDER, list(directories)).items())]


def beside(published: PublishedCollectives, capture: CollectiveCapture) -> list[CollectiveBeside]:
    """Each size of a run beside what is expected there. A problem is compared with what the node should reach."""
    transport = capture.transport if capture.cause is None else None
    return [
        CollectiveBeside(
            published,
            capture,
            size,
            rate,
            expected(
                published.node_type, capture.collective, capture.gpus, size, capture.nodes, transport=transport,
                fabric=published.fabric, algorithm=capture.algorithm,
            ),
        )
        for size, rate in capture.busbw.items()
    ]  # fmt: skip


def all_beside(every: Sequence[PublishedCollectives]) -> list[CollectiveBeside]:
    """Every captured figure beside what is expected there."""
    return [each for published in every for capture in published.captures for each in beside(published, capture)]


def errors(figures: Sequence[CollectiveBeside]) -> tuple[int, float, float]:
    """How many figures count, the median of their errors' sizes, and the part that is within ``WITHIN``."""
    sizes = [abs(each.error) for each in figures if each.counted]
    return len(sizes), median(sizes), sum(size <= WITHIN for size in sizes) / len(sizes)
