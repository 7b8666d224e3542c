"""What another path class costs a kernel with its transfers, beside what the link alone would cost it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nearfar.measurement import Document
from nearfar.topology import Node

from . import link_rates
from .link_rates import LinkRates, Slowdown, slowdown
from .measured import KernelRun, runs
from .subjects import NEAR

#: A penalty is another than the link's where it is so far from it, as a part of the near time, and their intervals are apart.
TOLERANCE = 0.03


@dataclass(frozen=True)
class KernelPenalty:
    """How much longer one call takes than with operands in the near memory, as a part of it: 0.1 is a tenth longer.

    ``what``: ``total`` (in, compute, out, one after the other) or ``overlapped``. ``link`` is what the rates of the links alone
    say (S - 1, of ``total``), with its interval; None where the host-device matrix is not known.
    """

    near: KernelRun
    other: KernelRun
    path_class: str
    what: str
    value: float
    interval: tuple[float, float] | None
    link: float | None = None
    link_interval: tuple[float, float] | None = None

    @property
    def only_the_link(self) -> bool | None:
        """Whether the links' rates explain it; None where nobody knows them."""
        if self.link is None or self.link_interval is None:
            return None
        low, high = self.interval or (self.value, self.value)
        link_low, link_high = self.link_interval
        return abs(self.value - self.link) <= TOLERANCE or (low <= link_high and link_low <= high)


def of_document(document: Document, node: Node) -> list[KernelPenalty]:
    """Those of every GPU, kernel, size and path class but the near one, by the classes of ``node``."""
    rates = link_rates.of_document(document)
    return [penalty for group in _alike(runs(document)) for penalty in _of_group(group, node, rates)]


def _alike(every: Iterable[KernelRun]) -> list[list[KernelRun]]:
    """The runs that differ in their memory's NUMA node (and in the binding of ranks) alone."""
    groups: dict[object, list[KernelRun]] = {}
    for run in every:
        groups.setdefault((run.about.gpu, run.kernel, run.on_host, run.size, run.bytes), []).append(run)
    return list(groups.values())


def _of_group(group: list[KernelRun], node: Node, rates: LinkRates) -> list[KernelPenalty]:
    near = next((run for run in group if run.about.path_class(node) in NEAR), None)
    if near is None:
        return []
    found_penalties = []
    for run in group:
        path_class = run.about.path_class(node)
        if path_class in NEAR:
            continue
        for what in ("total", "overlapped"):
            penalty = _penalty(near, run, path_class, what, rates)
            found_penalties += [] if penalty is None else [penalty]
    return found_penalties


def _penalty(near: KernelRun, other: KernelRun, path_class: str, what: str, rates: LinkRates) -> KernelPenalty | None:
    fast, slow = near.rate(what), other.rate(what)
    if fast is None or slow is None or fast.value <= 0:
        return None
    interval = None
    if fast.value_interval and slow.value_interval and fast.value_interval[0] > 0:
        interval = (
            slow.value_interval[0] / fast.value_interval[1] - 1,
            slow.value_interval[1] / fast.value_interval[0] - 1,
        )
    link = _link_alone(near, other, rates) if what == "total" else None
    value = slow.value / fast.value - 1
    if link is None:
        return KernelPenalty(near, other, path_class, what, value, interval)
    return KernelPenalty(near, other, path_class, what, value, interval, link.value, (link.low, link.high))


def _link_alone(near: KernelRun, other: KernelRun, rates: LinkRates) -> Slowdown | None:
    """S - 1 with S = (t_kernel + t_in × r_h2d + t_out × r_d2h) / (t_kernel + t_in + t_out), t those of the near path."""
    times = [rate.value for what in ("compute", "in", "out") if (rate := near.rate(what)) is not None]
    there, back = (slowdown(rates, near.about, other.about, way) for way in ("h2d", "d2h"))
    if len(times) < 3 or there is None or back is None or not sum(times):
        return None
    _, t_in, t_out = times

    def more(r_there: float, r_back: float) -> float:
        return (t_in * (r_there - 1) + t_out * (r_back - 1)) / sum(times)

    return Slowdown(more(there.value, back.value), more(there.low, back.low), more(there.high, back.high))
