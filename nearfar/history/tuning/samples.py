"""Which figures of the history a reference may be made from, pooled by what has to be alike; and what was left out, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, TypeVar

from nearfar.base import grouped, listed, statistics
from nearfar.cells import split_class
from nearfar.history import LESS_IS_BETTER, History, RowFilter, pl, series, unsound
from nearfar.measurement import COMPUTE_UNITS
from nearfar.question import judged_elsewhere_by_parts
from nearfar.topology import LOCAL_CLASS
from nearfar.verdict import cell_of, row_fault
from nearfar.verdict.references import known_checks

_T = TypeVar("_T", bound=Hashable)
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
    times = pl.col("started").filter(~_ahead(now))
    stamps = store.aggregated(question, [*STAMP, "reason", "node"], pl.len().alias("count"), times.min().alias("first"),
                              times.max().alias("last"), pl.col("started").max().alias("latest"), pl.col("run").unique().alias("runs"),
                              where=wanted, made={"reason": _reason(), **stamped})  # fmt: skip
    if stamps.is_empty():
        return None
    boards = store.aggregated(
        question, ["node", "run"], pl.col("gpu_uuid").drop_nulls().unique().alias("boards"), where=wanted
    )
    host = _by_name(
        (name, frozenset(board for names in joined for board in names.split("+") if board != "?"))
        for name, _, joined in boards.iter_rows()
    )
    seen = stamps.to_dicts()
    usable = [row for row in seen if row["reason"] is None]
    ahead = tuple(sorted({row["node"] for row in seen if row["latest"] > now + AHEAD}))
    # Nodes without a driver have no version of it to differ in.
    voting = [row for row in usable if row["driver"] is not None] or usable
    chosen = _majority((host[row["node"]], _stamp(row), row["last"]) for row in voting)
    left_out = _left_out(seen, chosen)
    if chosen is None:
        every, moment = {run for row in seen for run in row["runs"]}, max(row["latest"] for row in seen)
        return ChosenSamples((), tuple(sorted(every)), moment, moment, {}, left_out, 0, ahead)
    same = pl.col("driver").is_null() | pl.all_horizontal(
        stamped.get(key, pl.col(key)).eq_missing(pl.lit(value)) for key, value in zip(STAMP, chosen)
    )
    sound, doubted = _reason().is_null(), _reason().is_in(_UNRELIABLE)
    in_order = (
        pl.col(name).filter(sound & once).sort_by(pl.col("started").filter(sound & once))
        for name in ("value", "low", "high")
    )
    found = store.aggregated(
        question, ["check", "metric", "node", "gpu_model", "unit", "mpi", "partition", "product"], *in_order,
        pl.col("rows", "quantity", "cell", "flow", "class", "engine", "gpus").first(), pl.col("ceiling").filter(sound).max(),
        pl.col("run").filter(sound).unique().alias("runs"), pl.col("started").filter(sound & ~_ahead(now)).max().alias("last"),
        doubted.sum().alias("unreliable"),
        pl.struct("run", "node", _reason().alias("reason"), "disturbance").filter(doubted).unique().alias("disturbed"),
        where=wanted & same & (sound | doubted),
    )  # fmt: skip
    figures = [_sifted({**figure, "host": host[figure["node"]]}) for figure in found.to_dicts()]
    beyond = [figure for figure in figures if figure["why"]]
    if beyond:
        nodes = listed(sorted({str(figure["node"]) for figure in beyond}), 4)
        left_out[f"that cannot be (of {nodes})"] = sum(figure["beyond"] for figure in beyond)
    pools = _pools(figures, types, left_out, spreads or {})
    entered = [row for row in usable if row["driver"] is None or _stamp(row) == chosen]
    return ChosenSamples(
        pools=tuple(pools),
        runs=tuple(sorted({run for figure in figures for run in figure["runs"]})),
        first=min((row["first"] for row in entered if row["first"] is not None), default=now),
        last=max((row["last"] for row in entered if row["last"] is not None), default=now),
        stamp={key: value for key, value in zip(STAMP, chosen) if value is not None},
        left_out={reason: count for reason, count in left_out.items() if count},
        figures=sum(len(figure["value"]) for figure in figures),
        ahead=ahead,
        names={name: own for name, own in host.items() if name != own},
        elsewhere=frozenset(
            (f["check"], row) for f in figures if f["value"] and _judged_elsewhere(f) for row in f["rows"]
        ),
    )


def _by_name(boards: Iterable[tuple[str, frozenset[str]]]) -> dict[str, str]:
    """The host of each name: the first of the names that had the same boards in every run, else the name itself.

    ``boards`` are a name and the UUIDs of all GPUs that were measured under it in one run. A name whose boards changed is a host of
    its own: boards move between hosts, and are its own where they were measured. So is one without boards.
    """
    sets: dict[str, set[frozenset[str]]] = {}
    for name, own in boards:
        sets.setdefault(name, set()).update([own] if own else [])
    # A run of one check may see fewer boards than the next.
    whole = {name: frozenset().union(*own) for name, own in sets.items()}
    alike: dict[frozenset[str], list[str]] = {}
    for name in sorted(sets):
        if whole[name] and whole[name] in sets[name]:
            alike.setdefault(whole[name], []).append(name)
    return {**{name: name for name in sets}, **{name: names[0] for names in alike.values() for name in names}}


def _majority(seen: Iterable[tuple[str, _T, datetime | None]]) -> _T | None:
    """What most hosts had last, of a host, what it had, and when (None: its clock was wrong then, which counts only where no host's
    was right); of equally many the latest. None where nothing was seen."""
    every = list(seen)
    known = [each for each in every if each[2] is not None] or every
    in_order = sorted(((when or datetime.min, host, what) for host, what, when in known), key=lambda each: each[0])
    newest = {what: when for when, _, what in in_order}
    counts = Counter({host: what for _, host, what in in_order}.values())
    return max(counts, key=lambda what: (counts[what], newest[what]), default=None)


def _ahead(now: datetime) -> pl.Expr:
    return pl.col("started") > now + AHEAD


def _sifted(figure: dict[str, Any]) -> dict[str, Any]:
    """A figure with the values that can be (``nearfar.verdict.plausibility``), how many cannot (``beyond``), and ``why`` one of these
    cannot: what was recorded before a judge looked at them is left out too."""
    values = figure["value"]
    # Between two values that can be all can.
    if not values or all(row_fault({**figure, "value": end(values)}) is None for end in (min, max)):
        return {**figure, "beyond": 0, "why": None}
    faults = [row_fault({**figure, "value": value}) for value in values]
    good = [place for place, fault in enumerate(faults) if fault is None]
    kept = {name: [figure[name][place] for place in good] for name in ("value", "low", "high")}
    value, fault = next((value, fault) for value, fault in zip(values, faults) if fault is not None)
    why = f"{value:.4g} {figure['unit']} of {figure['node']}: {fault}"
    return {**figure, **kept, "beyond": len(values) - len(good), "why": why}


#: Reasons that speak of how the measurement went: where many have them, the rest are the best of them.
_THROTTLED = "with clocks held down"
_UNRELIABLE = (_THROTTLED, "while memory erred", "disturbed by other load", "not verified")


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


def _disturbed_words(figures: Iterable[Mapping[str, Any]]) -> str | None:
    """``20261121T193319 of gpu001: other processes used the CPUs; … and 3 more``, of figures with ``disturbed``; None of none."""
    whys: dict[tuple[str, str], dict[str, None]] = {}
    for entry in (entry for figure in figures for entry in figure["disturbed"]):
        reason = str(entry["reason"])
        why = reason if reason == _THROTTLED else series.DISTURBED.get(entry["disturbance"] or "", reason)
        whys.setdefault((entry["run"], entry["node"]), {})[why] = None
    if not whys:
        return None
    latest = sorted(whys, reverse=True)[:_NAMED]
    more = f"; and {len(whys) - len(latest)} more" if len(whys) > len(latest) else ""
    return "; ".join(f"{run} of {node}: {', '.join(sorted(whys[run, node]))}" for run, node in latest) + more


def _stamp(row: Mapping[str, Any]) -> tuple[str | None, ...]:
    return tuple(row[key] for key in STAMP)


def _left_out(stamps: Iterable[Mapping[str, Any]], chosen: tuple[str | None, ...] | None) -> Counter[str]:
    counts: Counter[str] = Counter()
    for row in stamps:
        other = chosen is not None and row["driver"] is not None and _stamp(row) != chosen
        reason = "of other software" if other else row["reason"]
        if reason is not None:
            counts[reason] += row["count"]
    return counts


def _pools(
    figures: Sequence[Mapping[str, Any]],
    types: Mapping[str, str],
    left_out: Counter[str],
    spreads: Mapping[str, Mapping[str, float]],
) -> list[Pool]:
    """The figures of each row of references; what has none that can be is still named, and refused."""

    def key(figure: Mapping[str, Any]) -> tuple[str, str | None, str, str, str]:
        node_type = types[str(figure["partition"])] or str(figure["product"] or "")
        return figure["check"], figure["gpu_model"], figure["rows"][-1], figure["unit"], node_type

    entering = [figure for figure in figures if figure["value"] or figure["why"]]
    # Of each check the MPI that most hosts had last: checks may be of several, and name one differently.
    libraries = ((str(f["check"]), (f["host"], str(f["mpi"]), f["last"])) for f in entering if f["mpi"] is not None)
    mpi = {check: _majority(own) for check, own in grouped(libraries).items()}
    by_reason = grouped((not_tuned(figure, mpi.get(str(figure["check"]))), figure) for figure in entering)
    tuned = grouped((key(figure), figure) for figure in by_reason.pop(None, []))
    for reason, own in by_reason.items():
        left_out[str(reason)] += sum(len(figure["value"]) for figure in own)
    every = grouped((key(figure), figure) for figure in figures)
    return [
        _pool(of, own, every[of], spreads.get(str(of[1]), {}))
        for of, own in sorted(tuned.items(), key=lambda item: tuple(map(str, item[0])))
    ]


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
    key: tuple[str, str | None, str, str, str],
    figures: Sequence[Mapping[str, Any]],
    every: Sequence[Mapping[str, Any]],
    spreads: Mapping[str, float],
) -> Pool:
    """The pool of some ``figures``; ``every`` has those too that were left out."""
    check, model, row, unit, node_type = key
    kind = kind_of(figures[0])
    return Pool(
        check, model, row, unit, kind, figures[0]["gpus"] is not None, node_type,
        ceiling=max((float(f["ceiling"]) for f in figures if f["ceiling"] is not None), default=None),
        unreliable=sum(f["unreliable"] + f["beyond"] for f in every), beyond=next((f["why"] for f in figures if f["why"]), None),
        figures=_figures(figures), disturbed=_disturbed_words(every), spread=spreads.get(kind),
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
    """Which spread and floors a figure has: ``lone`` cells of a copy engine, those over ``nvlink``, a ``gpu`` that uses its own memory,
    its ``fp32`` products, which follow its clock, others, which follow its ``power``, ``pageable`` copies, ``stream`` of cores,
    ``latency``, the ``worst`` of many transfers over the median one, a high ``percentile`` of their times; all others ``windowed``."""
    if str(figure["class"]).endswith(_OF_THE_WORST):
        return "worst"
    if str(figure["class"]).endswith(_OF_A_PERCENTILE):
        return "percentile"
    if str(figure["unit"]) in LESS_IS_BETTER:
        return "latency"
    if str(figure["unit"]) in COMPUTE_UNITS:
        return "fp32" if "sgemm" in str(figure["quantity"]) else "power"
    if str(figure["class"]).startswith(LOCAL_CLASS):
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
