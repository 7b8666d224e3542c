"""MPI and NCCL on the page: a curve over message size for each benchmark with the placements beside each other, and their table; tables of
messages between NUMA nodes; the bus bandwidth of collectives, and the ring that NCCL built."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from nearfar import nccl
from nearfar.base import NOT_JUDGED, ORDER, NearfarError, grouped
from nearfar.binding import RELATIONS
from nearfar.measurement import RATIO
from nearfar.mpi import numa_pairs
from nearfar.mpi.osu import BENCHMARKS, BESIDE, WITHIN, MpiCase, mpi_figures, parse
from nearfar.report.blocks import Block, Chart, Entry, Table, Text, row, table
from nearfar.report.charts import curves
from nearfar.report.figures import SIGNS, Figure, class_words, number, unit_words
from nearfar.topology import Node

_PLACEMENTS = (*WITHIN, *BESIDE)
_BUFFERS = {"H": "host", "D": "device"}
_MESSAGES = "mpi.message_rate"
_PAIR_PLACEMENTS = (*RELATIONS, numa_pairs.UNKNOWN)
_PAIR_TITLES = {
    "us": "Ping-pong between two ranks, host memory",
    "GB/s": "Stream of messages between two ranks, host memory",
}


def mpi_tables(figures: list[Figure], document: Mapping[str, Any]) -> list[Block]:
    """The tables of an MPI check in the order of its benchmarks; none of any other."""
    cases = {f.subject: case for f in figures if (case := _case(f.subject)) is not None}
    own = [f for f in figures if f.subject in cases]
    rates = mpi_figures.is_message_rate
    over = {(f.subject, _label(f), rates(f.question)): f for f in own if f.quantity == RATIO}
    with_case = ((cases[figure.subject], figure) for figure in own if figure.quantity != RATIO)
    groups = grouped(((c.benchmark, c.buffers, c.ranks, c.nic, figure.quantity), figure) for c, figure in with_case)
    found: list[Block] = []
    for (*_, quantity), mine in groups.items():
        ordered = sorted((f.subject for f in mine), key=lambda s: _PLACEMENTS.index(cases[s].placement))
        shown = {subject: cases[subject] for subject in ordered}
        placed = {(f.subject, _label(f)): f for f in mine}
        ratios = {key: over.get((*key, quantity == _MESSAGES)) for key in placed}
        labels = {subject: _row_label(case) for subject, case in shown.items()}
        title, unit = _title(shown[ordered[0]], quantity), mine[0].unit
        found.append(_over_right(title, unit, labels, placed, ratios))
        curve = curves.over_sizes(
            _curve(quantity, shown, document), unit, f"{title} over the size of a message", "a message"
        )
        found += [Chart(curve)] if curve else []
    return found


def _row_label(case: MpiCase) -> Entry:
    device = " → ".join(f"g{gpu}" for gpu in case.gpus)
    return Entry(class_words(case.placement), (device,) if device else (), "label")


def _over_right(title: str, unit: str, labels: Mapping[str, Entry], figures: Mapping[tuple[str, str], Figure],
                ratios: Mapping[tuple[str, str], Figure | None]) -> Table:  # fmt: skip
    """A table with what the wrong placement's figures are over the right one's, by row and column."""
    caption = unit_words(unit) + ("; × is the wrong placement's figure over the right one's" if len(labels) > 1 else "")
    below = {key: f"× {number(ratio.value, '1')}" for key, ratio in ratios.items() if ratio}
    return figure_table(title, caption, labels, figures, below)


def figure_table(title: str, caption: str, labels: Mapping[str, Entry], figures: Mapping[tuple[str, str], Figure],
                 below: Mapping[tuple[str, str], str]) -> Table:  # fmt: skip
    """A table of figures, and of what stands ``below`` them, by row and column; ``labels`` are those of the rows."""
    columns = dict.fromkeys(column for _, column in figures)
    heads = (">" + re.sub(r"^(\d+)", r"\1 ", column) for column in columns)

    def entry(key: tuple[str, str]) -> Entry:
        figure = figures.get(key)
        if figure is None:
            return Entry("–")
        out = figure.shown in ORDER[:3]
        words, tip = (figure.shown if out else "", below.get(key, "")), figure.sentence if out else ""
        sign = SIGNS[figure.shown] if figure.shown != NOT_JUDGED else ""
        return Entry(number(figure.value, figure.unit), tuple(filter(None, words)), "tight", tip, sign=sign)

    rows = [row(label, *(entry((key, column)) for column in columns)) for key, label in labels.items()]
    return table(["", *heads], rows, title=title, caption=caption, kind="mpi")


def _curve(quantity: str, cases: Mapping[str, MpiCase], document: Mapping[str, Any]) -> list[curves.CurveLine]:
    """A line for each subject."""
    results = [each for each in document.get("results", []) if each.get("quantity") == quantity and each.get("flows")]
    medians = [(each, (each["flows"][0].get("rate") or {}).get("median")) for each in results]
    known = ((each, float(value)) for each, value in medians if isinstance(value, (int, float)))
    points = grouped((each.get("cell"), (int(each.get("bytes") or 0), value)) for each, value in known)
    placements = list(dict.fromkeys(case.placement for case in cases.values()))
    named = [(class_words(case.placement), case, tuple(sorted(points.get(key, [])))) for key, case in cases.items()]
    return [
        curves.CurveLine(name, f"{name} {case.device}".strip(), placements.index(case.placement), line)
        for name, case, line in named
    ]


def _title(case: MpiCase, quantity: str) -> str:
    buffers = "host buffers" if not case.on_devices else f"{_BUFFERS[case.buffers[0]]} to {_BUFFERS[case.buffers[1]]}"
    ranks = "" if BENCHMARKS[case.benchmark].pair else f", {case.ranks} ranks"
    nic = f", between nodes through {case.nic}" if case.nic else ""
    return f"{case.benchmark}{' message rate' if quantity == _MESSAGES else ''}, {buffers}{ranks}{nic}"


def _case(subject: str) -> MpiCase | None:
    if not subject.startswith(tuple(BENCHMARKS)):
        return None
    try:
        return parse(subject)
    except NearfarError:
        return None


def _label(figure: Figure) -> str:
    return mpi_figures.size_label(figure.question)


def numa_pair_tables(figures: list[Figure]) -> list[Block]:
    """A table for each unit; none of any other check."""
    mine = [f for f in figures if numa_pairs.subject(f.subject) is not None]
    over = {f.subject: f for f in mine if f.quantity == RATIO}
    by_unit = {unit: [f for f in mine if f.quantity != RATIO and f.unit == unit] for unit in _PAIR_TITLES}
    return [_pair_table(unit, found, over) for unit, found in by_unit.items() if found]


def _pair_table(unit: str, mine: list[Figure], over: dict[str, Figure]) -> Table:
    placed = {(f.subject.partition("/")[0], _size(f)): f for f in mine}
    classes = {pair: figure.path_class for (pair, _), figure in placed.items()}
    labels = {
        pair: Entry(class_words(classes[pair]), (pair.replace("-", " ↔ "),), "label")
        for pair in sorted(classes, key=lambda pair: _PAIR_PLACEMENTS.index(classes[pair]))
    }
    ratios = {key: over.get(figure.subject) for key, figure in placed.items()}
    return _over_right(_PAIR_TITLES[unit], unit, labels, placed, ratios)


def _size(figure: Figure) -> str:
    about = numa_pairs.subject(figure.subject)
    return "" if about is None else numa_pairs.spaced(about.traffic.partition("_")[2])


def collective_blocks(figures: list[Figure], document: Mapping[str, Any], node: Node | None) -> list[Block]:
    """The table of a check of collectives; none of any other."""
    mine = [(figure.question.rpartition(".")[2], figure) for figure in figures if figure.quantity == nccl.BUSBW]
    if not mine:
        return []
    by_size = sorted(mine, key=lambda pair: nccl.size_of(pair[0]))
    found = {(figure.subject, size): figure for size, figure in by_size}
    labels = {f.subject: Entry(nccl.parse_case(f.subject).words, mark="label") for _, f in mine}
    below = {key: figure.expected_words for key, figure in found.items() if figure.reference}
    caption = "bus bandwidth, GB/s, and what is expected"
    hops = nccl.ring_hops(document, node)
    words = f"NCCL's first ring: GPU {' → '.join(map(str, [hop.source for hop in [*hops, *hops[:1]]]))}"
    limiting = [hop.words for hop in hops if hop.limiting]
    words += f"; limited by {'; '.join(limiting)}" if limiting else ""
    shown = figure_table("Collectives", caption, labels, found, below)
    return [shown, *([Text((words,), kind="muted")] if hops else [])]
