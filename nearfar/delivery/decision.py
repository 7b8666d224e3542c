"""What is decided about a delivery and each of its nodes, and what it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nearfar.base import Finding
from nearfar.site import Order

#: The origin of what the delivery's own nodes let expect.
ITSELF = "itself"
#: Decisions about a node, as documents have them.
ACCEPTED, REFUSED, AGAIN = DECISIONS = ("accepted", "refused", "measure again")


@dataclass(frozen=True)
class Expected:
    """What a figure should be. ``origin``: ``order`` (promised), ``published``, ``model`` (healthy GPUs of it), ``ceiling``, ``itself``."""

    origin: str
    #: In the figure's unit; of healthy GPUs the least that was seen, of the delivery itself the median of its nodes.
    value: float
    #: What is worse has the ``verdict``; None: it is only shown.
    bound: float | None
    verdict: str
    #: Who says so, as the end of a sentence.
    source: str


@dataclass(frozen=True)
class DeliveredFigure:
    """A figure of all nodes: what one row of references would speak of."""

    check: str
    row: str
    gpu_model: str | None
    unit: str
    less_is_better: bool
    #: The median of each node.
    nodes: Mapping[str, float]
    #: Of the nodes.
    median: float
    #: Why the nodes are not compared with each other; None: they are.
    not_compared: str | None
    expected: tuple[Expected, ...]
    #: The bound of the site's references, by which the runs were judged; None: there is none.
    reference: float | None = None

    @property
    def judges(self) -> bool:
        """Whether a node is held against anything by it."""
        return self.not_compared is None or any(each.bound is not None for each in self.expected)


@dataclass(frozen=True)
class Board:
    """A GPU, as a vendor asks for it; None: not known."""

    index: int
    pci: str | None
    name: str | None
    uuid: str | None
    serial: str | None
    #: The chassis' name of its place.
    slot: str | None = None


@dataclass(frozen=True)
class MeasuredRun:
    """A run of a node."""

    run: str
    #: UTC, as 2026-11-20T09:00:00Z.
    time: str
    #: Verdicts by check.
    checks: Mapping[str, str]
    #: False: it was of other GPUs or another system, and is left out.
    counted: bool
    #: What the kernel's log held of its GPUs when it ended, and what its documents rule out as the cause of slow figures.
    kernel_log: tuple[str, ...] = ()
    ruled_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class DeliveredNode:
    """A node, ordered or measured, with the decision about it."""

    name: str
    decision: str
    #: Why it is refused.
    evidence: tuple[Finding, ...] = ()
    #: Why it is to be measured again.
    missing: tuple[Finding, ...] = ()
    #: What is DEGRADED, and accepted by name.
    waived: tuple[Finding, ...] = ()
    #: What stands beside the order: counts, sizes in bytes, models, versions.
    found: Mapping[str, Any] | None = None
    gpus: tuple[Board, ...] = ()
    runs: tuple[MeasuredRun, ...] = ()


@dataclass(frozen=True)
class Delivery:
    """The whole delivery. ``findings`` are about several nodes, what is slow as a whole first."""

    order: Order
    findings: tuple[Finding, ...]
    nodes: tuple[DeliveredNode, ...]
    figures: tuple[DeliveredFigure, ...]
    #: What the nodes were held against: ``order``, ``references``, ``itself`` (each other), ``outside``.
    against: tuple[str, ...]

    @property
    def counts(self) -> dict[str, int]:
        """How many nodes there are of each decision."""
        return {decision: sum(node.decision == decision for node in self.nodes) for decision in DECISIONS}
