"""The figures of a delivery: pooled over its nodes, with the limits that ``nearfar tune`` would give them, and what is known outside."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nearfar import cells
from nearfar.base import ORDER, Finding, NearfarError, grouped, plural, statistics, worst
from nearfar.history import figure_rows
from nearfar.history.tuning import NodeFigure, Pool, TunedLimit, limits, samples
from nearfar.site import Order, expectations, orders, systems
from nearfar.topology import Link
from nearfar.verdict import Verdict, disturbances, thresholds
from nearfar.verdict.references import ModelRanges, ReferenceFile, find, model_ranges, with_unit

from . import messages
from .decision import ITSELF, DeliveredFigure, Expected
from .measured import BAD, OPEN, standing

#: What is said of a node by the origin of what was expected.
_MESSAGES = {
    "order": messages.PROMISE, "published": messages.UNHEALTHY, "model": messages.UNHEALTHY, ITSELF: messages.OUTLIER,
}  # fmt: skip
#: Of findings that tell a node's figures together.
CODES = frozenset(message.code for message in _MESSAGES.values())


@dataclass(frozen=True)
class Outside:
    """What is known of such nodes beside themselves."""

    order: Order
    ranges: ModelRanges
    spreads: Mapping[str, Mapping[str, float]]
    #: The link to the host by GPU model.
    links: Mapping[str, Link]
    published: Sequence[ReferenceFile]

    def expected(self, pool: Pool) -> list[Expected]:
        """What the figures of a pool should be."""
        found = []
        for promise in self.order.promised:
            if (promise.check, promise.row, promise.unit) != (pool.check, pool.row, pool.unit):
                continue
            sign = 1 if pool.less_is_better else -1
            source = f"promised {with_unit(promise.value, pool.unit)} ({self.order.offer}, page {promise.page})"
            # A plateau differs by so much from run to run.
            bound = promise.value * (1 + sign * thresholds.AS_GOOD)
            found.append(Expected("order", promise.value, bound, "FAIL", source))
        for file in self.published:
            row = file.row(pool.check, pool.model, [pool.row])
            if row is not None and row.unit == pool.unit:
                said = f"published {with_unit(row.value, row.unit)} ({file.reference(row, {}).note})"
                found.append(Expected("published", row.value, row.fail_bound(pool.less_is_better), "DEGRADED", said))
        known = model_ranges.find(self.ranges, pool.model, [pool.row], self.links.get(pool.model or ""))
        if known is not None:
            ranges, margin = known
            low, high = min(each.low for each in ranges), max(each.high for each in ranges)
            source = f"healthy GPUs of this model have {low:.4g} to {with_unit(high, pool.unit)}"
            found.append(Expected("model", low, low * (1 - margin), "DEGRADED", source))
        if pool.ceiling is not None:
            source = f"its links carry {with_unit(pool.ceiling, pool.unit)}"
            found.append(Expected("ceiling", pool.ceiling, None, "", source))
        return found


def outside(order: Order, directories: Sequence[Path]) -> Outside:
    """What order and site files say. Raises ``NearfarError`` for a broken file."""
    models = expectations.gpu_models(list(directories))
    own = order.expect.get("link", {})
    links = {model: Link(**{**expect["link"], **own}) for model, expect in models.items() if "link" in expect}
    system = systems.load_all(list(directories)).get(order.system or "")
    partition = orders.partition_of(order, system)
    files = [] if partition is None else find(partition.references, partition.node_type, directories)
    published = [file for file in files if file.origin == "published"]
    return Outside(order, model_ranges.read(directories), model_ranges.spreads(directories), links, published)


def pools(
    verdicts: Mapping[str, Sequence[Verdict]], known: Outside
) -> tuple[list[Pool], set[tuple[str, str]]]:  # fmt: skip
    """The figures of all nodes by row, each node's runs in order, and which figures (check, metric) ought to be compared: those that
    are promised, or that a reference may be made from."""
    promised = {(promise.check, promise.row) for promise in known.order.promised}
    wanted: set[tuple[str, str]] = set()
    by_row: dict[tuple[str, str | None, str, str], list[dict[str, Any]]] = defaultdict(list)
    for node, own in verdicts.items():
        for verdict in own:
            for row in figure_rows(verdict, {}):
                own_row = next((name for name in row["rows"] if (verdict.check, name) in promised), None)
                if own_row is None and samples.not_tuned(row, row["mpi"]) is not None:
                    continue
                wanted.add((verdict.check, row["metric"]))
                if _sound(row):
                    key = (verdict.check, row["gpu_model"], own_row or row["rows"][-1], row["unit"])
                    by_row[key].append({**row, "node": node})
    found = []
    for (check, model, name, unit), rows in sorted(by_row.items(), key=lambda item: tuple(map(str, item[0]))):
        values = grouped(((row["node"], row["metric"]), row["value"]) for row in rows)
        kind = samples.kind_of(rows[0])
        figures = tuple(NodeFigure(*key, tuple(own)) for key, own in values.items())
        ceiling = max((row["ceiling"] for row in rows if row["ceiling"] is not None), default=None)
        spread = known.spreads.get(model or "", {}).get(kind)
        of_gpus = rows[0]["gpus"] is not None
        found.append(Pool(check, model, name, unit, kind, of_gpus, "", ceiling, 0, figures, spread=spread))
    return found, wanted


def _sound(row: Mapping[str, Any]) -> bool:
    """Whether a figure was measured as it should be (as ``history.unsound``)."""
    disturbed = row["disturbance"] not in (None, disturbances.OWN_HOST)
    doubted = row["throttled"] or row["contended"] or row["quick"] or disturbed or row["verified"] is False
    return not doubted and row["value"] > 0


def compared(pool: Pool, known: Outside, figures: int) -> DeliveredFigure:
    """A pool with what its figures should be: beside the other nodes, where there are enough and they are alike, and beside what is known
    outside; a node has so many ``figures``."""
    expected, median = known.expected(pool), statistics.median(pool.nodes.values())
    limit = _limit(pool, median, figures)
    if isinstance(limit, TunedLimit):
        for bound, verdict in ((limit.bound, "FAIL"), (limit.degraded, "DEGRADED")):
            if bound is not None:
                least = f"at {'most' if pool.less_is_better else 'least'} {with_unit(bound, pool.unit)}"
                source = f"expected {least}: the median of {len(pool.nodes)} nodes is {with_unit(median, pool.unit)}"
                expected.append(Expected(ITSELF, median, bound, verdict, source))
    return DeliveredFigure(
        pool.check, pool.row, pool.model, pool.unit, pool.less_is_better, pool.nodes, median,
        limit if isinstance(limit, str) else None, tuple(expected),
    )  # fmt: skip


def _limit(pool: Pool, median: float, figures: int) -> TunedLimit | str:
    """The limit that tuning gives the nodes, or why they say nothing of each other. What is certainly broken is no healthy figure, and
    takes no part in it. Where few nodes were measured again, as after a repair, what the repair changed is no spread of all nodes: the
    newest run of each counts."""
    sign, most = 1 if pool.less_is_better else -1, thresholds.CERTAINLY_BROKEN.get(pool.kind, math.inf)
    kept = ((f, tuple(v for v in f.values if sign * (v / median - 1) <= most)) for f in pool.figures)
    whole = replace(pool, figures=tuple(replace(figure, values=values) for figure, values in kept if values))
    if 2 * len({figure.node for figure in whole.figures if len(figure.values) > 1}) < len(whole.nodes):
        whole = replace(whole, figures=tuple(replace(figure, values=figure.values[-1:]) for figure in whole.figures))
    if len(whole.nodes) < thresholds.FEWEST_NODES:
        return f"{plural(len(whole.nodes), 'node')}, fewer than {thresholds.FEWEST_NODES}"
    limit = limits.limit(whole, figures)
    if isinstance(limit, str):
        return limit
    apart = 0.0 if limit.bound is None else abs(limit.bound / limit.value - 1)
    if pool.kind != "worst" and apart > thresholds.ALIKE * thresholds.FAIL_FLOOR[pool.kind]:
        low, high = min(pool.nodes.values()), max(pool.nodes.values())
        return f"they differ more than healthy nodes do, from {low:.4g} to {with_unit(high, pool.unit)}"
    return limit


def worse(figure: DeliveredFigure, value: float, expected: Expected) -> bool:
    """Whether a value lies beyond the bound of what is expected."""
    bound = expected.bound
    return bound is not None and (value > bound if figure.less_is_better else value < bound)


def slow_as_a_whole(made: Sequence[DeliveredFigure]) -> list[Finding]:
    """What most nodes are worse in than is known outside, broken promises and the largest loss first."""
    found = []
    for figure in made:
        outer = [each for each in figure.expected if each.origin != ITSELF]
        slow = {each: sum(worse(figure, value, each) for value in figure.nodes.values()) for each in outer}
        missed = [each for each, nodes in slow.items() if 2 * nodes > len(figure.nodes)]
        if not missed:
            continue
        finding = messages.SLOW.finding(
            figure.row, verdict=worst(each.verdict for each in missed), nodes=max(slow.values()), of=len(figure.nodes), check=figure.check,
            median=with_unit(figure.median, figure.unit), expected=[each.source for each in outer if each.bound is not None],
        )  # fmt: skip
        shares = [figure.median / each.value for each in missed]
        loss = 1 / max(shares) if figure.less_is_better else min(shares)
        found.append((ORDER.index(finding.verdict), loss, finding))
    return [finding for _, _, finding in sorted(found, key=lambda each: each[:2])]


def not_alike(made: Sequence[DeliveredFigure]) -> Iterator[Finding]:
    """Figures of nodes enough that do not agree."""
    for figure in made:
        if figure.not_compared is not None and len(figure.nodes) >= thresholds.FEWEST_NODES:
            yield messages.NOT_ALIKE.finding(figure.row, cause=figure.not_compared, check=figure.check)


def of_nodes(pool: Pool, figure: DeliveredFigure, channels: int | None = None) -> Iterator[tuple[str, Finding]]:
    """What is held against single nodes: the worst that a figure is, beside all that was expected of it. ``channels``: of the memory of
    each package."""
    by_node = grouped((one.node, one) for one in pool.figures)
    pick = max if figure.less_is_better else min
    ranked = sorted(figure.expected, key=lambda each: each.verdict != "FAIL")
    for node, own in by_node.items():
        standings = {each: [standing([worse(figure, v, each) for v in one.values]) for one in own] for each in ranked}
        missed = [each for each, states in standings.items() if BAD in states]
        if missed:
            bad = [one for one, word in zip(own, standings[missed[0]]) if word == BAD]
            value = with_unit(pick(one.values[-1] for one in bad), figure.unit)
            # Of two bounds of the nodes themselves the first is the farther one.
            sources = list({each.origin: each.source for each in reversed(missed)}.values())[::-1]
            metrics = [one.metric for one in bad]
            fields = {
                "figures": metrics, **_named(figure, metrics), "worst": value, "sources": sources, "check": figure.check,
                "cause": _channels(figure, pick(one.values[-1] for one in bad), channels),
            }  # fmt: skip
            first = missed[0]
            yield node, _MESSAGES[first.origin].finding(figure.row, verdict=first.verdict, hard=None, **fields)
        elif still_open := next((each for each, states in standings.items() if OPEN in states), None):
            was = f"out of range ({still_open.source})"
            yield node, messages.FAILED_BEFORE.finding(figure.row, was=was, check=figure.check)


def _named(figure: DeliveredFigure, metrics: Sequence[str]) -> dict[str, Any]:
    """What figures of one row are called together: the part that all of them use, the row, and how many there are."""
    try:
        flows = [flow for name in metrics for flow in cells.parse_metric_name(name).cell.flows]
    except NearfarError:  # of MPI and kernels
        flows = []
    gpus = set.intersection(*({*flow.gpus} for flow in flows)) if flows else set()
    memories = {flow.destination.index for flow in flows if flow.kind == "stream"}
    part = None
    if len(gpus) == 1:
        part = f"GPU {gpus.pop()}"
    elif len(memories) == 1:
        part = f"memory of NUMA node {memories.pop()}"
    if len(metrics) == 1 and part is None:
        return {"name": metrics[0]}
    return {"part": part, "name": figure.row, "several": len(metrics) if len(metrics) > 1 else None}


def _channels(figure: DeliveredFigure, value: float, channels: int | None) -> str | None:
    """What explains the rate of a node's own memory: channels that are lost."""
    if channels is None or not figure.row.startswith("local.") or figure.less_is_better:
        return None
    left = round(channels * value / figure.median)
    near = abs(value / figure.median - left / channels) <= thresholds.AS_GOOD
    return f"as of {left} of {channels} memory channels, check the modules" if near and 0 < left < channels else None
