"""A sweep merged: one verdict per node, ``sweep-report.json`` and the page, and the exit code of the worst."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nearfar.base import (
    EXIT_COULD_NOT_JUDGE,
    EXIT_FAILED,
    EXIT_GOOD,
    NOT_JUDGED,
    VERDICTS,
    Finding,
    utc_text,
    worst,
    write_atomically,
)
from nearfar.report import acceptance_note

from . import fleet, nightly, pair_rounds
from .levels import LEVELS
from .outcome import Outcome, outcomes, verdict, worst_first
from .pair_rounds import PairRounds
from .sweep_file import Sweep
from .sweep_page import SweepPage

SCHEMA = "nearfar-sweep-report/1"
REPORT = "sweep-report.json"
EXIT_CODES = {"PASS": EXIT_GOOD, "DEGRADED": EXIT_GOOD, "FAIL": EXIT_FAILED, "INDETERMINATE": EXIT_COULD_NOT_JUDGE}
_ELSEWHERE = "name another --results DIR"
#: Lines of a summary that speak of single nodes.
_SHOWN = 8


@dataclass(frozen=True)
class Merged:
    """A sweep and what came of it: ``outcomes`` are worst first, ``fleet`` is what concerns all nodes and blames none."""

    sweep: Sweep
    outcomes: list[Outcome]
    page: Path
    pairs: PairRounds | None = None
    fleet: tuple[Finding, ...] = ()

    @property
    def degraded(self) -> list[str]:
        """What is DEGRADED of the fleet."""
        return [each.reason for each in self.fleet if each.verdict == "DEGRADED"]

    @property
    def notes(self) -> list[str]:
        """What concerns no single node."""
        fleet = [f"the fleet: {each.reason}" for each in self.fleet if each.verdict == NOT_JUDGED]
        return [*fleet, *self._about_pairs, *self._about_acceptance]

    @property
    def _about_acceptance(self) -> list[str]:
        if self.verdict != "DEGRADED" or not LEVELS[self.sweep.level].acceptance:
            return []
        names = [
            *(["the fleet"] if self.degraded else []),
            *(one.name for one in self.outcomes if one.verdict == "DEGRADED"),
        ]
        return [acceptance_note(names, self.sweep.accept_degraded).reason]

    @property
    def _about_pairs(self) -> list[str]:
        if self.pairs is not None:
            return self.pairs.notes()
        sweep = self.sweep
        why = sweep.no_pairs or ("fewer than two nodes are well by themselves" if sweep.mpi_pairs else "")
        return [f"MPI between nodes was not measured: {why}"] if why else []

    @property
    def verdict(self) -> str:
        """The worst of the nodes' and the fleet's."""
        return worst([verdict(self.outcomes), *(each.verdict for each in self.fleet)])

    @property
    def exit_code(self) -> int:
        """Of the worst verdict, and 1 for DEGRADED that an acceptance refuses; a nightly run that measured no node is never green."""
        refused = self._about_acceptance and not self.sweep.accept_degraded
        return EXIT_FAILED if refused else EXIT_CODES[self.verdict]

    def document(self) -> dict[str, Any]:
        """``sweep-report.json``."""
        sweep = self.sweep
        counts = Counter(one.verdict for one in self.outcomes)
        return {
            "schema": SCHEMA, "sweep": sweep.name, "pack": sweep.level, "partition": sweep.partition, "reservation": sweep.reservation,
            "started": utc_text(sweep.started), "command": list(sweep.command), "accept_degraded": sweep.accept_degraded,
            "verdict": self.verdict, "exit_code": self.exit_code,
            "counts": {word: counts[word] for word in VERDICTS}, "nodes": [_node(sweep, one) for one in self.outcomes],
            "fleet": [{"verdict": each.verdict, "reason": each.reason} for each in self.fleet],
            "left_out": nightly.left_out(sweep),
            "pairs": self.pairs.as_json(sweep.folder) if self.pairs else [], "notes": self.notes,
        }  # fmt: skip

    def as_json(self) -> str:
        """The document as text."""
        return json.dumps(self.document(), indent=1, ensure_ascii=False)

    def summary(self) -> str:
        """The sweep in a dozen lines."""
        counts = Counter(one.verdict for one in self.outcomes)
        words = ", ".join(f"{counts[word]} {word}" for word in VERDICTS if counts[word])
        bad = [one for one in self.outcomes if one.verdict != "PASS"]
        many = f"{len(self.outcomes)} node{'s' if len(self.outcomes) != 1 else ''}"
        lines = [f"{self.verdict}: {many}: {words}" if words else f"{self.verdict}: no node was measured"]
        lines += [nightly.summary(self.sweep)] if self.sweep.idle_only else []
        lines += [f"  {'DEGRADED':13} the fleet: {words}" for words in self.degraded]
        lines += [f"  {one.verdict:13} {one.name}: {one.reason}" for one in bad[:_SHOWN]]
        lines += [f"  and {len(bad) - _SHOWN} more"] if len(bad) > _SHOWN else []
        lines += self.notes
        return "\n".join([*lines, str(self.page)])


def merge(sweep: Sweep) -> Merged:
    """Read a sweep's results and write its report and page into its directory. Raises ``CouldNotJudge`` where that is gone."""
    sweep.check_place()
    page = SweepPage(sweep)
    found = outcomes(sweep, page.add)
    pairs = pair_rounds.read(sweep, found)
    if pairs is not None:
        found = worst_first(sweep, pair_rounds.with_pairs(found, pairs))
    merged = Merged(sweep, found, sweep.folder / "index.html", pairs, fleet.findings(found))
    write_atomically(sweep.folder / REPORT, merged.as_json() + "\n", _ELSEWHERE)
    links = pairs.pages(sweep.folder) if pairs else []
    write_atomically(merged.page, page.render(found, merged.notes, links, merged.degraded), _ELSEWHERE)
    return merged


def _node(sweep: Sweep, one: Outcome) -> dict[str, Any]:
    read = one.result
    return {
        "node": one.name, "verdict": one.verdict, "reason": one.reason, "job": one.job.job_id, "state": one.job.state,
        "notes": list(one.notes),
        "result": None if read is None else str(read.folder.relative_to(sweep.folder)),
        "run": None if read is None else read.run, "hostname": None if read is None else read.hostname,
        "checks": {} if read is None else {check.check: check.verdict for check in read.checks},
        "blamed": [] if read is None else list(read.blamed),
    }  # fmt: skip
