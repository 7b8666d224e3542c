"""A sweep as the page of many nodes has it."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence

from nearfar.report import batch
from nearfar.report.batch import Batch, BatchNode, Distributions
from nearfar.slurm.controller import node_names
from nearfar.slurm.results import NodeResult

from . import nightly
from .levels import LEVELS
from .outcome import NodeOutcome
from .state_file import SweepState


class SweepPage:
    """Collects results one by one, then writes the page of all."""

    def __init__(self, journal: SweepState) -> None:
        self._journal = journal
        self._distributions = Distributions()

    def add(self, result: NodeResult) -> None:
        """Take over a result's figures."""
        self._distributions.add(result.node, [check.whole for check in result.checks])

    def render(
        self, found: Sequence[NodeOutcome], notes: Sequence[str] = (), pages: Sequence[tuple[str, str]] = ()
    ) -> str:
        """The page; ``notes`` concern no single node, ``pages`` are others worth a look (name and place)."""
        plan = self._journal.plan
        where = f"partition {plan.partition}" + (f", reservation {plan.reservation}" if plan.reservation else "")
        kind = "Nightly run" if plan.idle_only else "Sweep"
        page = Batch(
            title=f"{kind} {plan.sweep}", where=where, started=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(plan.started)),
            nodes=[self._node(one) for one in found], distributions=self._distributions,
            about=self._about(), command=shlex.join(plan.command),
            notes=[*notes, *(note for one in found for note in one.notes)],
            links=[("sweep-report.json", "sweep-report.json"), ("sweep.json", "sweep.json"), *pages],
        )  # fmt: skip
        return batch.render(page, node_names.fold)

    def _about(self) -> list[str]:
        plan = self._journal.plan
        return [
            f"Pack {plan.pack}: {LEVELS[plan.pack].words}",
            *([nightly.words(self._journal)] if plan.idle_only else []),
        ]

    def _node(self, one: NodeOutcome) -> BatchNode:
        read = one.result
        if read is None:
            return BatchNode(one.node, one.verdict, one.reason)
        findings = tuple(
            (check.check, finding.what) for check, finding in read.findings if finding.verdict == one.verdict
        )
        between = {"mpi_pairs": one.pairs.verdict} if one.pairs else {}
        aside = [f"explained by {' and '.join(read.blamed)}"] if read.blamed else []
        aside += [f"run {read.run}"] if one.verdict != "PASS" else []
        return BatchNode(
            one.node, one.verdict, one.reason, f"{read.folder.relative_to(self._journal.folder)}/index.html",
            {**{check.check: check.verdict for check in read.checks}, **between}, findings, ", ".join(aside),
        )  # fmt: skip
