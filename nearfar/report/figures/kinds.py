"""Figures of one kind: the same class of path, the same question, as many flows at once, the same verdict. What is of different kinds never
shares a range."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nearfar import nccl
from nearfar.base import NOT_JUDGED, listed
from nearfar.measurement import RATIO

from .check_figures import Figure
from .wording import SIGNS, class_words, percent, plural, size, span, unit_words

#: Cells that are named of a kind that did not pass, and kinds that a line tells.
_NAMED, _TOLD = 2, 6
_WAYS = {
    "h2d": "H2D", "d2h": "D2H", "both.total": "both", "both.sm.total": "both sm", "write.staged": "staged", "d2d": "copy",
    "both.staged.total": "staged both",
}  # fmt: skip
_DERIVED = {
    "latency_copy": "tiny copy", "latency_chase": "load", "latency_launch": "launch", "over_near": "over near",
    "half_bandwidth": "size of half the rate", "tail_p99": "99th percentile", "tail_worst": "slowest over its median",
    "task_over_fair": "task over its fair share", "smaller_size": "over smaller arrays",
}  # fmt: skip
#: The class that all host paths of a node have, which says nothing more.
_ONLY_CLASSES = ("sole", "one_node")
_ENDS = re.compile(r"[cgn]\d+_[cgn]\d+")
_TASKS = re.compile(r" x(\d+)\b")


@dataclass(frozen=True)
class FigureKind:
    """Figures of one kind and verdict."""

    figures: tuple[Figure, ...]

    @property
    def first(self) -> Figure:
        """Any of them stands for what they are."""
        return self.figures[0]

    @property
    def name(self) -> str:
        """``near H2D``, ``NV18 both``."""
        return " ".join(filter(None, kind_parts(self.first)))

    @property
    def passes(self) -> bool:
        """Whether nothing is to be said against them."""
        return self.first.shown not in ("FAIL", "INDETERMINATE", "DEGRADED")

    @property
    def shares(self) -> list[float]:
        """The values over their references', inputs of a model left out."""
        return [f.share for f in self.figures if f.share is not None and f.basis not in ("input", "assumed")]

    @property
    def amount(self) -> tuple[str, str]:
        """The values and their unit: (``55.3–55.6``, ``GB/s``), (``≤ 55.3``, ``GB/s``) of upper bounds."""
        known, unit = [f.value for f in self.figures if f.value is not None], self.first.unit
        if self.first.written == "unknown":
            return "unknown", ""
        if unit == "B":
            values, unit = "–".join(dict.fromkeys(map(size, (min(known), max(known))))), ""
        elif unit == "GFLOP/s" and min(known) >= 1000:
            values, unit = span([value / 1000 for value in known]), "TFLOP/s"
        else:
            values, unit = span(known, unit), unit_words(unit)
        return f"{'≤ ' if self.first.best_case else ''}{values}", unit

    @property
    def of_peak(self) -> str:
        """``, 78–80 % of the peak``, where each one's peak is known; else empty."""
        parts = [part for figure in self.figures if (part := figure.part_of_peak) is not None]
        return f", {_percents(parts)} % of the peak" if len(parts) == len(self.figures) else ""

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """Figure, measured (``4368–4370 GB/s, 91 % of the peak``), reference and share, as they stand in a table."""
        named = [f.pretty for f in self.figures if f.cell is not None] if not self.passes else []
        label = f"{self.name}{': ' if named else ''}{listed(named, _NAMED)}"
        expected = [f.expected for f in self.figures if f.expected is not None]
        share = f"{_percents(self.shares)} %" if self.shares else "input" if expected else ""
        measured = f"{' '.join(filter(None, self.amount))}{self.of_peak}"
        return label, measured, span(expected, self.first.unit) if expected else "none", share


def figure_kinds(found: Iterable[Figure], explaining: bool = False) -> list[FigureKind]:
    """The figures by kind, as they come; parts of a total that did not fail, and figures that
    explain others, only if ``explaining``."""
    kinds: dict[tuple[object, ...], list[Figure]] = {}
    for figure in found:
        part = figure.flow is not None and figure.cell is not None and not figure.cell.lone
        told = explaining or not (figure.explains or (part and figure.shown in ("PASS", "MODELLED", NOT_JUDGED)))
        if figure.value is None or not told:
            continue
        kinds.setdefault((kind_parts(figure), figure.unit, figure.shown, figure.best_case), []).append(figure)
    return [FigureKind(tuple(each)) for each in kinds.values()]


def in_a_line(found: Sequence[Figure], key: str = "") -> str | None:
    """``near H2D 55.3–55.6, D2H 54.9, off socket H2D 41.0 GB/s; 98–101 % of 9 references (tuned)``: what did not pass first, then rates
    and times, where there are none what is made of them. ``key``: an expression for the kinds that answer the question, beside what did
    not pass. None without figures."""
    every = figure_kinds(found)
    answering = [kind for kind in figure_kinds(found, bool(key)) if key and re.search(key, kind.name)]
    own = [kind for kind in every if not kind.first.derived or kind.first.derived.startswith("latency_")]
    if answering:
        answering += [kind for kind in every if not kind.passes and not re.search(key, kind.name)]
    told = answering or own or every
    if not told:
        return None
    if "penalty" in key:
        told = sorted(told, key=lambda kind: -max(figure.value or 0.0 for figure in kind.figures))
    # Of many ramps' steps the widest tell most.
    widest = all(kind.first.is_total for kind in told) and len(told) > _TOLD
    told = sorted(told, key=lambda kind: (kind.passes, -len(kind.first.cell.gpus) if widest and kind.first.cell else 0))
    shown, parts = told[:_TOLD], []
    for place, kind in enumerate(shown):
        klass, question = kind_parts(kind.first)
        # A class, and a unit, that the neighbour has stands once.
        same = place > 0 and kind.passes and klass == kind_parts(shown[place - 1].first)[0]
        values, unit = kind.amount
        if place + 1 < len(shown) and shown[place + 1].amount[1] == unit and not kind.of_peak:
            unit = ""
        sign = "" if kind.passes else SIGNS[kind.first.shown]
        parts.append(" ".join(filter(None, [sign, "" if same else klass, question, values, unit])) + kind.of_peak)
    more = f" and {plural(len(told) - _TOLD, 'more kind')}" if len(told) > _TOLD else ""
    again = sum(figure.remeasured for figure in found)
    doubted = f"; {plural(again, 'figure')} measured again alone" if again else ""
    return f"{', '.join(parts)}{more}; {_compared([figure for kind in every for figure in kind.figures])}{doubted}"


def _compared(found: Sequence[Figure]) -> str:
    """What the figures are beside their references, in a few words."""
    known = [figure for figure in found if figure.reference]
    if not known:
        elsewhere = all(figure.judged_elsewhere for figure in found)
        return "judged by other checks" if elsewhere else f"{NOT_JUDGED}: no reference"
    origins = "/".join(dict.fromkeys(figure.reference.origin for figure in known if figure.reference))
    shares = FigureKind(tuple(known)).shares
    if not shares:
        return "inputs of the model" if any(figure.published_beside for figure in known) else f"compared ({origins})"
    if all(figure.published_beside for figure in known):
        ends = dict.fromkeys((percent(min(shares) - 1), percent(max(shares) - 1)))
        return f"{' to '.join(ends)} from what was published"
    return f"{_percents(shares)} % of {plural(len(known), 'reference')} ({origins})"


def _percents(shares: Sequence[float]) -> str:
    return "–".join(dict.fromkeys(f"{100 * share:.0f}" for share in (min(shares), max(shares))))


def kind_parts(figure: Figure) -> tuple[str, str]:
    """The class of path, empty where it says nothing, and the question: (``near``, ``H2D``), (``NV18``, ``both``), (``near``, ``H2D, 4
    GPUs``), (``NV18``, ``tiny copy``)."""
    cell = figure.cell
    klass = "" if figure.path_class in _ONLY_CLASSES else class_words(figure.path_class)
    if cell is None and figure.quantity == nccl.BUSBW:
        return klass, figure.question.replace(".", " ")
    if cell is None:
        asked = " ".join(part for part in figure.question.split(".") if not _ENDS.fullmatch(part))
        asked = f"{asked.replace('_', ' ')}{' ratio' if figure.quantity == RATIO else ''}"
        if figure.derived and figure.derived.replace("_", " ") not in asked:
            asked += f" {figure.derived.replace('_', ' ')}"
        return ("" if asked.startswith(f"{klass} ") else klass), asked
    question = _WAYS.get(figure.question, figure.question)
    pattern, _, what = figure.question.partition(".")
    part = figure.flow is not None and not cell.lone
    if pattern == "all" or (figure.is_total and cell.flows[0].kind == "gpu_stream"):
        question = f"STREAM {cell.flows[0].direction}, all at once"
    elif figure.quantity == "stream":
        question = f"STREAM {figure.question}"
    elif part:
        question = _WAYS.get(what, what) + ("" if pattern == "together" else f" of {pattern}")
    elif what == "total" and pattern != "both":
        ways = {flow.direction for flow in cell.flows}
        together = _WAYS.get(ways.pop(), pattern) if len(ways) == 1 else "both"
        words = together if pattern == "together" else pattern.replace("_", " ")
        question = f"{words}, {len(cell.gpus)} GPUs"
    question = re.sub(r"[._]", " ", question.removeprefix("together."))
    question = re.sub(r"^(h2d|d2h)\b", lambda way: way[0].upper(), question)
    question = _TASKS.sub(lambda tasks: f", {tasks[1]} tasks a GPU:", question)
    if figure.derived:
        done = _DERIVED.get(figure.derived, figure.derived.replace("_", " "))
        question = done if figure.derived.startswith("latency_") else f"{question} {done}"
    return klass, question
