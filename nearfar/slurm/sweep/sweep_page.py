"""A sweep as the page of many nodes has it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from nearfar.base import utc_text
from nearfar.report import batch
from nearfar.report.batch import Batch, BatchNode, Distributions
from nearfar.slurm.controller import node_names
from nearfar.slurm.results import NodeResult

from . import nightly
from .levels import LEVELS
from .outcome import Outcome
from .sweep_file import Sweep


class SweepPage:
    """Collects results one by one, then writes the page of all."""

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep
        self._distributions = Distributions()

    def add(self, result: NodeResult) -> None:
        """Take over a result's figures."""
        self._distributions.add_figures(result.name, [(check.check, check.figures) for check in result.checks])

    def render(
        self,
        found: Sequence[Outcome],
        notes: Sequence[str] = (),
        pages: Sequence[tuple[str, str]] = (),
        fleet: Sequence[str] = (),
    ) -> str:
        """The page; ``notes`` concern no single node, ``pages`` are others worth a look (name and place), ``fleet`` is DEGRADED of all."""
        sweep = self._sweep
        where = f"partition {sweep.partition}" + (f", reservation {sweep.reservation}" if sweep.reservation else "")
        what = "Nightly run" if sweep.idle_only else "Sweep"
        page = Batch(
            title=f"{what} {sweep.name}", where=where, started=utc_text(sweep.started),
            nodes=[self._node(one) for one in found], distributions=self._distributions,
            about=self._about(), command=shlex.join(sweep.command),
            fleet=fleet, notes=[*notes, *(note for one in found for note in one.notes)],
            links=[("sweep-report.json", "sweep-report.json"), ("sweep.json", "sweep.json"), *pages],
        )  # fmt: skip
        return batch.render(page, node_names.fold)

    def _about(self) -> list[str]:
        level = self._sweep.level
        return [
            f"Level {level}: {LEVELS[level].words}",
            *([nightly.summary(self._sweep)] if self._sweep.idle_only else []),
        ]

    def _node(self, one: Outcome) -> BatchNode:
        read = one.result
        if read is None:
            return BatchNode(one.name, one.verdict, one.reason)
        findings = tuple(
            (check.check, finding.what) for check, finding in read.findings if finding.verdict == one.verdict
        )
        between = {"mpi_pairs": one.pairs.verdict} if one.pairs else {}
        aside = [f"explained by {' and '.join(read.blamed)}"] if read.blamed else []
        aside += [f"run {read.run}"] if one.verdict != "PASS" else []
        return BatchNode(
            one.name, one.verdict, one.reason, f"{read.folder.relative_to(self._sweep.folder)}/index.html",
            {**{check.check: check.verdict for check in read.checks}, **between}, findings, ", ".join(aside),
        )  # fmt: skip
