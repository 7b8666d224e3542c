"""What explains figures, as blocks: the parts that are to blame, the capacities that limit flows."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.report.blocks import Block, Entry, Group, Table, Text, row, table
from nearfar.report.explanations import Capacities, CellRow, Faults, KnownCapacity
from nearfar.report.figures import SIGNS, number, percent, plural

#: So many rows are open at first.
_MOST_SLOW, _MOST_CELLS = 8, 30
_JUDGES_NOTHING = (
    "capacities found in this run's single flows, STREAM and one saturating cell for each shared capacity; every other cell of several "
    "flows stands beside what they predict. This explains and does not judge: capacities calibrated from a run never judge that run"
)


def fault_blocks(faults: Faults | None, anchor: str) -> list[Block]:
    """What the answer at the top of the page rests on; nothing where that is the answer alone."""
    if faults is None or not faults.details:
        return []
    aside = "beside the verdicts, not instead of them: this says what would explain the slow cells together, and judges nothing"
    rows = [(each.cell, each.worst, f"{SIGNS['PASS']} yes" if each.explained else "– no") for each in faults.slow]
    slow = table(("cell", ">worst figure, of healthy", "explained"), rows, kind="explaining")
    blocks: list[Block] = [
        Text(faults.details),
        *([Group(plural(len(rows), "slow cell"), (slow,), folded=len(rows) > _MOST_SLOW)] if rows else []),
        Text((aside,), "small muted"),
    ]
    return [Group("What explains what is slow", tuple(blocks), anchor=f"{anchor}.faults", kind="explains")]


def capacity_blocks(found: Capacities | None, anchor: str) -> list[Block]:
    """The capacities that a run's own cells say, and the cells that they predict."""
    if found is None:
        return []
    if found.note:
        blocks: list[Block] = [Text((f"not calibrated: {found.note}",))]
    else:
        by_hand = "by hand, with any documents of one node: `nearfar calibrate DOCUMENT…`"
        predicted = _cells(found.predictions, "Cells of several flows, predicted", len(found.predictions) > _MOST_CELLS)
        blocks = [
            Text((_JUDGES_NOTHING,)),
            *([Text((found.line,), "answer"), *_said(found.left_over), predicted] if found.predictions else []),
            _links(found),
            *([_shared(found)] if found.shared else []),
            *_said(*found.weights, f"pairs of GPUs: {found.pairs} GB/s" if found.pairs else ""),
            *([_cells(found.inputs, "Cells of several flows that calibrate: residuals", True)] if found.inputs else []),
            Text((found.lone, by_hand), "small muted"),
        ]
    return [Group("What limits many flows at once", tuple(blocks), anchor=f"{anchor}.capacities", kind="explains")]


def _said(*sentences: str) -> list[Block]:
    known = tuple(filter(None, sentences))
    return [Text(known)] if known else []


def _cells(rows: Sequence[CellRow], title: str, folded: bool) -> Group:
    columns = ("cell", ">measured", ">predicted", ">prediction off", "what limits it", "not explained, GB/s a flow")
    listed = [
        (
            each.cell, number(each.measured), number(each.predicted), "" if each.off is None else percent(each.off), each.limited_by,
            "; ".join(each.unexplained),
        )
        for each in rows
    ]  # fmt: skip
    return Group(title, (table(columns, listed, kind="explaining"),), plural(len(rows), "cell"), folded)


def _links(found: Capacities) -> Table:
    rows = [row(Entry(gpu, mark="label"), *map(_known, known)) for gpu, known in found.links]
    return table(
        ("", *found.ways),
        rows,
        title="Links of each GPU",
        caption="GB/s; below it the interval, or why it has none",
        kind="heat steps",
    )


def _known(one: KnownCapacity | None) -> Entry:
    if one is None:
        return Entry("not measured", mark="self", tip="nothing measured crosses it")
    return Entry(one.value, (one.detail,), tip=one.name)


def _shared(found: Capacities) -> Table:
    rows = [(each.name, each.value, each.detail) for each in found.shared]
    columns = ("capacity", ">GB/s", "interval, or why there is none")
    return table(columns, rows, title="What flows share, and paths with a figure of their own", kind="explaining")
