"""What explains figures, as blocks: the parts that are to blame, the capacities that limit flows; and what shared uplinks carry."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.model.prediction import implied_capacities
from nearfar.report.blocks import Block, Group, Text, table
from nearfar.report.explanations import Capacities, CellRow, Faults
from nearfar.report.figures import SIGNS, number, percent, plural
from nearfar.report.node_drawing import UplinkRate
from nearfar.topology import Node, shared_uplinks

#: So many rows are open at first.
_OPEN = 8
#: So many flows, and capacities, are named in a row.
_NAMED = 3
_WAYS = (("down", "↓", "to its devices"), ("up", "↑", "from its devices"))
_JUDGES_NOTHING = (
    "capacities found in this run's single flows, STREAM and one saturating cell for each shared capacity; every other cell of several "
    "flows stands beside what they predict. This explains and does not judge: capacities calibrated from a run never judge that run"
)


def fault_blocks(faults: Faults | None, anchor: str) -> list[Block]:
    """What the answer at the top of the page rests on; nothing where that is the answer alone."""
    if faults is None or not faults.details:
        return []
    aside = "beside the verdicts, not instead of them: this is what would explain the slow cells together, and judges nothing"
    rows = [(each.cell, each.worst, f"{SIGNS['PASS']} yes" if each.explained else "– no") for each in faults.slow]
    slow = table(("cell", ">worst figure, of healthy", "explained"), rows, kind="explaining")
    blocks: list[Block] = [
        Text(faults.details),
        *([Group(plural(len(rows), "slow cell"), (slow,), folded=len(rows) > _OPEN)] if rows else []),
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
        by_hand = "capacities and residuals: `report.json`; of any documents of one node: `nearfar calibrate DOCUMENT…`"
        blocks = [
            Text((_JUDGES_NOTHING,)),
            Text((found.line,), "answer"),
            *([Text((found.left_over,))] if found.left_over else []),
            *([_cells(found.predictions)] if found.predictions else []),
            Text((by_hand,), "small muted"),
        ]
    return [Group("What limits many flows at once", tuple(blocks), anchor=f"{anchor}.capacities", kind="explains")]


def _cells(rows: Sequence[CellRow]) -> Group:
    """The cells that are not explained; where all are, every one."""
    odd = [each for each in rows if each.unexplained]
    columns = ("cell", ">measured", ">predicted", ">prediction off", "what limits it", "not explained, GB/s a flow")
    listed = [
        (
            _some(each.cell, " + "), number(each.measured), number(each.predicted), "" if each.off is None else percent(each.off),
            "; ".join(_some(words, ", ") for words in each.limited_by.split("; ")), "; ".join(each.unexplained),
        )
        for each in odd or rows
    ]  # fmt: skip
    title = "Cells that are not explained" if odd else "Cells of several flows, predicted"
    return Group(title, (table(columns, listed, kind="explaining"),), plural(len(listed), "cell"), len(listed) > _OPEN)


def _some(words: str, between: str) -> str:
    """The first of many names."""
    names = words.split(between)
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED + 1 else ""
    return between.join(names[:_NAMED]) + more if more else words


def uplink_rates(node: Node, found: Capacities | None) -> dict[str, UplinkRate]:
    """By PCI bridge, GB/s down and up; a bridge of which nothing is known is left out."""
    seen = found.known if found else {}
    implied = implied_capacities(node)
    rates = {}
    for bridge in shared_uplinks(node):
        words, slow, said = [], [], []
        for way, sign, whither in _WAYS:
            name = f"switch:{bridge}.{way}"
            best = implied[name].best if name in implied else None
            value = seen.get(name) or (None if best is None else f"≤ {number(best)}")
            if value is not None:
                words.append(f"{sign} {value}")
                slow.append(f"{sign} {value.removeprefix('≥ ')}")
                said.append(f"{value} GB/s {whither}")
        if words:
            own = any(f"switch:{bridge}.{way}" in seen for way, _, _ in _WAYS)
            origin = "seen in this run" if own else "by its links"
            rates[bridge] = UplinkRate(" ".join(words), " ".join(slow), f"{', '.join(said)} ({origin})")
    return rates
