"""A modelled node beside the published figures of its type: what agrees, by how much, and what has no counterpart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nearfar import cells
from nearfar.base import NearfarError, site_directories
from nearfar.model.prediction import NodeType, Prediction, load_node_type, predict
from nearfar.report.figures import Figure, class_words, number, percent, plural, unit_words

_WAYS = {"h2d": "host to device", "d2h": "device to host", "p2p": "written by the source"}
#: A value is an input of the model where it is that of a capacity, to this part.
_SAME = 1e-6


@dataclass(frozen=True)
class PublishedRow:
    """Published figures of one kind beside what is modelled. ``how`` says whether the model predicts them."""

    what: str
    published: str
    modelled: str
    difference: str
    how: str


@dataclass(frozen=True)
class PublishedTable:
    """The rows of one check, or of cells that the checks do not show."""

    title: str
    rows: tuple[PublishedRow, ...]


@dataclass(frozen=True)
class Published:
    """What a node's page says of published figures. ``in_words`` (what, said, modelled, limits) were published without a
    figure; ``others`` (what, figures, why) have no modelled counterpart."""

    line: str
    source: str
    tables: tuple[PublishedTable, ...]
    in_words: tuple[tuple[str, str, str, str], ...] = ()
    others: tuple[tuple[str, str, str], ...] = ()
    remarks: tuple[str, ...] = ()


def beside(node_type_name: str, checks: Sequence[tuple[str, Sequence[Figure]]]) -> Published | None:
    """The comparison of a modelled node; ``checks`` are titles with their figures. None where nothing was published."""
    try:
        node_type = load_node_type(node_type_name, site_directories())
    except NearfarError:
        return None
    tables = []
    compared: list[tuple[Figure, str]] = []
    for title, figures in checks:
        mine = [(f, _how(f, node_type)) for f in figures if f.published_beside]
        compared += mine
        if mine:
            tables.append(PublishedTable(title, tuple(_rows(mine))))
    listed = node_type.published
    entries = [(entry, predict(cells.parse(entry["cell"]), node_type)) for entry in listed.get("cells", [])]
    extra = tuple(_extra(entry, found, node_type) for entry, found in entries if "value" in entry)
    if extra:
        tables.append(PublishedTable("Cells that the checks do not show, predicted for this page", extra))
    said = tuple(
        (_name(e), e["says"], _told(found), ", ".join(found.limited_by)) for e, found in entries if "says" in e
    )
    others = tuple((e["what"], e.get("figures", ""), e["why"]) for e in listed.get("not_modelled", []))
    if not tables and not said and not others:
        return None
    remarks = tuple(listed.get("remarks", []))
    return Published(_line(compared), node_type.source, tuple(tables), said, others, remarks)


def _how(figure: Figure, node_type: NodeType) -> str:
    """``input``: the figure is one of the model's own; ``assumed``: one that the model takes from a like part."""
    known = {c.name: c for c in (*node_type.capacities.values(), *node_type.caps.values())}
    limits = [known[name] for name in figure.limited_by if name in known and known[name].value]
    if figure.is_ratio:
        return "of inputs"
    if figure.quantity == "stream":
        return "input"
    for capacity in limits:
        if figure.value and capacity.value and abs(figure.value / capacity.value - 1) < _SAME:
            return "input" if capacity.published else "assumed"
    return "predicted"


def _rows(figures: Sequence[tuple[Figure, str]]) -> list[PublishedRow]:
    groups: dict[tuple[str, float, str], list[Figure]] = {}
    for figure, how in figures:
        groups.setdefault((_what(figure), figure.expected or 0.0, how), []).append(figure)
    kinds = list(dict.fromkeys(what for what, _, _ in groups))
    ordered = sorted(groups.items(), key=lambda item: kinds.index(item[0][0]))
    return [_row(what, value, how, members) for (what, value, how), members in ordered]


def _row(what: str, published: float, how: str, members: Sequence[Figure]) -> PublishedRow:
    values = [figure.value for figure in members if figure.value is not None]
    unit = members[0].unit
    named = ", ".join(figure.pretty for figure in members[:2])
    more = f" and {len(members) - 2} more" if len(members) > 2 else ""
    low, high = _digits(min(values), unit), _digits(max(values), unit)
    modelled = low if low == high else f"{low}–{high}"
    return PublishedRow(f"{what}: {named}{more}", f"{published:g} {unit_words(unit)}".rstrip(), modelled,
               _differences([value / published - 1 for value in values]), how)  # fmt: skip


def _what(figure: Figure) -> str:
    kind = class_words(figure.path_class)
    if figure.derived:
        kind += f" {figure.derived.replace('_', ' ')}"
    assert figure.cell is not None, "published figures are of cells"
    flows = figure.cell.flows
    ways = {flow.direction for flow in flows}
    if flows[0].kind == "peer" and len(flows) > 1:
        return f"{kind}, both directions"
    if flows[0].staged:
        return f"{kind}, peer access off"
    if len(ways) > 1:
        return f"{kind}, both directions" + (", total" if figure.is_total else "")
    way = ways.pop()
    return f"{kind}, {_WAYS.get(way, f'STREAM {way}')}"


def _extra(entry: Mapping[str, Any], prediction: Prediction, node_type: NodeType) -> PublishedRow:
    """A published figure of a cell that the page predicts."""
    value, total = float(entry["value"]), prediction.total
    known = {capacity.name: capacity for capacity in node_type.caps.values() if capacity.published}
    own = [known[name].value for name in prediction.limited_by if name in known]
    inputs = total in own or all(flow.kind == "stream" for flow in prediction.flows)
    difference = "–" if total is None or prediction.unknown else percent(total / value - 1)
    return PublishedRow(
        _name(entry), f"{value:g} GB/s", _told(prediction), difference, "input" if inputs else "predicted"
    )


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
    return f"{prediction.total:.2f}{each}{', at best' if prediction.unknown else ''}"


def _digits(value: float, unit: str) -> str:
    return f"{value:.3f}" if unit == "1" else f"{value:.2f}"


def _differences(parts: Sequence[float]) -> str:
    low, high = percent(min(parts)), percent(max(parts))
    return low if low == high else f"{low} to {high}"


def _line(compared: Sequence[tuple[Figure, str]]) -> str:
    predicted = [f.share - 1 for f, how in compared if how == "predicted" and f.share is not None]
    if not compared:
        return "No figure was published of a cell that the checks show."
    words = f"{plural(len(compared), 'modelled figure')} with a published counterpart"
    if not predicted:
        return f"{words}, none of them predicted: they are the model's inputs, or taken from like parts of the node."
    return (
        f"{words}; {len(predicted)} of them are predicted, not inputs, and differ by {_differences(predicted)} from what was "
        "published."
    )
