"""MPI and NCCL on the page: a curve over message size for each benchmark with the placements beside each other, and their table; tables of
messages between NUMA nodes; the bus bandwidth of collectives, and the ring that NCCL built."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from nearfar import nccl
from nearfar.base import NOT_JUDGED, ORDER, NearfarError, grouped
from nearfar.binding import RELATIONS
from nearfar.measurement import RATIO
from nearfar.mpi import numa_pairs
from nearfar.mpi.osu import BENCHMARKS, BESIDE, WITHIN, MpiCase, mpi_figures, parse
from nearfar.report.blocks import Block, Chart, Entry, Row, Table, Text, row, table
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
    ratios = {(f.subject, _label(f), rates(f.question)): f for f in own if f.quantity == RATIO}
    with_case = ((cases[figure.subject], figure) for figure in own if figure.quantity != RATIO)
    groups = grouped(((c.benchmark, c.buffers, c.ranks, c.nic, figure.quantity), figure) for c, figure in with_case)
    return [block for key, mine in groups.items() for block in _table(key[-1], mine, cases, ratios, document)]


def _table(quantity: str, mine: list[Figure], cases: dict[str, MpiCase], ratios: dict[tuple[str, str, bool], Figure],
           document: Mapping[str, Any]) -> list[Block]:  # fmt: skip
    columns = tuple(dict.fromkeys(_label(f) for f in mine))
    subjects = sorted(dict.fromkeys(f.subject for f in mine), key=lambda s: _PLACEMENTS.index(cases[s].placement))
    rows = []
    for subject in subjects:
        by_label = {_label(f): f for f in mine if f.subject == subject}
        case = cases[subject]
        device = " → ".join(f"g{gpu}" for gpu in case.gpus)
        over = [ratios.get((subject, c, quantity == _MESSAGES)) for c in columns]
        places = [figure_entry(by_label.get(c), *_over_right(ratio)) for c, ratio in zip(columns, over)]
        rows.append(row(Entry(class_words(case.placement), (device,) if device else (), "label"), *places))
    heads = [re.sub(r"^(\d+)", r"\1 ", column) for column in columns]
    title = _title(cases[subjects[0]], quantity)
    curve = _curve(quantity, subjects, cases, mine[0].unit, document)
    return [figure_table(title, mine[0].unit, heads, rows), *([Chart(curve)] if curve else [])]


def figure_table(title: str, unit: str, columns: Sequence[str], rows: Sequence[Row]) -> Table:
    """A table of figures with what the wrong placement's are over the right one's."""
    caption = unit_words(unit) + ("; × is the wrong placement's figure over the right one's" if len(rows) > 1 else "")
    return table(["", *(f">{column}" for column in columns)], rows, title=title, caption=caption, kind="mpi")


def figure_entry(figure: Figure | None, *more: str) -> Entry:
    """A figure of a table, with ``more`` below it."""
    if figure is None:
        return Entry("–")
    shown = figure.shown
    below = ([shown] if shown in ORDER[:3] else []) + list(more)
    sign = SIGNS[shown] if shown != NOT_JUDGED else ""
    return Entry(number(figure.value, figure.unit), tuple(below), "tight", figure.sentence, sign=sign)


def _over_right(ratio: Figure | None) -> list[str]:
    """A figure over the right placement's, where this is the wrong one."""
    return [f"× {number(ratio.value, '1')}"] if ratio else []


def _curve(
    quantity: str, subjects: list[str], cases: dict[str, MpiCase], unit: str, document: Mapping[str, Any]
) -> Markup:  # fmt: skip
    results = [each for each in document.get("results", []) if each.get("quantity") == quantity and each.get("flows")]
    medians = [(each, (each["flows"][0].get("rate") or {}).get("median")) for each in results]
    known = ((each, float(value)) for each, value in medians if isinstance(value, (int, float)))
    points = grouped((each.get("cell"), (int(each.get("bytes") or 0), value)) for each, value in known)
    placements = [p for p in _PLACEMENTS if any(cases[s].placement == p for s in subjects)]
    series = [
        curves.CurveLine(
            class_words(cases[s].placement), f"{class_words(cases[s].placement)} {cases[s].device}".strip(),
            placements.index(cases[s].placement), tuple(sorted(points.get(s, []))),
        )
        for s in subjects
    ]  # fmt: skip
    return curves.messages(series, unit, f"{_title(cases[subjects[0]], quantity)} over the size of a message")


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
    columns = tuple(dict.fromkeys(_size(f) for f in mine))
    pairs = {f.subject.partition("/")[0]: f.path_class for f in reversed(mine)}
    rows = []
    for pair in sorted(pairs, key=lambda pair: _PAIR_PLACEMENTS.index(pairs[pair])):
        by_size = {_size(f): f for f in mine if f.subject.partition("/")[0] == pair}
        places = [figure_entry(f := by_size.get(c), *_over_right(over.get(f.subject) if f else None)) for c in columns]
        rows.append(row(Entry(class_words(pairs[pair]), (pair.replace("-", " ↔ "),), "label"), *places))
    return figure_table(_PAIR_TITLES[unit], unit, columns, rows)


def _size(figure: Figure) -> str:
    about = numa_pairs.subject(figure.subject)
    return "" if about is None else numa_pairs.spaced(about.traffic.partition("_")[2])


def collective_blocks(figures: list[Figure], document: Mapping[str, Any], node: Node | None) -> list[Block]:
    """The table of a check of collectives; none of any other."""
    mine = {(figure.subject, _size_of_question(figure)): figure for figure in figures if figure.quantity == nccl.BUSBW}
    if not mine:
        return []
    labels = sorted(dict.fromkeys(label for _, label in mine), key=nccl.size_of)
    rows = []
    for subject in dict.fromkeys(subject for subject, _ in mine):
        known = [mine.get((subject, label)) for label in labels]
        places = [figure_entry(f, *([f.expected_words] if f is not None and f.reference else [])) for f in known]
        rows.append(row(Entry(nccl.parse_case(subject).words, mark="label"), *places))
    caption = "bus bandwidth, GB/s, and what is expected"
    shown = table(["", *(f">{label}" for label in labels)], rows, title="Collectives", caption=caption, kind="mpi")
    hops = nccl.ring_hops(document, node)
    words = f"NCCL's first ring: GPU {' → '.join(map(str, [hop.source for hop in [*hops, *hops[:1]]]))}"
    limiting = [hop.words for hop in hops if hop.limiting]
    words += f"; limited by {'; '.join(limiting)}" if limiting else ""
    return [shown, *([Text((words,), kind="muted")] if hops else [])]


def _size_of_question(figure: Figure) -> str:
    return figure.question.rpartition(".")[2]
