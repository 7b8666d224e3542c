"""What was published of a modelled node's type: how far its figures are from it, and what no figure of its checks has beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nearfar import cells
from nearfar.base import NearfarError, grouped, site_directories
from nearfar.model.diagnosis import degraded_by
from nearfar.model.prediction import NodeType, Prediction, degraded, load_node_type, predict
from nearfar.report.blocks import Block, Group, Text, sentence, table
from nearfar.report.figures import Figure, number, percent, plural

#: Figures that the model was made from: beside what was published they agree with themselves.
_INPUTS = ("input", "of inputs")
#: Of figures of each kind, how many they are and how far from what was published.
_SAID = {
    "predicted": "{figures} predicted, which differ by {off} from what was published",
    "assumed": "{count} assumed from like parts of the node",
    "upper bound": "{count} as upper bounds, {off} from what was published",
    "nominal": "{count} nominal, {off} from what was published",
}


def modelled_type(name: str, faults: Sequence[str]) -> NodeType | None:
    """The type of a modelled node with the faults that it was given (``g2.h2d=0.5``); None where it is not there."""
    try:
        node_type = load_node_type(name, site_directories())
        return degraded(node_type, degraded_by(faults, node_type))
    except NearfarError:
        return None


def beside(node_type: NodeType, figures: Sequence[Figure], anchor: str) -> list[Block]:
    """How far the figures of a modelled node of this type, which has the node's faults, are from what was published, and the published
    cells that no check shows. Nothing where nothing was published. Each figure has its own beside it."""
    compared = [figure for figure in figures if figure.published_beside]
    known = node_type.published
    told = [_told(entry, predict(cells.parse(entry["cell"]), node_type)) for entry in known.get("cells", [])]
    others = []
    for each in known.get("not_modelled", []):
        cannot = f"; cannot be {each['impossible']}" if "impossible" in each else ""
        others.append((each["what"], f"{each.get('figures', '')}{cannot}", each["why"]))
    if not (compared or told or others):
        return []
    columns = ("cell", "published", "modelled, GB/s", "limited by")
    blocks: list[Block] = [
        Text((_line(compared),), "answer"),
        Text((f"published: {node_type.source}", *known.get("remarks", []))),
        *([table(columns, told, title="Cells that the checks do not show", kind="explaining")] if told else []),
        *([table(("what", "figures", "why not modelled"), others, title="Without a modelled counterpart", kind="explaining")]
          if others else []),
    ]  # fmt: skip
    return [Group("Beside the published figures", tuple(blocks), anchor=f"{anchor}.published", kind="explains")]


def _told(entry: Mapping[str, Any], found: Prediction) -> tuple[str, str, str, str]:
    """A published cell, and its prediction: the total, what each flow or task has where there are several, whether it is the best case."""
    name = f"{entry['what']}: {cells.pretty(cells.parse(entry['cell']))}"
    published = entry["says"] if "says" in entry else f"{float(entry['value']):g} GB/s"
    if found.total is None:
        return name, published, "unknown", ""
    rates = [rate / flow.tasks for flow, rate in found.flows.items() if rate is not None]
    tasks = any(flow.tasks > 1 for flow in found.flows)
    several = len(rates) > 1 and any(flow.kind != "stream" for flow in found.flows)
    each = f", {number(min(rates))} a {'task' if tasks else 'flow'}" if several else ""
    off = _off([found.total / float(entry["value"]) - 1]) if "value" in entry and found.basis not in _INPUTS else ""
    words = [f"{found.total:.2f}{each}", off, found.basis if "value" in entry or found.unknown else ""]
    return name, published, ", ".join(filter(None, words)), ", ".join(found.limited_by)


def _line(compared: Sequence[Figure]) -> str:
    if not compared:
        return "No figure was published of a cell that the checks show."
    shares = grouped((_how(figure), figure.share - 1) for figure in compared if figure.share is not None)
    inputs = sum(len(found) for how, found in shares.items() if how in _INPUTS)
    words = [] if "predicted" in shares else ["no figure predicted"]
    for how, said in _SAID.items():
        if found := shares.get(how):
            words.append(said.format(count=len(found), figures=plural(len(found), "figure"), off=_off(found)))
    left_out = f"{plural(inputs, 'input')} of the model left out: beside what was published they agree with themselves."
    return f"{sentence('; '.join(words))} {left_out}"


def _how(figure: Figure) -> str:
    """What the model knows of the figure: ``input``, ``assumed``, ``predicted``, ``upper bound`` …"""
    return "of inputs" if figure.is_ratio and figure.basis == "input" else figure.basis or "predicted"


def _off(parts: Sequence[float]) -> str:
    return " to ".join(dict.fromkeys((percent(min(parts)), percent(max(parts)))))
