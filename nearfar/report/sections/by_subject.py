"""What a check measured of subjects that are no cells (kernels, MPI, NCCL): a row for each subject, a column for each quantity or size, and
curves over sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nearfar import nccl
from nearfar.base import NOT_JUDGED, ORDER, grouped
from nearfar.report.blocks import Block, Chart, Entry, Text, row, table
from nearfar.report.charts import CurveLine, Findings, draw, over_sizes
from nearfar.report.figures import SIGNS, Figure, class_words, parsed, size, span, wording
from nearfar.topology import Node

#: What is known of a GPU meanwhile, and its unit.
_STATE = {"sm_clock_mhz": "MHz", "power_w": "W", "temperature_c": "°C"}


@dataclass(frozen=True)
class _Reading:
    """A value of a result, and where it stands. ``title``: that of its table; ``bytes``: of a message, where it was measured at several."""

    result: Mapping[str, Any]
    title: str
    row: str
    column: str
    rate: Mapping[str, Any]
    bytes: int | None = None
    #: Whether it is what the result is a figure of.
    leads: bool = True

    @property
    def subject(self) -> str:
        """What the result is about."""
        return str(self.result["cell"])


def subject_tables(figures: Sequence[Figure], document: Mapping[str, Any]) -> list[Block]:
    """Rows with the same columns are a table; below a table of sizes are their curves."""
    readings, known = list(_readings(document)), grouped(((f.subject, f.quantity, f.bytes), f) for f in figures)
    ratios = grouped(((f.subject, f.question), f) for f in figures if f.derived and f.unit == "1")
    classes = {figure.subject: class_words(figure.path_class) for figure in figures}
    sizes = {figure.bytes for figure in figures}
    rows: dict[tuple[str, str], dict[str, Entry]] = {}
    for each in readings:
        found = (
            known.get((each.subject, str(each.result["quantity"]), each.result.get("bytes")), ()) if each.leads else ()
        )
        figure = next(iter(found), None)
        over = ratios.get((each.subject, figure.question), []) if figure else []
        # Of a sweep stand the sizes that are figures; the curve has all.
        if each.bytes is None or each.bytes in sizes or not sizes - {None}:
            rows.setdefault((each.title, each.row), {})[each.column] = _entry(each.rate, figure, over)
    for each in readings:
        if (state := _state(each.result)) and (each.title, each.row) in rows:
            rows[each.title, each.row]["GPU meanwhile"] = Entry(state)
    subjects = {each.row: each.subject for each in readings}
    tables = grouped(((title, tuple(places)), (label, places)) for (title, label), places in rows.items())
    blocks: list[Block] = []
    for (title, columns), members in tables.items():
        labels = (Entry(label, (classes.get(subjects[label], ""),), "label") for label, _ in members)
        body = [row(label, *places.values()) for label, (_, places) in zip(labels, members)]
        blocks.append(table(["", *(f">{column}" for column in columns)], body, title=title, kind="mpi"))
    return [*blocks, *_curves(readings)]


def _readings(document: Mapping[str, Any]) -> Iterator[_Reading]:
    own = (r for r in document.get("results", []) if r.get("flows") and parsed(r.get("cell")) is None)
    results = [r for r in own if all((flow.get("rate") or {}).get("median") is not None for flow in r["flows"])]
    # A kernel's sizes are named, and each has rows of its own.
    sizes = grouped(((r["cell"], r["quantity"]), r.get("bytes")) for r in results if "size" not in r)
    for result in results:
        subject, quantity, flows = str(result["cell"]), str(result["quantity"]), result["flows"]
        _, *middle, what = quantity.replace("_", " ").split(".")
        whole = result.get("total") or flows[0]["rate"]
        if len({*sizes.get((subject, quantity), ())}) > 1:
            title = f"{subject.partition('/')[0]}: {what}"
            bytes_ = int(result.get("bytes") or 0)
            yield _Reading(result, title, subject, size(bytes_), whole, bytes_)
            continue
        label = " ".join(filter(None, [subject, *(w for w in middle if w not in subject), result.get("size")]))
        if "total" not in result and len(flows) > 1:
            for flow in flows:
                yield _Reading(result, "", f"{label} {flow['flow']}", what, flow["rate"], leads=False)
            continue
        yield _Reading(result, "", label, what, whole)
        if solos := [float(flow["solo"]["median"]) for flow in flows if "solo" in flow]:
            alone = sum(solos) / (len(solos) if whole["unit"] == "us" else 1)
            yield _Reading(result, "", label, "alone", {"median": alone, "unit": whole["unit"]}, leads=False)
        for key, value in result.items():
            if key != "total" and isinstance(value, dict) and "median" in value:
                yield _Reading(result, "", label, key.replace("_", " "), value, leads=False)


def _entry(rate: Mapping[str, Any], figure: Figure | None, ratios: Sequence[Figure]) -> Entry:
    words = wording.amount(float(rate["median"]), str(rate["unit"]))
    below = [span(rate["ci"], "1")] if rate["unit"] == "1" and rate.get("ci") else []
    if figure is None:
        return Entry(words, tuple(below), "tight")
    out = figure.shown in ORDER[:3]
    below += [figure.shown] if out else []
    below += [figure.against] if figure.reference else []
    below += [f"{each.derived.replace('_', ' ')} {each.written}" for each in ratios]
    sign = SIGNS[figure.shown] if figure.shown != NOT_JUDGED else ""
    return Entry(words, tuple(below), "tight", figure.sentence if out else "", sign=sign)


def _state(result: Mapping[str, Any]) -> str:
    """``1150 MHz, 225 W, 61 °C, sw_power_cap``: of a GPU while a kernel ran, over all seconds where each was recorded."""
    states = [result["gpu_state"]] if result.get("gpu_state") else result.get("series") or []
    known = {unit: [state[key] for state in states if state.get(key) is not None] for key, unit in _STATE.items()}
    words = [
        f"{'–'.join(dict.fromkeys(f'{v:.0f}' for v in (min(of), max(of))))} {unit}" for unit, of in known.items() if of
    ]
    return ", ".join(
        [*words, *dict.fromkeys(str(reason) for state in states for reason in state.get("throttle") or ())]
    )


def _curves(readings: Sequence[_Reading]) -> list[Block]:
    drawn: list[Block] = []
    for title, mine in grouped((each.title, each) for each in readings if each.bytes is not None).items():
        lines = grouped((each.row, (each.bytes or 0, float(each.rate["median"]))) for each in mine)
        series = [CurveLine(name, name, at, tuple(sorted(points))) for at, (name, points) in enumerate(lines.items())]
        curve = over_sizes(series, str(mine[0].rate["unit"]), f"{title} over the size of a message", "a message")
        drawn += [Chart(curve, title)] if curve else []
    return drawn


def nccl_ring(document: Mapping[str, Any], node: Node | None) -> list[Block]:
    """NCCL's first ring and what limits it, in words and on the node; none of a check without its log."""
    hops = nccl.ring_hops(document, node)
    if not hops:
        return []
    words = f"NCCL's first ring: GPU {' → '.join(map(str, [hop.source for hop in [*hops, *hops[:1]]]))}"
    limiting = "; ".join(hop.words for hop in hops if hop.limiting)
    blocks: list[Block] = [Text((f"{words}{f'; limited by {limiting}' if limiting else ''}",), "muted")]
    if node is not None:
        steps = {hop.source: f"→ GPU {hop.sink}{', limits the ring' if hop.limiting else ''}" for hop in hops}
        blocks.append(Chart(draw(node, Findings(ring=steps))))
    return blocks
