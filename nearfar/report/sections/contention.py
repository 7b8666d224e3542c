"""Contention: what MPI and the tasks beside it lose to each other, and threads together or split, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nearfar.mpi import ContentionSubject, contention
from nearfar.report.blocks import Block, Table, words_table
from nearfar.report.figures import number, percent, plural, wording

_ARRANGEMENTS = {
    "per_task": "a pair for each task",
    "all_cores": "pairs on all other cores",
    "pairs": "pairs",
    "together": "threads together",
    "split": "threads split",
    "mpi_only": "MPI alone",
}
_HEAD = (
    "MPI alone",
    "together",
    "penalty",
    "of the 99th percentile",
    "beside polling",
    "moved alone",
    "beside MPI",
    "penalty",
)


def contention_tables(document: Mapping[str, Any]) -> list[Block]:
    """What each kind loses to the other, and latencies by layout of the threads; none of other documents."""
    sides: dict[ContentionSubject, dict[str, Mapping[str, Any]]] = {}
    for about, result in contention.results(document):
        side = "moved" if str(result["quantity"]) in contention.MOVED else "mpi"
        sides.setdefault(about, {})[side] = result
    return [*_split_table(sides), *_penalties(sides), *_alone(sides)]


def _penalties(sides: Mapping[ContentionSubject, Mapping[str, Mapping[str, Any]]]) -> list[Table]:
    rows = []
    for about, mpi, moved in ((about, each["mpi"], each["moved"]) for about, each in sides.items() if len(each) == 2):
        label = f"{_ARRANGEMENTS.get(about.word, about.word)}, {about.count} × {mpi['pairs']}: {_traffic(about)}"
        rows.append((
            label, _alone_of(mpi), _amount(mpi["total"]), _penalty(mpi, "penalty"), _penalty(mpi, "tail_penalty"),
            _penalty(mpi, "polled_penalty"), _alone_of(moved), _amount(moved["total"]), _penalty(moved, "penalty"),
        ))  # fmt: skip
    caption = (
        "tasks × pairs; latencies are halves of round trips, the mean of the pairs' medians; rates are sums. Penalties: "
        "together over alone less 1 (latency), 1 less together over alone (rates), with the interval over the rounds"
    )
    return words_table("What MPI and the tasks lose to each other", caption, _HEAD, rows)


def _split_table(sides: Mapping[ContentionSubject, Mapping[str, Mapping[str, Any]]]) -> list[Table]:
    """Latency beside 1, 2 … tasks in each layout: figure 8 of the Keeneland paper."""
    latencies: dict[tuple[int, str, str], float] = {}
    for about, both in sides.items():
        if about.word in ("together", "split") and "mpi" in both and about.traffic.startswith("pingpong"):
            latencies[about.count, about.word, about.traffic] = _median(both["mpi"]["total"])
    counts = sorted({count for count, _, _ in latencies})
    traffics = list(dict.fromkeys(traffic for _, _, traffic in latencies))
    layouts = [word for word in ("together", "split") if any(w == word for _, w, _ in latencies)]
    columns, rows = [], []
    for traffic in traffics:
        size = traffic.partition("_")[2]
        columns += [f"{size}, {layout}" for layout in layouts] + ([f"{size}, gain"] if len(layouts) == 2 else [])
    for count in counts:
        row = [f"{count} at once"]
        for traffic in traffics:
            found = [latencies.get((count, layout, traffic)) for layout in layouts]
            known = [value for value in found if value is not None]
            gain = known[0] - known[-1] if len(known) == 2 else None
            row += [number(value, "us") for value in [*found, *([gain] if len(layouts) == 2 else [])]]
        rows.append(tuple(row))
    caption = (
        "µs beside so many tasks; together: both threads of a rank beside its GPU, split: the MPI thread near the NIC "
        "or on another package"
    )
    return words_table("MPI latency with threads together and split", caption, tuple(columns), rows)


def _alone(sides: Mapping[ContentionSubject, Mapping[str, Mapping[str, Any]]]) -> list[Table]:
    rows = []
    for about, both in sides.items():
        if about.word != "mpi_only" or "mpi" not in both:
            continue
        spread = both["mpi"]["flows"][0].get("percentiles") or {}
        tail = tuple(number(spread[key], "us") if key in spread else "–" for key in ("p95", "p99", "max"))
        rows.append((f"{plural(about.count, 'pair')}: {_traffic(about)}", _amount(both["mpi"]["total"]), *tail))
    return words_table("MPI alone", "half of a round trip", ("median", "p95", "p99", "longest"), rows)


def _traffic(about: ContentionSubject) -> str:
    kind, _, size = about.traffic.partition("_")
    return f"{'ping-pong' if kind == 'pingpong' else 'stream'} of {size}{' between hosts' if about.place == 'across' else ''}"


def _median(rate: Mapping[str, Any]) -> float:
    return float(rate["median"])


def _amount(rate: Mapping[str, Any]) -> str:
    return wording.amount(_median(rate), str(rate["unit"]))


def _alone_of(result: Mapping[str, Any]) -> str:
    """The sum of what each has alone; of latencies the mean."""
    solos, unit = [_median(flow["solo"]) for flow in result["flows"] if "solo" in flow], str(result["total"]["unit"])
    return wording.amount(sum(solos) / (len(solos) if unit == "us" else 1) if solos else None, unit)


def _penalty(result: Mapping[str, Any], key: str) -> str:
    return percent(_median(result[key]), result[key]["ci"]) if key in result else "–"
