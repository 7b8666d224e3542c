"""What flows share on a node, each with the experience that says how much of it they get.

A limit has **steps**, from the most particular to the most general: the name of a share (``peers.pcie4``, then ``peers``) and what the
share is of, GB/s: what the links can carry as payload, or one xGMI link between packages or GPUs signals.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from nearfar.cells import Cell, Flow
from nearfar.model.prediction import link_ceiling
from nearfar.topology import Gpu, Link, Node

#: Generations of CPUs, by the names that they have: what joins their packages, and how fast they stage copies.
_CPU_GENERATIONS = {
    "zen2-3": r"EPYC (7\w\w[23]|Rome|Milan)|Threadripper PRO [35]9",
    "zen4": r"EPYC (9\w\w4|Genoa|Bergamo)|Threadripper PRO 79|WRX90",
    "zen5": r"EPYC (9\w\w5|Turin)|Threadripper PRO 99",
    "xeon-e5": r"Xeon.* E5",
    "xeon-1-2": r"Xeon.* [3-9][12]\d\d",
    "xeon-3": r"Xeon.* [3-9]3\d\d",
    "xeon-4-5": r"Xeon.* [3-9][45]\d\d",
}
#: GB/s of one xGMI link between packages one way: 16 lanes at 18 GT/s (EPYC 7002 and 7003: ROCm, MI100 microarchitecture) or 32 (9004:
#: Lenovo LP1852; 9005 is taken to be as fast).
_XGMI = {"zen2-3": 36.0, "zen4": 64.0, "zen5": 64.0}
_Step = tuple[str, float]
#: The name of a step that is no share: what nothing is above.
PEAK = "peak"


class NotDescribed(Exception):
    """No rule says what limits a flow."""


@dataclass(frozen=True)
class Limit:
    """``flows`` together carry at most a share of what ``steps`` say. A figure of the node type itself has the one step ``("", value)``."""

    name: str
    steps: tuple[_Step, ...]
    flows: Mapping[Flow, float]


def cpu_generation(node: Node) -> str | None:
    """The generation of the node's CPUs; None: it is not known, or none of these."""
    model = node.packages[0].model if node.packages else None
    return next((name for name, words in _CPU_GENERATIONS.items() if model and re.search(words, model)), None)


def limit(
    name: str, what: str, link: Link, flows: Mapping[Flow, float], links: int = 1, between: str | None = None
) -> Limit:
    """A share ``what`` of what so many ``links`` (or both ways of one) carry; ``between``: of xGMI between packages of that generation."""
    each, xgmi = link_ceiling(link), _XGMI.get(between or "", 0.0) * links
    first = [(f"{what}.{between}", xgmi), (f"{what}.xgmi", xgmi)] if xgmi else []
    return Limit(name, (*first, *steps(what, link, each and each * links)), flows)


def of_any_link(limit: Limit) -> Limit:
    """The limit by its most general share alone: how both ways of a link divide it is the machine's, not its generation's."""
    return replace(limit, steps=limit.steps[-1:])


def steps(what: str, link: Link, base: float | None) -> tuple[_Step, ...]:
    """The steps of a share of ``base``: of such a link, of any. Raises ``NotDescribed`` where ``base`` is not known."""
    if base is None:
        raise NotDescribed
    generation = link.nominal.gen
    return (*([(f"{what}.{link.kind}{generation}", base)] if generation else []), (what, base))


def gpus_of(cell: Cell, node: Node) -> list[Gpu]:
    """The GPUs of a cell."""
    return [gpu for gpu in node.gpus if gpu.index in cell.gpus]


def link_of(gpus: Collection[int], node: Node) -> Link:
    """The link of GPUs that have all the same."""
    return next(gpu.link for gpu in node.gpus if gpu.index in gpus)


def weights(flows: Iterable[Flow]) -> dict[Flow, float]:
    """Flows that cross a limit with all that they carry."""
    return dict.fromkeys(flows, 1.0)
