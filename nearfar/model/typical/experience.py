"""How much of what their links could carry healthy machines get: the shares of ``site/typical.yaml``, from the published nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import median

from nearfar.base import SiteFile, grouped
from nearfar.model import CapturedFigure, PublishedNode

from .crossed import limits_of
from .limits import Limit, NotDescribed

FILE = "typical.yaml"
#: How far healthy machines lie from what is typical: nine of ten within it, each predicted from the others (``nearfar reproduce --nodes``).
_SPREAD = 0.15
#: The same for far memory, the link between packages, and copies that the driver stages in host memory.
_SPREAD_FAR, _FAR = 0.40, ("far", "across", "staged")
#: A copy across packages that is as fast as its link tells nothing of what the packages' own link carries.
_AS_FAST_AS_THE_LINK = 0.88


@dataclass(frozen=True)
class Share:
    """What is typical of a share: the median of ``nodes`` healthy machines."""

    typical: float
    nodes: int


Experience = Mapping[str, Share]


def shares_of(node: PublishedNode) -> dict[str, float]:
    """What the figures of a node say of each share: their median."""
    parts: dict[str, list[float]] = {}
    for figure in (figure for figure in node.figures if not figure.set_aside):
        try:
            limits = limits_of(figure.cell, node.node_type)
        except NotDescribed:
            continue
        for limit in _tested_limits(figure, limits):
            rate = _rate(figure, limit)
            for name, base in limit.steps:
                of_the_link = base == limit.steps[-1][1]
                if name and (of_the_link or rate <= _AS_FAST_AS_THE_LINK * limit.steps[-1][1]):
                    parts.setdefault(name, []).append(rate / base)
    return {name: median(values) for name, values in parts.items()}


def healthy_shares(nodes: Iterable[PublishedNode]) -> dict[str, dict[str, float]]:
    """``shares_of`` each healthy node, by its name."""
    return {node.name: shares_of(node) for node in nodes if node.state == "healthy"}


def learnt(shares: Iterable[Mapping[str, float]]) -> dict[str, Share]:
    """What the shares of several nodes have in common."""
    found = grouped(named for of_node in shares for named in of_node.items())
    return {name: Share(float(f"{median(values):.3g}"), len(values)) for name, values in sorted(found.items())}


@lru_cache(maxsize=4)
def load_experience(directories: tuple[Path, ...]) -> Experience:
    """The shares of the first site directory that has them."""
    for directory in directories:
        if (path := directory / FILE).is_file():
            return experience_from(SiteFile(path))
    return {}


def experience_from(file: SiteFile) -> Experience:
    """The shares of a file. Raises ``SiteFileError`` with the line of what is wrong."""
    file.check("typical-1")
    file.check_finite()
    return {name: Share(**entry) for name, entry in file.data["shares"].items()}


def _tested_limits(figure: CapturedFigure, limits: Sequence[Limit]) -> Sequence[Limit]:
    """The limits that the figure is of: its last for a lone copy, both ways of one pair, all with all in one place, or GPUs and the host
    one way; for both ways of a GPU near its memory that of each way, or of the way that it is of; between packages, if all flows take as
    long as those that cross."""
    cell, ways = figure.cell, {flow.direction for flow in figure.cell.flows}
    if all(flow.kind == "host" for flow in cell.flows) and len(ways) > 1:
        near = len(cell.gpus) == 1 and not any(".far" in each.name for each in limits)
        return [each for each in limits if near and ".both." in each.name and figure.flow in (None, *each.flows)]
    if figure.until_last and (between := [each for each in limits if each.steps[-1][0] == "across"]):
        return between
    one_place = limits[-1].steps[0][0].startswith("fan") and all(each.name.startswith("g") for each in limits)
    one_pair = len(cell.flows) == 2 and cell.flows[0].source == cell.flows[1].destination
    return limits[-1:] if cell.lone or one_pair or one_place or cell.flows[0].kind == "host" else ()


def _rate(figure: CapturedFigure, limit: Limit) -> float:
    """What of the figure goes through a limit."""
    one = figure.value if figure.flow is not None else figure.value / len(figure.cell.flows)
    return one * len(limit.flows)


def spread(name: str) -> float:
    """The part of a share by which healthy machines differ from it; nothing for a figure of the node type itself (an empty name)."""
    return _SPREAD_FAR if name.startswith(_FAR) else _SPREAD if name else 0.0
