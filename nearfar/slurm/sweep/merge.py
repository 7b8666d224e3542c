"""A sweep merged: one verdict per node, ``sweep-report.json`` and the page, and the exit code of the worst."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nearfar import history
from nearfar.base import (
    NOT_JUDGED,
    VERDICTS,
    Finding,
    NearfarError,
    passes,
    plural,
    utc_text,
    worst,
    write_atomically,
)
from nearfar.report import batch
from nearfar.report.batch import Batch, BatchNode, Distributions
from nearfar.run import run_file
from nearfar.slurm.controller import node_names
from nearfar.slurm.results import NodeResult, Pair
from nearfar.topology import written_settings
from nearfar.verdict import case_files

from . import pair_rounds
from .outcome import Outcome, left_out, nightly_summary, outcomes, worst_first
from .sweep_file import LEVELS, Sweep

SCHEMA = "nearfar-sweep-report/1"
REPORT = "sweep-report.json"
_ELSEWHERE = "name another --results DIR"
#: Lines of a summary that speak of single nodes.
_SHOWN = 8


@dataclass(frozen=True)
class Merged:
    """A sweep and what came of it: ``outcomes`` are worst first, ``fleet`` is what concerns all nodes and blames none."""

    sweep: Sweep
    outcomes: list[Outcome]
    pairs: Mapping[Pair, Outcome] = field(default_factory=dict)
    fleet: tuple[Finding, ...] = ()

    @property
    def page(self) -> Path:
        """Where the page is."""
        return self.sweep.folder / "index.html"

    @property
    def degraded(self) -> list[str]:
        """What is DEGRADED of the fleet."""
        return [each.reason for each in self.fleet if each.verdict == "DEGRADED"]

    @property
    def notes(self) -> list[str]:
        """What concerns no single node."""
        fleet = [f"the fleet: {each.reason}" for each in self.fleet if each.verdict == NOT_JUDGED]
        if self.pairs:
            fleet += pair_rounds.notes(self.outcomes, self.pairs)
        elif self.sweep.mpi_pairs:
            fleet.append("MPI between nodes was not measured: fewer than two nodes are well by themselves")
        return fleet

    @property
    def verdict(self) -> str:
        """The worst of the nodes' and the fleet's; a sweep that measured no node is never green."""
        words = [one.verdict for one in self.outcomes] or ["INDETERMINATE"]
        return worst([*words, *(each.verdict for each in self.fleet)])

    @property
    def exit_code(self) -> int:
        """Of the worst verdict, and 1 for DEGRADED that an acceptance refuses."""
        acceptance = {"accept_degraded": False} if LEVELS[self.sweep.level].acceptance else None
        return run_file.exit_code(self.verdict, acceptance)

    @property
    def text(self) -> str:
        """What ``sweep-report.json`` holds."""
        sweep = self.sweep
        counts = Counter(one.verdict for one in self.outcomes)
        document = {
            "schema": SCHEMA, "sweep": sweep.name, "pack": sweep.level, "partition": sweep.partition, "reservation": sweep.reservation,
            "started": utc_text(sweep.started), "command": list(sweep.command), "verdict": self.verdict, "exit_code": self.exit_code,
            "counts": {word: counts[word] for word in VERDICTS}, "nodes": [_node(sweep, one) for one in self.outcomes],
            "fleet": [{"verdict": each.verdict, "reason": each.reason} for each in self.fleet],
            "left_out": left_out(sweep),
            "pairs": [_node(sweep, one) for one in self.pairs.values()], "notes": self.notes,
        }  # fmt: skip
        return json.dumps(document, indent=1, ensure_ascii=False) + "\n"

    def summary(self) -> str:
        """The sweep in a dozen lines."""
        counts = Counter(one.verdict for one in self.outcomes)
        words = ", ".join(f"{counts[word]} {word}" for word in VERDICTS if counts[word])
        bad = [one for one in self.outcomes if one.verdict != "PASS"]
        many = f"{plural(len(self.outcomes), 'node')}: {words}"
        lines = [f"{self.verdict}: {many if words else 'no node was measured'}"]
        lines += [nightly_summary(self.sweep)] if self.sweep.idle_only else []
        lines += [f"  {'DEGRADED':13} the fleet: {words}" for words in self.degraded]
        lines += [f"  {one.verdict:13} {one.name}: {one.reason}" for one in bad[:_SHOWN]]
        lines += [f"  and {len(bad) - _SHOWN} more"] if len(bad) > _SHOWN else []
        return "\n".join([*lines, *self.notes, str(self.page)])


def merge(sweep: Sweep) -> Merged:
    """Read a sweep's results and write its report and page into its directory. Raises ``CouldNotJudge`` where that is gone."""
    sweep.check_place()
    distributions, settings = Distributions(), dict[str, dict[str, str]]()

    def add(result: NodeResult) -> None:
        distributions.add_figures(result.name, [(check.check, check.figures) for check in result.checks])
        for place in result.folder.glob(f"*/{case_files.NODE}"):
            if (node := case_files.read_node(place.parent)) is not None:
                settings[result.name] = written_settings(node)

    found = outcomes(sweep, add)
    pairs = pair_rounds.by_pair(sweep)
    if pairs:
        found = worst_first(sweep, pair_rounds.with_pairs(sweep, found, pairs))
    merged = Merged(sweep, found, pairs, fleet_findings(found))
    write_atomically(sweep.folder / REPORT, merged.text, _ELSEWHERE)
    write_atomically(merged.page, _page(merged, distributions, settings), _ELSEWHERE)
    return merged


def fleet_findings(found: Iterable[Outcome]) -> tuple[Finding, ...]:
    """What the history says of the systems of a sweep's nodes, DEGRADED and notes: findings of no node. What cannot be read is a note;
    without a history there is nothing."""
    told: list[Finding] = []
    names = sorted({one.result.system for one in found if one.result is not None})
    if not names or history.no_polars() is not None:
        return ()
    place = history.directory()
    store = history.History(place, lambda _: None, history.trusted(place))
    for name in names:
        try:
            if name in store.systems():
                told += history.fleet_findings.report(store, name).findings
        except NearfarError as error:
            told.append(history.messages.EFFECT_UNREADABLE.finding(history.fleet_findings.FLEET, error=str(error)))
    return tuple(told)


def _node(sweep: Sweep, one: Outcome) -> dict[str, Any]:
    read = one.result
    return {
        "node": one.name, "verdict": one.verdict, "reason": one.reason, "job": one.job_id, "state": one.job.state,
        "notes": list(one.notes),
        "result": None if read is None else str(read.folder.relative_to(sweep.folder)),
        "run": None if read is None else read.run, "hostname": None if read is None else read.hostname,
        "checks": {} if read is None else {check.check: check.verdict for check in read.checks},
        "blamed": [] if read is None else list(read.blamed),
    }  # fmt: skip


def _page(merged: Merged, distributions: Distributions, settings: dict[str, dict[str, str]]) -> str:
    sweep = merged.sweep
    where = f"partition {sweep.partition}" + (f", reservation {sweep.reservation}" if sweep.reservation else "")
    about = [f"Level {sweep.level}: {LEVELS[sweep.level].words}"]
    bad = [one for one in merged.pairs.values() if not passes(one.verdict)]
    page = Batch(
        title=f"{'Nightly run' if sweep.idle_only else 'Sweep'} {sweep.name}", where=where, started=utc_text(sweep.started),
        nodes=[_page_node(sweep, one) for one in merged.outcomes], distributions=distributions,
        about=[*about, *([nightly_summary(sweep)] if sweep.idle_only else [])], command=shlex.join(sweep.command),
        fleet=merged.degraded, notes=[*merged.notes, *(note for one in merged.outcomes for note in one.notes)],
        settings=settings,
        links=[(REPORT, REPORT), ("sweep.json", "sweep.json"), *((one.name, _page_of(sweep, one.result)) for one in bad if one.result)],
    )  # fmt: skip
    return batch.render(page, node_names.fold)


def _page_node(sweep: Sweep, one: Outcome) -> BatchNode:
    read = one.result
    if read is None:
        return BatchNode(one.name, one.verdict, one.reason)
    findings = tuple((check.check, each.subject) for check, each in read.findings if each.verdict == one.verdict)
    between = {"mpi_pairs": one.pairs} if one.pairs else {}
    aside = [f"explained by {' and '.join(read.blamed)}"] if read.blamed else []
    aside += [f"run {read.run}"] if one.verdict != "PASS" else []
    return BatchNode(
        one.name, one.verdict, one.reason, _page_of(sweep, read),
        {**{check.check: check.verdict for check in read.checks}, **between}, findings, ", ".join(aside),
    )  # fmt: skip


def _page_of(sweep: Sweep, read: NodeResult) -> str:
    return f"{read.folder.relative_to(sweep.folder)}/index.html"
