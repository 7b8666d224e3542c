"""Which figures of the history a reference may be made from, pooled by what has to be alike; and what was left out, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from nearfar.base import grouped, listed, statistics
from nearfar.cells import split_class
from nearfar.history import LESS_IS_BETTER, History, RowFilter, pl, series, unsound
from nearfar.measurement import COMPUTE_UNITS
from nearfar.question import judged_elsewhere_by_parts
from nearfar.topology import LOCAL_CLASS
from nearfar.verdict import cell_of, row_fault
from nearfar.verdict.references import known_checks

from . import hosts

#: What has to be the same for figures to be of one pool, beside the row: the software.
STAMP = ("driver", "cuda", "mps")
#: So many runs that were disturbed are named, the latest first; of the rest their number.
_NAMED = 5
#: A time further ahead than this is a wrong clock's.
AHEAD = timedelta(days=1)
#: An interval of 95 % is so many standard deviations wide.
_WIDE = 2 * 1.96
#: Units whose figures are rates; beside times these are tuned.
RATES = ("GB/s", "MB/s", "Mmsg/s", "GFLOP/s", "TFLOP/s")
#: The ratio that is tuned: the slowest of many transfers over the median one.
_OF_THE_WORST = "_tail_worst"
#: The time of the slowest in a hundred transfers.
_OF_A_PERCENTILE = "_tail_p99"


@dataclass(frozen=True)
class NodeFigure:
    """One metric of one node, over its runs in order. ``errors`` are the standard deviations that the values' own intervals tell,
    in the pool's unit; empty where none has one."""

    node: str
    metric: str
    values: tuple[float, ...]
    errors: tuple[float, ...] = ()

    @cached_property
    def median(self) -> float:
        """Over the runs."""
        return statistics.median(self.values)


@dataclass(frozen=True)
class Pool:
    """The figures that one row speaks of. ``model`` is the GPUs', None on nodes without; ``indexed``: whether the figures are
    of GPUs. ``node_type`` is a site file's name, else the product's; ``ceiling`` what the links can carry, in ``unit``;
    ``spread`` is the standard deviation from host to host of this GPU model, as a part of a figure (None: not known);
    ``unreliable`` how many figures of its own were left out because their measurement went wrong; ``beyond`` one of them that cannot
    be, and ``disturbed`` the runs that the others come from, in words."""

    check: str
    model: str | None
    row: str
    unit: str
    kind: str
    indexed: bool
    node_type: str
    ceiling: float | None
    unreliable: int
    figures: tuple[NodeFigure, ...] = field(repr=False)
    beyond: str | None = None
    disturbed: str | None = None
    spread: float | None = None

    @property
    def less_is_better(self) -> bool:
        """Whether the limit is above."""
        return self.unit in LESS_IS_BETTER or self.kind == "worst"

    @property
    def nodes(self) -> dict[str, float]:
        """The median of each node, over its figures and runs."""
        values = grouped((figure.node, value) for figure in self.figures for value in figure.values)
        return {node: statistics.median(own) for node, own in values.items()}


@dataclass(frozen=True)
class ChosenSamples:
    """What was chosen of a history: pools, the runs they come from, the software, and how many figures were left out by
    reason. ``ahead`` are nodes with times in the future; ``names`` has the host of each host name that is not a host of its own;
    ``elsewhere`` check and row of the figures whose fact another one judges."""

    pools: tuple[Pool, ...]
    runs: tuple[str, ...]
    first: datetime
    last: datetime
    stamp: Mapping[str, str]
    left_out: Mapping[str, int]
    figures: int
    ahead: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    elsewhere: frozenset[tuple[str, str]] = frozenset()


def choose(
    store: History,
    question: RowFilter,
    runs: Sequence[str] | None,
    types: Mapping[str, str],
    now: datetime,
    spreads: Mapping[str, Mapping[str, float]] | None = None,
) -> ChosenSamples | None:
    """The figures of ``question`` (and of ``runs`` alone, where they are named) that may enter; None where there are none.

    ``types`` has the node type of each partition that is asked for, ``spreads`` what is known of GPU models, by kind. Of the software
    stamps that counts which most hosts had last; what is dated later than ``now`` and a day decides nothing.
    """
    # A program that does not say whether MPS ran saw none.
    stamped = {"mps": pl.col("mps").fill_null("off")}
    # A run that was recorded again after a compaction is there twice.
    once = pl.col("source").is_first_distinct()
    wanted = pl.col("partition").is_in(list(types))
    if runs is not None:
        wanted &= pl.col("run").is_in(list(runs))
    times = pl.col("started").filter(pl.col("started") <= now + AHEAD)
    stamps = store.aggregated(question, [*STAMP, "reason", "node"], pl.len().alias("count"), times.min().alias("first"),
                              times.max().alias("last"), pl.col("started").max().alias("latest"), pl.col("run").unique().alias("runs"),
                              where=wanted, made={"reason": _reason(), **stamped})  # fmt: skip
    if stamps.is_empty():
        return None
    boards = store.aggregated(
        question, ["node", "run"], pl.col("gpu_uuid").drop_nulls().unique().alias("boards"), where=wanted
    )
    host = hosts.by_name((name, _boards(joined)) for name, _, joined in boards.iter_rows())
    usable = [row for row in stamps.to_dicts() if row["reason"] is None]
    ahead = tuple(sorted({row["node"] for row in stamps.to_dicts() if row["latest"] > now + AHEAD}))
    # Nodes without a driver have no version of it to differ in.
    voting = [row for row in usable if row["driver"] is not None] or usable
    chosen = hosts.majority((host[row["node"]], _stamp(row), row["last"]) for row in voting)
    if chosen is None:
        return _nothing(stamps, ahead)
    same = pl.col("driver").is_null() | pl.all_horizontal(
        stamped.get(key, pl.col(key)).eq_missing(pl.lit(value)) for key, value in zip(STAMP, chosen)
    )
    in_order = (pl.col(name).filter(once).sort_by(pl.col("started").filter(once)) for name in ("value", "low", "high"))
    figures = store.aggregated(
        question, ["check", "metric", "node", "gpu_model", "unit", "mpi", "partition", "product"], *in_order,
        pl.col("rows").first(), pl.col("quantity", "cell", "flow", "class", "engine").first(),
        pl.col("gpus").first(), pl.col("ceiling").max(), pl.col("run").unique().alias("runs"), times.max().alias("last"),
        where=wanted & same & _reason().is_null(),
    )  # fmt: skip
    unreliable = store.aggregated(
        question, ["check", "row", "gpu_model", "unit", "partition", "product"], pl.len().alias("count"),
        *_disturbed_runs(), where=wanted & same & _reason().is_in(_UNRELIABLE),
        made={"row": pl.col("rows").list.last()},
    )  # fmt: skip
    left_out = _left_out(stamps, chosen)
    can_be, cannot = _sifted([{**figure, "host": host[figure["node"]]} for figure in figures.to_dicts()])
    if cannot:
        nodes = listed(sorted({str(figure["node"]) for figure in cannot}), 4)
        left_out[f"that cannot be (of {nodes})"] = sum(figure["count"] for figure in cannot)
    # What has no other figures is still named, and refused.
    pools = _pools([*can_be, *cannot], [*unreliable.to_dicts(), *cannot], types, left_out, spreads or {})
    entered = [row for row in usable if row["driver"] is None or _stamp(row) == chosen]
    return ChosenSamples(
        pools=tuple(pools),
        runs=tuple(sorted({run for joined in figures["runs"].to_list() for run in joined})),
        first=min((row["first"] for row in entered if row["first"] is not None), default=now),
        last=max((row["last"] for row in entered if row["last"] is not None), default=now),
        stamp={key: value for key, value in zip(STAMP, chosen) if value is not None},
        left_out={reason: count for reason, count in left_out.items() if count},
        figures=sum(len(figure["value"]) for figure in can_be),
        ahead=ahead,
        names={name: own for name, own in host.items() if name != own},
        elsewhere=frozenset((f["check"], row) for f in can_be if _judged_elsewhere(f) for row in f["rows"]),
    )


def _boards(joined: Iterable[str]) -> frozenset[str]:
    return frozenset(board for names in joined for board in names.split("+") if board != "?")


def _sifted(figures: Iterable[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The figures with the values that can be (``nearfar.verdict.plausibility``), and those with others, with their ``count`` and ``why``:
    what was recorded before a judge looked at them is left out too."""
    can_be, cannot = [], []
    for figure in figures:
        values = figure["value"]
        # Between two values that can be all can.
        if all(row_fault({**figure, "value": end(values)}) is None for end in (min, max)):
            can_be.append(dict(figure))
            continue
        faults = [row_fault({**figure, "value": value}) for value in values]
        good = [place for place, fault in enumerate(faults) if fault is None]
        if good:
            kept = {name: [figure[name][place] for place in good] for name in ("value", "low", "high")}
            can_be.append({**figure, **kept})
        value, fault = next((value, fault) for value, fault in zip(values, faults) if fault is not None)
        why, count = f"{value:.4g} {figure['unit']} of {figure['node']}: {fault}", len(values) - len(good)
        cannot.append({**figure, "value": [], "low": [], "high": [], "count": count, "why": why})
    return can_be, cannot


#: Reasons that speak of how the measurement went: where many have them, the rest are the best of them.
_UNRELIABLE = ("with clocks held down", "while memory erred", "disturbed by other load", "not verified")


def _reason() -> pl.Expr:
    """Why a figure may not enter; null where it may. One that did not converge may: its interval widens the limit.

    What failed by a tuned row enters: were it left out, each tune would be made from the best of the last one's figures. What lies
    far from the others' is set aside then (``limits``).
    """
    failed = (pl.col("verdict") == "FAIL") & (pl.col("origin") != "tuned").fill_null(True)
    return (
        pl.when(pl.col("quick")).then(pl.lit("of --quick"))
        .when(pl.col("contended")).then(pl.lit("beside other traffic"))
        .when(unsound().is_not_null()).then(unsound())
        .when(failed).then(pl.lit("that failed"))
    )  # fmt: skip


def _disturbed_runs() -> tuple[pl.Expr, ...]:
    """For an aggregation: ``disturbed``, the latest runs with their nodes, and ``disturbances``, how many runs of nodes there are."""
    disturbed = pl.struct("run", "node", _reason().alias("reason"), "disturbance")
    return (
        disturbed.unique().sort(descending=True).head(_NAMED).alias("disturbed"),
        pl.struct("run", "node").n_unique().alias("disturbances"),
    )


def _disturbed_words(groups: Iterable[Mapping[str, Any]]) -> str | None:
    """``20261121T193319 of gpu001: other processes used the CPUs; … and 3 more``, of rows with ``_disturbed_runs``; None of none."""
    groups = list(groups)
    whys: dict[tuple[str, str], dict[str, None]] = {}
    for entry in (entry for group in groups for entry in group["disturbed"]):
        reason = str(entry["reason"])
        known = series.DISTURBED.get(entry["disturbance"] or "", reason)
        why = reason if reason == "with clocks held down" else known
        whys.setdefault((entry["run"], entry["node"]), {})[why] = None
    if not whys:
        return None
    latest, total = sorted(whys, reverse=True)[:_NAMED], sum(group["disturbances"] for group in groups)
    more = f"; and {total - len(latest)} more" if total > len(latest) else ""
    return "; ".join(f"{run} of {node}: {', '.join(whys[run, node])}" for run, node in latest) + more


def _nothing(stamps: pl.DataFrame, ahead: tuple[str, ...]) -> ChosenSamples:
    left_out = dict(stamps.group_by("reason").agg(pl.col("count").sum()).rows())
    runs = {run for names in stamps["runs"].to_list() for run in names}
    moment = max(stamps["latest"].to_list())
    return ChosenSamples((), tuple(sorted(runs)), moment, moment, {}, left_out, 0, ahead)


def _stamp(row: Mapping[str, Any]) -> tuple[str | None, ...]:
    return tuple(row[key] for key in STAMP)


def _left_out(stamps: pl.DataFrame, chosen: tuple[str | None, ...]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for row in stamps.to_dicts():
        other = row["driver"] is not None and _stamp(row) != chosen
        reason = "of other software" if other else row["reason"]
        if reason is not None:
            counts[reason] += row["count"]
    return counts


def _key(figure: Mapping[str, Any], types: Mapping[str, str]) -> tuple[object, ...]:
    """What the figures of a pool have in common."""
    node_type = types[str(figure["partition"])] or str(figure["product"] or "")
    row = figure["row"] if "row" in figure else figure["rows"][-1]
    return figure["check"], figure["gpu_model"], row, figure["unit"], node_type


def _pools(
    figures: Sequence[Mapping[str, Any]],
    unreliable: Iterable[Mapping[str, Any]],
    types: Mapping[str, str],
    left_out: Counter[str],
    spreads: Mapping[str, Mapping[str, float]],
) -> list[Pool]:
    mpi = _mpi(figures)
    by_reason = grouped((not_tuned(figure, mpi.get(str(figure["check"]))), figure) for figure in figures)
    tuned = grouped((_key(figure, types), figure) for figure in by_reason.pop(None, []))
    for reason, own in by_reason.items():
        left_out[str(reason)] += sum(len(figure["value"]) for figure in own)
    doubted = grouped((_key(figure, types), figure) for figure in unreliable)
    return [
        _pool(key, own, doubted.get(key, ()), spreads.get(str(key[1]), {}))
        for key, own in sorted(tuned.items(), key=lambda item: tuple(map(str, item[0])))
    ]


def _mpi(figures: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Of each check the MPI that most hosts had last: checks may be of several, and name one differently."""
    known = (figure for figure in figures if figure["mpi"] is not None)
    seen = grouped((str(each["check"]), (each["host"], str(each["mpi"]), each["last"])) for each in known)
    return {check: chosen for check, own in seen.items() if (chosen := hosts.majority(own)) is not None}


def not_tuned(figure: Mapping[str, Any], mpi: str | None) -> str | None:
    """Why no reference is made of a figure; None where one is. ``mpi``: the library that the pool's figures are of."""
    if figure["check"] not in known_checks():
        return "of a check that there is no more"
    if _judged_elsewhere(figure):
        return "of what another figure judges"
    unit = str(figure["unit"])
    if unit not in RATES and unit not in LESS_IS_BETTER and not str(figure["class"]).endswith(_OF_THE_WORST):
        return "derived from other figures, which are tuned"
    if "+" in str(figure["gpu_model"] or ""):
        return "of GPUs of two models"
    return "of another MPI" if figure["mpi"] not in (None, mpi) else None


def _judged_elsewhere(figure: Mapping[str, Any]) -> bool:
    check, quantity, unit = str(figure["check"]), str(figure["quantity"]), str(figure["unit"])
    derived, cell = split_class(str(figure["class"]))[1], cell_of(str(figure["cell"]))
    return judged_elsewhere_by_parts(check, quantity, unit, derived, cell, figure["flow"] is not None) is not None


def _pool(
    key: tuple[object, ...],
    figures: Sequence[Mapping[str, Any]],
    unreliable: Sequence[Mapping[str, Any]],
    spreads: Mapping[str, float],
) -> Pool:
    check, model, row, unit, node_type = key
    first, kind = figures[0], kind_of(figures[0])
    ceilings = [float(f["ceiling"]) for f in figures if f["ceiling"] is not None]
    return Pool(
        check=str(check), model=None if model is None else str(model), row=str(row), unit=str(unit), kind=kind,
        indexed=first["gpus"] is not None, node_type=str(node_type), ceiling=max(ceilings, default=None),
        unreliable=sum(group["count"] for group in unreliable), beyond=next((f["why"] for f in figures if "why" in f), None),
        figures=_figures(figures), disturbed=_disturbed_words(group for group in unreliable if "disturbed" in group),
        spread=spreads.get(kind),
    )  # fmt: skip


def _figures(figures: Sequence[Mapping[str, Any]]) -> tuple[NodeFigure, ...]:
    """The figures of each host, those of all its names together."""
    by_figure = grouped(((str(each["host"]), str(each["metric"])), each) for each in figures if each["value"])
    made = []
    for (host, metric), own in by_figure.items():
        values, lows, highs = ([v for figure in own for v in figure[name]] for name in ("value", "low", "high"))
        widths = [high - low for low, high in zip(lows, highs) if low is not None and high is not None]
        known = len(widths) == len(values) and min(widths) > 0
        errors = tuple(width / _WIDE for width in widths) if known else ()
        made.append(NodeFigure(host, metric, tuple(values), errors))
    return tuple(made)


def kind_of(figure: Mapping[str, Any]) -> str:
    """Which spread and floors a figure has: ``lone`` cells of a copy engine, those over ``nvlink``, a ``gpu`` that computes or uses its
    own memory, ``pageable`` copies, ``stream`` of cores, ``latency``, the ``worst`` of many transfers over the median one, a high
    ``percentile`` of their times; all others ``windowed``."""
    if str(figure["class"]).endswith(_OF_THE_WORST):
        return "worst"
    if str(figure["class"]).endswith(_OF_A_PERCENTILE):
        return "percentile"
    if str(figure["unit"]) in LESS_IS_BETTER:
        return "latency"
    if str(figure["unit"]) in COMPUTE_UNITS or str(figure["class"]).startswith(LOCAL_CLASS):
        return "gpu"
    if figure["quantity"] == "stream":
        return "windowed" if str(figure["cell"]).startswith("g") else "stream"
    cell = cell_of(str(figure["cell"]))
    if cell is None:
        return "windowed"
    if any(flow.pageable for flow in cell.flows):
        return "pageable"
    if figure["quantity"] != "copy" or figure["engine"] != "ce":
        return "windowed"
    if not cell.lone or any(flow.staged or flow.tasks > 1 for flow in cell.flows):
        return "windowed"
    return "nvlink" if str(figure["class"]).startswith("NV") else "lone"
