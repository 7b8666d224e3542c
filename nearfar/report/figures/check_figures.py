"""A check's figures as pages show them: those of its verdict, with words and a place on the page; where they are many, those that are alike
are one row."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import Any

from nearfar import cells
from nearfar.base import NOT_JUDGED, ORDER, grouped, shown_verdict
from nearfar.verdict import CheckRecord, JudgedMetric, cell_of

from .wording import expectation, number, percent, unit_words

#: A median is shown beside its plateau below this part of it.
_STEADY = 0.995
_LONGEST = 48
_NOT_A_WORD = re.compile(r"[^A-Za-z0-9_.-]")
#: A check of no more figures has a row for each.
MOST_ROWS = 60
#: As near to the median of their kind, a part of 1, figures are alike.
_ALIKE = 0.02
_LEAST = 3
#: So many flows of a cell are named.
_MOST_FLOWS = 8
_NUMBERS = re.compile(r"\d+")


def slug(text: str) -> str:
    """``text`` as part of an HTML id; of a long one, a cell of many flows, the beginning and a checksum."""
    name = _NOT_A_WORD.sub("-", text)
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]}-{zlib.crc32(name.encode()):x}"


@dataclass(frozen=True, kw_only=True)
class Figure(JudgedMetric):
    """One metric. ``anchor`` is its place on the page."""

    modelled: bool = False
    anchor: str = ""

    @property
    def shown(self) -> str:
        """The verdict's word on a page."""
        return shown_verdict(self.verdict, self.modelled)

    @property
    def is_ratio(self) -> bool:
        """Whether this is something else than a rate that was measured: derived, or a time."""
        return bool(self.derived)

    @property
    def expected(self) -> float | None:
        """The reference's value."""
        return self.reference.value if self.reference else None

    @property
    def share(self) -> float | None:
        """The value over the reference's."""
        return self.value / self.expected if self.value is not None and self.expected else None

    @property
    def published_beside(self) -> bool:
        """Whether this is modelled, with a published figure beside it: then the difference tells more than a bound."""
        reference = self.reference
        return self.modelled and self.share is not None and reference is not None and reference.origin == "published"

    @property
    def against(self) -> str:
        """The value against what is expected: ``95 % of 58.4``, ``published 45.93, +0.1 %``."""
        if self.share is None or self.expected is None:
            return "no reference"
        if self.published_beside and self.basis == "input":
            return f"published {self.expected:g}, input"
        if self.published_beside:
            return f"published {self.expected:g}" + ("" if self.best_case else f", {percent(self.share - 1)}")
        return f"{self.share * 100:.0f} % of {number(self.expected, self.unit)}"

    @property
    def of_peak(self) -> str:
        """``91 % of the peak`` of STREAM on a memory whose peak is known (``part_of_peak``); else empty."""
        part = self.part_of_peak
        return "" if part is None else f"{part * 100:.0f} % of the peak"

    @property
    def part_of_peak(self) -> float | None:
        """What STREAM of cores on host memory has of the DIMMs' rate, and a GPU on its own memory of its clock times its width; None for
        all else, and where these are not known."""
        flows = self.cell.flows if self.cell is not None else ()
        own = all(f.kind == "stream" or (f.kind == "gpu_stream" and f.source == f.destination) for f in flows)
        if not flows or not own or self.derived or self.best_case or self.value is None or not self.ceiling:
            return None
        return self.value / self.ceiling

    @property
    def best_case(self) -> str:
        """``upper bound`` or ``nominal`` of a modelled figure that something unknown may limit more; else empty."""
        return self.basis if self.basis in ("upper bound", "nominal") else ""

    @property
    def bound_words(self) -> str:
        """The same as pages say it: ``upper bound``, ``nominal upper bound``."""
        return {"upper bound": "upper bound", "nominal": "nominal upper bound"}.get(self.best_case, "")

    @property
    def written(self) -> str:
        """The value on a page: ``≤ 55.3`` of an upper bound; ``unknown`` where it bounds nothing: a ratio of one, and pageable memory, of
        which only the pinned figure is known."""
        if self.best_case and (self.is_ratio or (self.cell is not None and any(f.pageable for f in self.cell.flows))):
            return "unknown"
        return f"{'≤ ' if self.best_case else ''}{number(self.value, self.unit)}"

    @property
    def at_least(self) -> float | None:
        """What a good figure reaches: the mark below which it is DEGRADED, else the least good value."""
        lowest = self.reference.lowest if self.reference else None
        return self.degraded_below if self.degraded_below is not None else lowest

    @property
    def at_most(self) -> float | None:
        """What a good figure does not exceed: the mark above which it is DEGRADED, else the greatest good value."""
        highest = self.reference.highest if self.reference else None
        return self.degraded_above if self.degraded_above is not None else highest

    @property
    def pretty(self) -> str:
        """The cell with arrows; for one flow of several, that flow and what ran beside it."""
        if self.cell is None:
            return self.subject
        if self.flow is None or self.cell.lone:
            return flow_words(self.cell.flows)
        return f"{cells.pretty(self.flow)} beside {flow_words([f for f in self.cell.flows if f != self.flow])}"

    @property
    def is_total(self) -> bool:
        """Whether this is the sum over a cell of several flows."""
        return self.cell is not None and not self.cell.lone and self.flow is None

    @property
    def how(self) -> str:
        """What a reader should know of how it was measured, in company or doubted; empty where there is nothing."""
        words = [f"beside {', '.join(map(cells.pretty, self.beside))}"] if self.beside else []
        return ", ".join([*words, *(["measured again alone"] if self.remeasured else [])])

    @property
    def before(self) -> str:
        """What it was in the node's own healthy runs: ``55.3 before, 28 nights from 2026-11-01 on``; empty where it has no
        past."""
        past = self.baseline
        if not past:
            return ""
        words = f"{number(past.median, self.unit)} before, {past.n} nights from {past.since} on"
        return f"{words}; {past.note}" if past.note else words

    @property
    def expected_words(self) -> str:
        """The bound inside of which it is as expected: ``55.4 (≥ 54.3), tuned``."""
        if self.reference is None:
            return "judged elsewhere" if self.judged_elsewhere else "no reference"
        return expectation(self.reference, self.at_least, self.at_most)

    @property
    def second_bound(self) -> str:
        """``DEGRADED below 54.3, FAIL below 44.1``; empty where beyond its one bound is FAIL."""
        known, words = self.reference, []
        for side, degraded in (("below", self.degraded_below), ("above", self.degraded_above)):
            if known is not None and degraded is not None:
                failed = known.lowest if side == "below" else known.highest
                words.append(f"DEGRADED {side} {number(degraded, self.unit)}")
                words.append("never FAIL" if failed is None else f"FAIL {side} {number(failed, self.unit)}")
        return ", ".join(words)

    @property
    def expectation(self) -> str:
        """The same with both bounds where there are two: ``55.4 (≥ 54.3), tuned; DEGRADED below 54.3, FAIL below 44.1``."""
        return "; ".join(filter(None, [self.expected_words, self.second_bound]))

    @property
    def steadiness_words(self) -> str:
        """``median 53.1, steadiness 0.96`` of a rate whose median is more than half a per cent below its plateau; else empty."""
        if self.median is None or self.steadiness is None or self.steadiness >= _STEADY or self.derived:
            return ""
        return f"median {number(self.median, self.unit)}, steadiness {self.steadiness:.2f}"

    @property
    def look_words(self) -> str:
        """``measured again: 31.2 · 31.0 · 31.1``, oldest first; empty where it was measured once."""
        values = (number(look.value, self.unit) for look in self.looks)
        return f"measured again: {' · '.join(values)}" if self.looks else ""

    @property
    def sentence(self) -> str:
        """Value, expectation and reason, as a tooltip says them."""
        unit = unit_words(self.unit) if self.written != "unknown" else ""
        value = f"{self.pretty}: {self.written} {unit}".rstrip()
        expected = f"expected {self.expectation}" if self.reference else "no reference applies"
        basis = f" ({self.bound_words or self.basis})" if self.basis else ""
        modelled = f"MODELLED{basis}, not measured" if self.modelled else ""
        return "; ".join(filter(None, [value, expected, self.how, self.reason, modelled]))


def flow_words(flows: Sequence[cells.Flow]) -> str:
    """``n0→g0 + g0→n0``; of more than eight flows the first, and how many they are: a metric's name has them all."""
    if len(flows) <= _MOST_FLOWS:
        return " + ".join(map(cells.pretty, flows))
    return f"{cells.pretty(flows[0])} + … + {cells.pretty(flows[-1])} ({len(flows)} flows)"


def parsed(text: Any) -> cells.Cell | None:
    """The cell that ``text`` names; None where it names none (MPI and kernels have subjects of other kinds)."""
    return cell_of(str(text))


def figures(check: CheckRecord, prefix: str) -> list[Figure]:
    """The figures of a check, in the verdict's order. ``prefix`` makes their anchors unique on a page."""
    if check.verdict is None:
        return []
    found, modelled = [], check.verdict.kind == "modelled"
    for metric in check.verdict.metrics:
        parts = {**vars(metric), "modelled": modelled, "anchor": slug(f"{prefix}.{metric.name}")}
        if metric.cell is None or (metric.derived and not metric.quantity.startswith("latency.")):
            # Samples, and whether they settled, stand beside the rates and times of cells alone.
            parts.update(n=None, samples=(), converged=True, verified=True)
        found.append(Figure(**parts))
    return found


def worst_first(found: Iterable[Figure]) -> list[Figure]:
    """FAIL first; within a verdict the order of the run."""
    return sorted(found, key=lambda figure: ORDER.index(figure.verdict))


def shown_together(leading: Figure, others: Iterable[Figure]) -> str:
    """The word of a place that shows ``leading`` and ``others`` beside it: the worst; never PASS where ``leading`` was not judged."""
    worst = worst_first([leading, *others])[0]
    return leading.shown if worst.verdict == "PASS" and leading.verdict == NOT_JUDGED else worst.shown


def figure_rows(found: Sequence[Figure]) -> list[tuple[Figure, ...]]:
    """The worst first, those of one row together. Of more than ``MOST_ROWS`` figures three or more of one kind and verdict within 2 % of
    their median are one row, the nearest to it first; a figure that did not converge, was not verified or passed with something of its own
    to say never shares one."""
    if len(found) <= MOST_ROWS:
        return [(figure,) for figure in worst_first(found)]
    rows: list[tuple[Figure, ...]] = []
    for members in grouped((_row_kind(figure), figure) for figure in worst_first(found)).values():
        while members:
            middle = median_low([figure.value or 0.0 for figure in members])
            alike = [f for f in members if abs((f.value or 0.0) - middle) <= _ALIKE * abs(middle)]
            members = [figure for figure in members if figure not in alike]
            nearest_first = sorted(alike, key=lambda f: abs((f.value or 0.0) - middle))
            rows += [tuple(nearest_first)] if len(alike) >= _LEAST else [(figure,) for figure in alike]
    return rows


def _row_kind(figure: Figure) -> tuple[object, ...]:
    said = figure.verdict == "PASS" and (figure.looks or figure.reason)
    alone = said or figure.value is None or not figure.converged or figure.verified is False
    origin = figure.reference and (figure.reference.origin, figure.reference.note)
    # What limits like figures is alike, each its own part: g0.out, g1.in here and g2.out, g3.in there.
    limits = tuple(sorted({_NUMBERS.sub("", name) for name in figure.limited_by}))
    return (
        figure.shown, figure.code, figure.class_in_name, figure.question, figure.quantity, figure.unit, figure.bytes, figure.flow is None,
        limits, figure.basis, origin, bool(figure.beside), figure.anchor if alone else "",
    )  # fmt: skip
