"""``nearfar slurm act``: the one process that does anything about a node, on an admin host, under a lock."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.site import HEALTH
from nearfar.slurm.controller import Slurm
from nearfar.slurm.findings import (
    ActLog,
    CheckRun,
    back_in_use,
    drained_by_others,
    drains_seen,
    hard_evidence,
    log_line,
    reboots,
    resumed_by_others,
    summarize,
)  # fmt: skip
from nearfar.slurm.health import kept_looks

from . import held_nodes
from .decision import NOTHING, Decision
from .last_read import LastRead
from .node_updates import carry_out
from .options import ActOptions
from .quarantine import left_over, recover
from .state_directory import locked, prepare
from .view import ActView, look


@dataclass(frozen=True)
class ActResult:
    """Every decision that was to be carried out, with why it was not (None: it was). ``recovered``: interrupted retests that
    were ended; ``unclear``: those that could not be."""

    decisions: Sequence[tuple[Decision, str | None]]
    recovered: Sequence[str] = ()
    unclear: Sequence[str] = ()

    @property
    def problems(self) -> dict[str, str | None]:
        """By node."""
        return {decision.node: problem for decision, problem in self.decisions}


def run(options: ActOptions, slurm: Slurm) -> tuple[ActView, ActResult]:
    """End what an earlier process left open, decide, and do it."""
    state = prepare(options.state)
    with locked(state):
        log = ActLog(state)
        recovered, unclear = recover(summarize(log.entries()), slurm, log)
        now, nodes = time.time(), slurm.nodes()
        lost, unclear_too = left_over(summarize(log.entries()), nodes, slurm, log)
        if lost or unclear_too:
            now, nodes = time.time(), slurm.nodes()
            recovered, unclear = [*recovered, *lost], [*unclear, *unclear_too]
        view = look(options, slurm, now, nodes=nodes)
        _write_down(view, options.policy.system, log)
        LastRead(state).note(options, view.until, view.sweeps)
        if view.readings is not None:
            view.readings.save()
        kept_looks.forget(_recorded_looks(view.runs))
        if view.decisions.stop is not None:
            log.note("latch", time.time(), why=view.decisions.stop)
        done = []
        for decision in view.decisions.nodes:
            if decision.action != NOTHING:
                done.append((decision, carry_out(decision, slurm, log)))
    return view, ActResult(done, recovered, unclear)


def _write_down(view: ActView, system: str, log: ActLog) -> None:
    """What was found and seen, before anything is done about it: results may be gone tomorrow, the log is not."""
    written: dict[tuple[object, ...], str] = {}
    for name, hard in sorted(view.decisions.hard.items()):
        for one in hard.new:
            written[one.key] = log.note("evidence", time.time(), name, **log_line(one), system=system).id
    open_ = {name: hard.open for name, hard in view.decisions.hard.items()}
    for name in drained_by_others(view.nodes, open_, view.past):
        state = view.nodes[name]
        log.note("drained_by_others", time.time(), name, since=view.now, reason=state.reason, who=state.reason_by)
    for name, booted in reboots(view.nodes, open_, view.past):
        log.note("rebooted", time.time(), name, booted=booted)
    by_node: dict[str, list[CheckRun]] = defaultdict(list)
    for run in view.runs:
        by_node[run.node].append(run)
    for name, since in back_in_use(view.nodes, view.past, by_node, view.now):
        log.note("back_in_use", time.time(), name, since=since)
    for name, since in resumed_by_others(view.nodes, view.past, by_node, view.now):
        log.note("resumed_by_others", time.time(), name, since=since)
    for name in drains_seen(view.nodes, view.past, view.now):
        log.note("drain_seen", time.time(), name)
    for name in view.decisions.died:
        log.note("died", time.time(), name, state=view.nodes[name].words)
    for name in view.decisions.up_again:
        log.note("up_again", time.time(), name, state=view.nodes[name].words)
    causes = {one.cause: one for one in held_nodes.held(view.decisions, view.decisions.stop or view.past.stopped)}
    held_nodes.write_down(causes, view.past.held, system, log)
    for name, hard in sorted(view.decisions.hard.items()):
        for each in hard.closed:
            assert each.closed_by is not None
            log.note(
                "closed", time.time(), name, evidence=[each.id or written[each.key]], until=each.answered_until, run=each.closed_by.run,
                passed=hard_evidence.passed_at(each), why=f"repaired, and run {each.closed_by.run} passed",
            )  # fmt: skip


def _recorded_looks(runs: Sequence[CheckRun]) -> Iterator[Path]:
    """The health findings of which the log has everything now."""
    for run in runs:
        if run.check == HEALTH and all(finding.hard for finding in run.failures):
            yield Path(run.source)
