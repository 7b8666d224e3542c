"""A check's metrics as pages show them: the verdict's words and bounds joined with the document's samples and bindings."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from nearfar import cells
from nearfar.base import ORDER, NearfarError, shown_verdict
from nearfar.measurement import MADE_OF_OTHERS
from nearfar.verdict import CheckRecord, bounded

from .wording import expectation, number, percent, unit_words

_NOT_A_WORD = re.compile(r"[^A-Za-z0-9_.-]")


def slug(text: str) -> str:
    """``text`` as part of an HTML id."""
    return _NOT_A_WORD.sub("-", text)


@dataclass(frozen=True)
class Figure:
    """One metric. ``samples``, ``n``, ``converged`` and ``verified`` come from the document and are empty without one."""

    name: str
    cell: cells.Cell | None
    flow: cells.Flow | None
    written: str
    path_class: str
    quantity: str
    value: float | None
    unit: str
    interval: tuple[float, float] | None
    reference: dict[str, Any] | None
    degraded_below: float | None
    ceiling: float | None
    limited_by: tuple[str, ...]
    verdict: str
    reason: str | None
    modelled: bool
    anchor: str
    n: int | None = None
    samples: tuple[float, ...] = ()
    converged: bool = True
    verified: bool = True
    beside: tuple[cells.Flow, ...] = ()
    remeasured: bool = False
    past: dict[str, Any] | None = None

    @property
    def shown(self) -> str:
        """The verdict's word on a page."""
        return shown_verdict(self.verdict, self.modelled)

    @property
    def bounded(self) -> bool:
        """Whether its reference has a bound; without one there is nothing to pass."""
        return bounded({"reference": self.reference, "degraded_below": self.degraded_below})

    @property
    def is_ratio(self) -> bool:
        """Whether this is something else than a rate that was measured: made of others, or a time."""
        return bool(self.derived)

    @property
    def derived(self) -> str:
        """What it is beside a measured rate (``over_near``, ``latency_copy``); empty for a measured rate."""
        return cells.split_class(self.path_class)[1]

    @property
    def base_class(self) -> str:
        """The path class alone."""
        return cells.split_class(self.path_class)[0]

    @property
    def explains(self) -> bool:
        """Whether this only explains others, and was never to be judged."""
        return self.quantity in MADE_OF_OTHERS and not self.bounded

    @property
    def expected(self) -> float | None:
        """The reference's value."""
        return _number(self.reference.get("value")) if self.reference else None

    @property
    def share(self) -> float | None:
        """The value over the reference's."""
        return self.value / self.expected if self.value is not None and self.expected else None

    @property
    def published_beside(self) -> bool:
        """Whether this is modelled, with a published figure beside it: then the difference tells more than a bound."""
        return self.modelled and self.share is not None and (self.reference or {}).get("origin") == "published"

    @property
    def against(self) -> str:
        """The value against what is expected: ``95 % of 58.4``, ``published 45.93, +0.1 %``."""
        if self.share is None or self.expected is None:
            return "no reference"
        if self.published_beside:
            return f"published {self.expected:g}, {percent(self.share - 1)}"
        return f"{self.share * 100:.0f} % of {number(self.expected, self.unit)}"

    @property
    def least(self) -> float | None:
        """What a good figure reaches: the mark below which it is DEGRADED, else the lower bound."""
        lower = _number(self.reference.get("lower")) if self.reference else None
        return self.degraded_below if self.degraded_below is not None else lower

    @property
    def pretty(self) -> str:
        """The cell with arrows; for one flow of several, that flow and what ran beside it."""
        if self.cell is None:
            return self.written
        if self.flow is None or self.cell.lone:
            return cells.pretty(self.cell)
        others = [flow for flow in self.cell.flows if flow != self.flow]
        return f"{cells.pretty(cells.Cell((self.flow,)))} beside {cells.pretty(cells.Cell(tuple(others)))}"

    @property
    def is_total(self) -> bool:
        """Whether this is the sum over a cell of several flows."""
        return self.cell is not None and not self.cell.lone and self.flow is None

    @property
    def how(self) -> str:
        """What a reader should know of how it was measured in a quick look; empty where there is nothing."""
        words = [f"beside {', '.join(map(cells.pretty, self.beside))}"] if self.beside else []
        return ", ".join([*words, *(["measured again alone"] if self.remeasured else [])])

    @property
    def before(self) -> str:
        """What it was in the node's own healthy runs: ``55.3 before, 5 runs since 2026-11-01``; empty where it has no
        past."""
        if not self.past:
            return ""
        return f"{number(_number(self.past.get('median')), self.unit)} before, {self.past.get('n')} runs since {self.past.get('since')}"

    @property
    def sentence(self) -> str:
        """Value, expectation and reason, as a tooltip says them."""
        parts = [f"{self.pretty}: {number(self.value, self.unit)} {unit_words(self.unit)}".rstrip()]
        parts.append(f"expected {expectation(self.reference)}" if self.reference else "no reference applies")
        if self.how:
            parts.append(self.how)
        if self.reason:
            parts.append(self.reason)
        if self.modelled:
            parts.append("MODELLED, not measured")
        return "; ".join(parts)


def parsed(text: Any) -> cells.Cell | None:
    """The cell that ``text`` names; None where it names none (MPI and kernels have subjects of other kinds)."""
    return _parsed(str(text))


@lru_cache(maxsize=8192)
def _parsed(text: str) -> cells.Cell | None:
    try:
        return cells.parse(text)
    except NearfarError:
        return None


def figures(check: CheckRecord, prefix: str) -> list[Figure]:
    """The figures of a check, in the verdict's order. ``prefix`` makes their anchors unique on a page."""
    if check.verdict is None:
        return []
    modelled = check.verdict.get("kind") == "modelled"
    rates = _rates(check.document)
    return [_figure(m, rates, modelled, prefix) for m in check.verdict["metrics"] if isinstance(m, dict)]


def worst_first(found: list[Figure]) -> list[Figure]:
    """FAIL first; within a verdict the order of the run."""
    return sorted(found, key=lambda figure: ORDER.index(figure.verdict))


@dataclass(frozen=True)
class _Rate:
    raw: dict[str, Any] = field(default_factory=dict)
    converged: bool = True
    verified: bool = True


def _rates(document: dict[str, Any] | None) -> dict[tuple[str, cells.Cell, cells.Flow | None], _Rate]:
    """The document's rates by quantity, cell and flow; None for a cell's total, or its only flow."""
    found: dict[tuple[str, cells.Cell, cells.Flow | None], _Rate] = {}
    for result in (document or {}).get("results", []):
        cell = parsed(result.get("cell"))
        if cell is None:
            continue
        flags = bool(result.get("converged", True)), bool(result.get("verified", True))
        quantity = str(result.get("quantity"))
        for entry in result.get("flows", []):
            flow = parsed(entry.get("flow"))
            if flow is not None:
                key = None if cell.lone else flow.flows[0]
                found[quantity, cell, key] = _Rate(entry.get("rate") or {}, *flags)
        if result.get("total"):
            found[quantity, cell, None] = _Rate(result["total"], *flags)
    return found


def _figure(metric: dict[str, Any], rates: dict[Any, _Rate], modelled: bool, prefix: str) -> Figure:
    name = str(metric.get("name", ""))
    cell = parsed(metric.get("cell"))
    lone = parsed(metric["flow"]) if metric.get("flow") else None
    flow = lone.flows[0] if lone else None
    first = name.partition(".")[0]
    quantity = str(metric.get("quantity", ""))
    key = flow if cell is not None and not cell.lone else None
    of_others = bool(cells.split_class(first)[1]) and not quantity.startswith("latency.")
    rate = _Rate() if of_others else rates.get((quantity, cell, key), _Rate())
    interval = metric.get("ci")
    verdict = str(metric.get("verdict"))
    return Figure(
        name=name, cell=cell, flow=flow, written=str(metric.get("cell", name)),
        path_class=first if cells.split_class(first)[1] else str(metric.get("class", "")), quantity=quantity,
        value=_number(metric.get("value")), unit=str(metric.get("unit", "")),
        interval=(float(interval[0]), float(interval[1])) if isinstance(interval, list) and len(interval) == 2 else None,
        reference=metric.get("reference") or None, degraded_below=_number(metric.get("degraded_below")),
        ceiling=_number(metric.get("ceiling")), limited_by=tuple(map(str, metric.get("limited_by") or ())),
        verdict=verdict if verdict in ORDER else "INDETERMINATE", reason=metric.get("reason"), modelled=modelled,
        anchor=slug(f"{prefix}.{name}"), n=rate.raw.get("n"), samples=tuple(rate.raw.get("samples") or ()),
        converged=rate.converged, verified=rate.verified,
        beside=tuple(other.flows[0] for text in metric.get("beside") or () if (other := parsed(text)) is not None),
        remeasured=bool(metric.get("remeasured")), past=metric.get("past") or None,
    )  # fmt: skip


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
