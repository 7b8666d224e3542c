"""``nearfar history``: a figure of a node over time, and across nodes."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from typing import Any

from nearfar import history
from nearfar.base import (
    EXIT_COULD_NOT_JUDGE,
    EXIT_GOOD,
    NOT_JUDGED,
    CouldNotJudge,
    NearfarError,
    columns,
    day_text,
    did_you_mean,
    minute_text,
    parse_since,
    plural,
    say,
    utc_text,
)
from nearfar.history import History, RowFilter, Series, fleet_findings, fleet_levels, pl, series, text
from nearfar.verdict import thresholds

from .command_line import print_json, run_directories

_EPILOG = """\
examples:
  nearfar history                                         list the systems, or the nodes of the only one
  nearfar history --system redwood                        list its nodes, and when they last ran
  nearfar history --node gpu001                           all figures of a node, worst first
  nearfar history --node gpu001 --metric near.n0_g0       one figure of a node, run by run
  nearfar history --metric near.h2d --since 30d           one figure across nodes, worst first
  nearfar history --metric near.h2d --json
  nearfar history --record reports/redwood/2*             add these runs to the history, if they are missing
  nearfar history --shifts --system redwood               what new software changed; later verdicts use it
  nearfar history --node gpu001 --anew                    start its baseline anew, after an intended change
  nearfar history --compact                               merge the small files of many nights

Name a metric as verdicts do (near.n0_g0), or by its reference entry (near.h2d). nearfar validate adds every run to the history, in
NEARFAR_HISTORY, else in reports/history; docs/reference/history.md describes the columns.

exit codes: 0 shown, 2 wrong use (such as an unknown name) or no polars, 3 no such history, it cannot be read, or a
document could not be recorded
"""
#: Lines of a table, unless all are asked for.
MOST_LINES = 40


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = (
        "Show measured figures over time: the median over the runs with its 95 % interval, the last value, a sparkline."
    )
    parser.epilog = _EPILOG
    parser.add_argument("--system", metavar="NAME", help="the system (default: the only one that has runs)")
    parser.add_argument("--node", metavar="NAME", help="show this node")
    parser.add_argument("--metric", metavar="NAME", help="show this metric, or all metrics of this reference entry")
    parser.add_argument("--check", metavar="NAME", help="show only figures of this check")
    parser.add_argument(
        "--since", metavar="DATE", help="show runs since this day (2026-11-01), or of the last 24h, 30d, 12w"
    )
    parser.add_argument("--all", action="store_true", help=f"print all lines, not only the worst {MOST_LINES}")
    parser.add_argument("--json", action="store_true", help="print every run's figures as JSON")
    parser.add_argument("--record", nargs="+", metavar="RUN", help="add these run directories to the history")
    parser.add_argument(
        "--shifts", action="store_true", help="show how a new driver, CUDA, MPS or MPI changed the fleet's figures"
    )
    parser.add_argument(
        "--anew",
        action="store_true",
        help="start the baseline of --node anew, after a repair or an intended change",
    )
    parser.add_argument("--compact", action="store_true", help="merge small files; safe while nodes record")


def run(args: argparse.Namespace) -> int:
    """Answer one question."""
    history.need_polars("no history can be read or written")
    store = History(history.readable(), say)
    if args.record:
        return _record(args.record)
    if args.compact:
        before, after = history.compact(_own(store))
        print(f"{store.directory}: {f'{before} files merged into {after}' if before else 'nothing to merge'}")
        return EXIT_GOOD
    question = _question(args, store)
    if args.shifts:
        return _shifts(args, store, question)
    if args.anew:
        return _begin_anew(args, store, question)
    if question.system is None or (args.node is None and args.metric is None):
        return _overview(args, store, question)
    shown = _series(store, question)
    if args.json:
        _print_json(store, question, series=text.as_json(shown))
        return EXIT_GOOD
    alone = len(shown) == 1 and args.node is not None
    lines = text.runs(shown[0]) if alone else text.table(shown, None if args.all else MOST_LINES)
    print("\n".join([*lines, *_notes(store, question, shown)]))
    return EXIT_GOOD


def _own(store: History) -> History:
    """The history as its owner's runs have it."""
    return History(store.directory, say, history.trusted(store.directory))


def _print_json(store: History, question: RowFilter, **answer: Any) -> None:
    about = {"system": question.system} if question.system is not None else {}
    whole = {"schema": "nearfar-history/1", "directory": str(store.directory), **about, **answer}
    print_json(whole)


def _record(runs: Sequence[str]) -> int:
    folders = [folder for name in runs for folder in run_directories(name)]
    for folder in folders:
        if not (folder / "run.json").is_file():
            raise NearfarError(f"{folder}: no run directory (run.json is not there)")
    left_out: list[str] = []

    def leave_out(message: str) -> None:
        left_out.append(message)
        say(message)

    for folder in folders:
        kept = history.record(folder, say=leave_out)
    summary = f"{plural(len(folders), 'run')} kept in {kept}"
    print(f"{summary}, but for what was left out (above)" if left_out else summary)
    return EXIT_COULD_NOT_JUDGE if left_out else EXIT_GOOD


def _shifts(args: argparse.Namespace, store: History, question: RowFilter) -> int:
    """What new software did to the figures of a system; kept beside its rows, where the judge reads it."""
    given = [name for name in ("node", "metric", "check", "since") if getattr(args, name) is not None]
    if given:
        raise NearfarError(f"--{given[0]}: --shifts is of a whole system; leave it out")
    if question.system is None:
        raise NearfarError(f"--system: which one? There is history of {', '.join(store.systems())}")
    report = fleet_findings.report(_own(store), question.system)
    if args.json:
        levels, findings = [asdict(level) for level in report.levels], [note.to_raw() for note in report.findings]
        _print_json(store, question, levels=levels, findings=findings)
        return EXIT_GOOD
    changes = list(fleet_levels.changes(report.levels))
    lines = text.shifts(changes, None if args.all else MOST_LINES)
    if not changes:
        lines = [
            f"{question.system}: no figure that {thresholds.FEWEST_NODES} nodes or more had with two kinds of software in the last "
            f"{fleet_levels.SPAN.days} days"
        ]
    lines += [f"{note.verdict}: the fleet: {note.reason}" for note in report.findings]
    print("\n".join(lines))
    return EXIT_GOOD


def _begin_anew(args: argparse.Namespace, store: History, question: RowFilter) -> int:
    if question.system is None or question.nodes is None:
        raise NearfarError("--anew: name the node: --node NAME")
    history.begin_anew(store, question.system, question.nodes[0])
    print(f"{question.nodes[0]}: what it measures from now on is compared with nothing that it measured before")
    return EXIT_GOOD


def _question(args: argparse.Namespace, store: History) -> RowFilter:
    """What is asked, each name checked against those that there are."""
    systems = store.systems()
    if not systems:
        raise CouldNotJudge(f"{store.directory}: no history yet; every run of nearfar validate is kept there")
    since = None if args.since is None else parse_since(args.since, datetime.now(timezone.utc))
    if args.system is None and len(systems) > 1:
        if args.node is None and args.metric is None:
            return RowFilter(None, check=args.check, since=since)
        raise NearfarError(f"--system: which one? There is history of {', '.join(systems)}")
    system = args.system or systems[0]
    if system not in systems:
        raise NearfarError(f"--system {system}: no history of it{did_you_mean(system, systems)}")
    nodes = store.nodes(system)
    node = None if args.node is None else history.short_name(args.node)
    if node is not None and node not in nodes:
        raise NearfarError(f"--node {args.node}: no history of it{_nearest(node, nodes)}")
    return RowFilter(system, None if node is None else (node,), args.check, args.metric, None, since)


def _nearest(word: str, known: Sequence[str]) -> str:
    """The nearest known name; all of them only where they are few."""
    hint = did_you_mean(word, list(known))
    return hint if len(hint) < 400 else f" ({len(known)} are known, {known[0]} to {known[-1]})"


def _series(store: History, question: RowFilter) -> list[Series]:
    """The figures that are asked for; a name that no metric has may be that of a row of references."""
    rows = store.rows(question, series.COLUMNS)
    if rows.is_empty() and question.metric is not None:
        as_row = RowFilter(question.system, question.nodes, question.check, None, question.metric, question.since)
        rows = store.rows(as_row, series.COLUMNS)
    if rows.is_empty():
        raise _nothing(store, question)
    all_series = series.from_rows(rows)
    if question.nodes is not None and question.metric is None:
        return sorted(all_series, key=lambda s: s.badness)
    return series.worst_first(all_series)


def _nothing(store: History, question: RowFilter) -> NearfarError:
    """Why there is no such figure: wrong use with the nearest name that there is, or no run of it."""
    known = store.aggregated(
        RowFilter(question.system), ["node", "check", "metric"], pl.col("rows").first(), pl.col("started").max()
    )
    if known.is_empty():
        return CouldNotJudge(f"{store.directory}: no figure of {question.system or 'any system'} that can be read")
    checks = sorted(set(known["check"]))
    if question.check is not None:
        if question.check not in checks:
            return NearfarError(f"--check {question.check}: no figure of it{did_you_mean(question.check, checks)}")
        known = known.filter(pl.col("check") == question.check)
    names = {*known["metric"], *(row for rows in known["rows"].to_list() for row in rows or ())}
    if question.metric is not None:
        if question.metric not in names:
            problem = f"--metric {question.metric}: no figure of that name"
            return NearfarError(f"{problem}{_nearest(question.metric, sorted(names))}")
        own = pl.col("rows").list.contains(question.metric) | (pl.col("metric") == question.metric)
        known = known.filter(own)
    if question.nodes is not None:
        known = known.filter(pl.col("node").is_in(list(question.nodes)))
    if known.is_empty():
        return CouldNotJudge(f"no such figure of {', '.join(question.nodes or ())}; other nodes have it")
    last: datetime = max(known["started"])
    return CouldNotJudge(f"no run since {minute_text(question.since)}; the last was {minute_text(last)}")


def _how_much(row: Mapping[str, Any]) -> tuple[str, str, str]:
    judged, unjudged = row["judged"], row["figures"] - row["judged"]
    beside = f" ({unjudged:,} not judged)" if unjudged else ""
    return (
        minute_text(row["first"]),
        minute_text(row["last"]),
        f"{row['fails']} of {judged:,}{beside}" if judged else "not judged",
    )


def _overview(args: argparse.Namespace, store: History, question: RowFilter) -> int:
    """Of a system how much there is of each node; of several how much of each."""
    of, inside = ("system", "node") if question.system is None else ("node", "metric")
    totals = store.aggregated(
        question, [of], pl.col(inside).n_unique().alias(f"{inside}s"), pl.col("run").n_unique().alias("runs"),
        pl.col("started").min().alias("first"), pl.col("started").max().alias("last"), (pl.col("verdict") == "FAIL").sum().alias("fails"),
        (pl.col("verdict") != NOT_JUDGED).sum().alias("judged"), pl.len().alias("figures"),
    )  # fmt: skip
    if totals.is_empty():
        raise _nothing(store, question)
    if args.json:
        rows = [{**row, "first": utc_text(row["first"]), "last": utc_text(row["last"])} for row in totals.to_dicts()]
        _print_json(store, question, **{f"{of}s": rows})
        return EXIT_GOOD
    numbers = ["nodes", "runs"] if question.system is None else ["runs", "metrics"]
    most = None if args.all or question.system is None else MOST_LINES
    if question.system is None:
        print(f"{plural(len(totals), 'system')} in {store.directory}; --system NAME shows one's nodes")
    else:
        figures = f"{totals['figures'].sum():,} figures of {plural(len(totals), 'node')}"
        print(f"{question.system}: {figures} in {store.directory}")
        totals = totals.sort("fails", "last", descending=[True, False])
    lines = [(row[of], *(str(row[name]) for name in numbers), *_how_much(row)) for row in totals.to_dicts()]
    heads = (of, *numbers, "first", "last", "figures that failed")
    print("\n".join(columns([heads, *lines[:most]], right=[1, 2])))
    if most is not None and len(lines) > most:
        print(f"… and {len(lines) - most} more (--all)")
    return EXIT_GOOD


def _notes(store: History, question: RowFilter, shown: Sequence[Series]) -> list[str]:
    """What a reader would stumble over: clocks that were set back, a figure that is measured no more."""
    notes = []
    for node in sorted({s.node for s in shown if s.last.epoch}):
        notes.append(f"note: the clock of {node} was set back: its runs stand in the order in which they were recorded")
    if question.metric is not None and question.since is None:
        checks = sorted({s.check for s in shown})
        last = max(s.last.started for s in shown)
        month = RowFilter(question.system, question.nodes, since=last)
        known = store.aggregated(month, ["check", "metric"], pl.col("started").max())
        later = known.filter(pl.col("check").is_in(checks) & (pl.col("started").dt.date() > last.date()))
        gone = not later.is_empty() and question.metric not in set(later["metric"])
        if gone:
            hint = _nearest(question.metric, sorted(later["metric"]))
            notes.append(
                f"note: {question.metric} was last measured on {day_text(last)}; {', '.join(checks)} has run since{hint}"
            )
    return notes
