"""A sweep as the page of many nodes has it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from nearfar.base import Finding, utc_text
from nearfar.report import batch
from nearfar.report.batch import Batch, BatchNode, Distributions
from nearfar.slurm.controller import node_names
from nearfar.slurm.results import CheckResult, NodeResult
from nearfar.verdict import MeasuredGpu

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
            (check.check, finding.subject) for check, finding in read.findings if finding.verdict == one.verdict
        )
        between = {"mpi_pairs": one.pairs.verdict} if one.pairs else {}
        aside = [f"explained by {' and '.join(read.blamed)}"] if read.blamed else []
        aside += suspect_boards(read, one.verdict)
        aside += [f"run {read.run}"] if one.verdict != "PASS" else []
        return BatchNode(
            one.name, one.verdict, one.reason, f"{read.folder.relative_to(self._sweep.folder)}/index.html",
            {**{check.check: check.verdict for check in read.checks}, **between}, findings, ", ".join(aside),
        )  # fmt: skip


def suspect_boards(read: NodeResult, verdict: str) -> list[str]:
    """The GPUs to look at, by PCI address and serial number: those of the parts that explain what is slow, else those that every
    finding as bad as the node has in common. Empty for a node that passed, and where findings share no GPU."""
    if verdict == "PASS":
        return []
    of_parts = {int(index) for part in read.blamed for index in re.findall(r"\bg(\d+)\b", part)}
    spoken = [_gpus_of(check, finding) for check, finding in read.findings if finding.verdict == verdict]
    wanted = of_parts or (frozenset.intersection(*spoken) if spoken else frozenset())
    boards = {gpu.index: gpu for check in read.checks for gpu in check.boards}
    return [_board(boards[index]) for index in sorted(wanted) if index in boards]


def _gpus_of(check: CheckResult, finding: Finding) -> frozenset[int]:
    named = re.findall(r"\bg(\d+)\b", finding.fields.get("cell") or finding.subject)
    return frozenset(check.gpus.get(finding.subject) or map(int, named))


def _board(gpu: MeasuredGpu) -> str:
    known = [f"at {gpu.pci}"] if gpu.pci else []
    known.append(f"serial {gpu.serial}" if gpu.serial else f"{gpu.uuid}" if gpu.uuid else "serial not known")
    return f"GPU {gpu.index} {', '.join(known)}"
