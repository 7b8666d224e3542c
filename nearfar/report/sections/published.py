"""A modelled node beside the published figures of its type: what agrees, by how much, and what has no counterpart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nearfar import cells
from nearfar.base import grouped, listed
from nearfar.model.prediction import NodeType, Prediction, predict
from nearfar.report.blocks import Block, Group, Table, Text, table
from nearfar.report.figures import Figure, kind_parts, number, percent, plural, unit_words

#: Figures that the model was made from: beside what was published they agree with themselves.
NO_AGREEMENT = ("input", "of inputs")
_WORDS = (
    "input: the model was made from this figure, which then agrees with itself and proves nothing; assumed: the model takes it from a "
    "part of the same kind in this node, or a capacity of `kind: assumed` limits it; of inputs: a ratio of inputs; predicted: the model's "
    "own answer; upper bound: an unknown capacity may limit it more; nominal: an upper bound by links whose ceiling is itself not certain"
)
_Row = tuple[str, str, str, str, str]
#: Of figures of each kind, how many they are and how far from what was published.
_SAID = {
    "predicted": "{figures} predicted, which differ by {off} from what was published",
    "assumed": "{count} assumed from like parts of the node",
    "upper bound": "{count} as upper bounds, {off} from what was published",
    "nominal": "{count} nominal, {off} from what was published",
}


def beside(node_type: NodeType, checks: Sequence[tuple[str, Sequence[Figure]]], anchor: str) -> list[Block]:
    """The comparison of a modelled node of this type, which has the node's faults; ``checks`` are titles with their figures. Nothing where
    nothing was published."""
    by_check = {title: [(f, _how(f)) for f in figures if f.published_beside] for title, figures in checks}
    compared = [each for found in by_check.values() for each in found]
    tables = [_table(title, _rows(found)) for title, found in by_check.items() if found]
    listed = node_type.published
    entries = [(entry, predict(cells.parse(entry["cell"]), node_type)) for entry in listed.get("cells", [])]
    if extra := [_extra(entry, found) for entry, found in entries if "value" in entry]:
        tables.append(_table("Cells that the checks do not show, predicted for this page", extra))
    said = [(_name(e), e["says"], _told(found), ", ".join(found.limited_by)) for e, found in entries if "says" in e]
    others = []
    for each in listed.get("not_modelled", []):
        cannot = f"; cannot be {each['impossible']}" if "impossible" in each else ""
        others.append((each["what"], f"{each.get('figures', '')}{cannot}", each["why"]))
    if not tables and not said and not others:
        return []
    words = ("cell", "published", "modelled, GB/s", "limited by")
    blocks: list[Block] = [
        Text((_line(compared),), "answer"),
        Text((f"published: {node_type.source}", *((_WORDS,) if tables else ()), *listed.get("remarks", []))),
        *tables,
        *([table(words, said, title="Published in words, without a figure", kind="explaining")] if said else []),
        *([table(("what", "figures", "why not modelled"), others, title="Published, without a modelled counterpart", kind="explaining")]
          if others else []),
    ]  # fmt: skip
    return [Group("Beside the published figures", tuple(blocks), anchor=f"{anchor}.published", kind="explains")]


def _table(title: str, rows: Sequence[_Row]) -> Table:
    columns = ("figure", ">published", ">modelled, GB/s", ">difference", "in the model")
    return table(columns, rows, title=title, kind="explaining")


def _how(figure: Figure) -> str:
    """What the model knows of the figure: ``input``, ``assumed``, ``predicted``, ``upper bound`` …"""
    return "of inputs" if figure.is_ratio and figure.basis == "input" else figure.basis or "predicted"


def _rows(figures: Sequence[tuple[Figure, str]]) -> list[_Row]:
    named = ((" ".join(filter(None, kind_parts(figure))), figure, how) for figure, how in figures)
    groups = grouped(((what, figure.expected or 0.0, how), figure) for what, figure, how in named)
    kinds = list(dict.fromkeys(what for what, _, _ in groups))
    ordered = sorted(groups.items(), key=lambda item: kinds.index(item[0][0]))
    return [_row(what, value, how, members) for (what, value, how), members in ordered]


def _row(what: str, published: float, how: str, members: Sequence[Figure]) -> _Row:
    values = [figure.value for figure in members if figure.value is not None]
    unit = members[0].unit
    named = listed([figure.pretty for figure in members], 2)
    # A digit more than elsewhere: these are compared with what was printed.
    modelled = "–".join(dict.fromkeys(f"{value:.{2 + (unit == '1')}f}" for value in (min(values), max(values))))
    difference = _agreement([value / published - 1 for value in values], how)
    return f"{what}: {named}", f"{published:g} {unit_words(unit)}".rstrip(), modelled, difference, how


def _extra(entry: Mapping[str, Any], prediction: Prediction) -> _Row:
    """A published figure of a cell that the page predicts."""
    value, total = float(entry["value"]), prediction.total
    difference = "–" if total is None else _agreement([total / value - 1], prediction.basis)
    return _name(entry), f"{value:g} GB/s", _told(prediction), difference, prediction.basis


def _name(entry: Mapping[str, Any]) -> str:
    return f"{entry['what']}: {cells.pretty(cells.parse(entry['cell']))}"


def _told(prediction: Prediction) -> str:
    """The total, what each flow or task has where there are several, and whether that is the best case."""
    if prediction.total is None:
        return "unknown"
    rates = [rate / flow.tasks for flow, rate in prediction.flows.items() if rate is not None]
    tasks = any(flow.tasks > 1 for flow in prediction.flows)
    several = len(rates) > 1 and any(flow.kind != "stream" for flow in prediction.flows)
    each = f", {number(min(rates))} a {'task' if tasks else 'flow'}" if several else ""
    return f"{prediction.total:.2f}{each}{f', {prediction.basis}' if prediction.unknown else ''}"


def _agreement(parts: Sequence[float], how: str) -> str:
    """The difference from what was published; none of an input, which is compared with itself."""
    return "–" if how in NO_AGREEMENT else " to ".join(dict.fromkeys((percent(min(parts)), percent(max(parts)))))


def _line(compared: Sequence[tuple[Figure, str]]) -> str:
    if not compared:
        return "No figure was published of a cell that the checks show."
    shares = grouped((how, figure.share - 1) for figure, how in compared if figure.share is not None)
    inputs = sum(len(found) for how, found in shares.items() if how in NO_AGREEMENT)
    words = [] if "predicted" in shares else ["no figure predicted"]
    for how, said in _SAID.items():
        if found := shares.get(how):
            count, off = len(found), _agreement(found, how)
            words.append(said.format(count=count, figures=plural(count, "figure"), off=off))
    told = f"{'; '.join(words)}."
    left_out = f"{plural(inputs, 'input')} of the model left out: beside what was published they agree with themselves."
    return f"{told[0].upper()}{told[1:]} {left_out}"
