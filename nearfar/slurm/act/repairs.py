"""``nearfar slurm clear``: an administrator's word that nodes were repaired or checked. ``nearfar slurm retest``: drained nodes measured
again by a sweep inside a reservation; the ledger is locked for the steps before and after, not while it measures."""

from __future__ import annotations

import os
import secrets
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any

from nearfar.base import CouldNotJudge, Finding, NearfarError, good, passes, plural, process, second_text, user_name
from nearfar.cells import parse
from nearfar.question import QUICK, covering_health, find
from nearfar.site import HEALTH, Policy
from nearfar.slurm.controller import NodeState, Slurm, node_names
from nearfar.slurm.drains import drained_by_prolog, drained_by_us, our_reason
from nearfar.slurm.findings import fails, intake, runs_of_sweep
from nearfar.slurm.ledger import (
    CheckRun,
    Evidence,
    Ledger,
    LedgerAction,
    Past,
    actions,
    add_run,
    close_findings,
    evidence_in,
    note_action,
)
from nearfar.slurm.sweep import CHOICES, LEVELS, Level, sweep_file
from nearfar.slurm.trust import Trust, owner_of, typed_as

from . import admin_host, messages, quarantine
from .judge_nodes import flapping
from .node_states import reason_of
from .one_call import ActOptions, reconcile, whole_name
from .quarantine import resuming, write


@dataclass(frozen=True)
class Repaired:
    """How a clear or a retest went with a node, in words; ``in_use``: whether it is, as far as nearfar can do something about that."""

    node: str
    words: str
    in_use: bool = True


def clear(options: ActOptions, names: Sequence[str], because: str, slurm: Slurm) -> Iterator[Repaired]:
    """Close what is known of nodes until now, and resume those that nearfar drained; each is given when that is done. Raises
    ``NearfarError``, before anything is done, for names that Slurm does not know, and later where the next node would fare no better: no
    permission, no answer from slurmctld. The error names the nodes that were not reached."""
    state = admin_host.prepare(options.state)
    with admin_host.locked(state, slurm) as ledger:
        quarantine.recover(state, slurm, ledger)
        now, nodes = time.time(), slurm.nodes()
        past = reconcile(ledger, nodes, slurm.started, now)
        known = {row["node"] for row in ledger.rows("SELECT DISTINCT node FROM check_run")}
        unknown = [name for name in names if name not in nodes and name not in known]
        if unknown:
            words = "Slurm has no such node, and the ledger knows nothing of it; nothing was done"
            raise NearfarError(f"{node_names.fold(unknown)}: {words}")
        for index, name in enumerate(names):
            try:
                yield _clear(name, nodes.get(name), past, because, slurm, ledger)
            except NearfarError as error:
                raise type(error)(f"{error}; not cleared: {node_names.fold(names[index:])}") from None


def _clear(name: str, state: NodeState | None, past: Past, because: str, slurm: Slurm, ledger: Ledger) -> Repaired:
    if name in past.retested:
        words = f"not cleared: it is being retested inside reservation {past.retested[name]}"
        return Repaired(name, words, in_use=False)
    if drained_by_us(state, name in past.drained):
        assert state is not None and state.reason is not None
        problem = write(actions.CLEAR, name, resuming(state.reason), slurm, ledger, reason=state.reason, why=because)
        if problem is not None:
            return Repaired(name, f"not cleared: {problem.why}", in_use=False)
        [row] = ledger.rows("SELECT max(seq) AS seq FROM action WHERE node = ? AND kind = ?", name, actions.CLEAR)
        closed = _close(ledger, name, row["seq"])
        return Repaired(name, f"in use again; {closed}; it was drained with '{state.reason}'")
    with ledger.transaction():
        closed = _close(ledger, name, note_action(ledger, actions.CLEAR, time.time(), name, why=because))
    if state is not None and state.out:
        closed += f"; it stays {state.words}, not drained by nearfar: '{' '.join((state.reason or '').split())}'"
    return Repaired(name, closed)


def _close(ledger: Ledger, name: str, seq: int) -> str:
    closed = close_findings(ledger, name, seq, inf, time.time())  # all that the ledger has is from before
    return f"{plural(closed, 'hard finding')} closed" if closed else "slow figures from before no longer count"


#: Seconds that a sweep takes beside its jobs: submissions, the merge.
_BESIDE = 900.0
#: The level that is no full run.
_QUICK = "quick"


@dataclass(frozen=True)
class RetestOptions:
    """What an administrator asks for."""

    #: As Slurm lists them.
    nodes: str
    level: str
    partition: str | None
    #: The exact reason that others drained new nodes with.
    delivered: str | None


@dataclass(frozen=True)
class Suspect:
    """A node to be retested."""

    node: str
    reason: str
    #: None: as delivered.
    drained: LedgerAction | None
    #: Its open hard evidence: only a full run that passes closes it.
    open: Sequence[Evidence] = ()

    @property
    def known(self) -> dict[str, Any]:
        """What it is drained with where it does not pass."""
        return {"reason": self.reason}


def retest(request: RetestOptions, options: ActOptions, slurm: Slurm, tell: Callable[[str], None]) -> list[Repaired]:
    """Retest nodes. Raises ``NearfarError`` where one may not be, or where anything is unclear: all are drained then."""
    if options.results is None:
        raise NearfarError("a retest needs the directory that its results go to: --results DIR")
    user = _measuring_user(options.results, options.state)
    if user not in options.policy.trusted:
        raise NearfarError(
            f"the results of {user_name(user)} do not count: add it to `act: trusted` of system '{options.policy.system}'"
        )
    Trust(options.results, options.policy.trusted).check_parents()
    state, name = admin_host.prepare(options.state), quarantine.PREFIX + secrets.token_hex(4)
    with quarantine.alive(state, name):
        with admin_host.locked(state, slurm) as ledger:
            for line in (line for lines in quarantine.recover(state, slurm, ledger) for line in lines):
                tell(line)
            these, partition = _prepared(request, options, slurm, ledger)
            quarantine.begin(name, {each.node: each.known for each in these}, user_name(user), slurm, ledger)
        runs, began = None, time.time()
        try:
            runs = _measure(request.level, partition, [each.node for each in these], name, options, tell)
        finally:  # interrupted, the nodes are drained again before this ends
            with admin_host.locked(state, slurm) as ledger:
                result = _end(name, began, these, runs or (), options, slurm, ledger)
    return result


def _prepared(request: RetestOptions, options: ActOptions, slurm: Slurm, ledger: Ledger) -> tuple[list[Suspect], str]:
    now, nodes = time.time(), slurm.nodes()
    past = reconcile(ledger, nodes, slurm.started, now)
    evidence = evidence_in(ledger, options.policy.system)
    names = node_names.listed(request.nodes, "NODES")
    these = [
        _suspect(name, nodes.get(name), past, evidence.get(name, ()), options.policy, request.delivered)
        for name in names
    ]
    for suspect in these:
        check = None if suspect.drained is None else suspect.drained.check
        if check is not None and not _asks(LEVELS[request.level], check):
            which = ", ".join(name for name in CHOICES if _asks(LEVELS[name], check)) or "none"
            words = f"{suspect.node} was drained for {check}, which it does not ask; levels that do: {which}"
            raise NearfarError(f"--level {request.level}: {words}")
    return these, request.partition or _partition([nodes[name] for name in names])


def _suspect(
    name: str, state: NodeState | None, past: Past, evidence: Sequence[Evidence], policy: Policy, delivered: str | None
) -> Suspect:
    """Raise ``NearfarError`` for a node that may not be resumed."""
    if state is None:
        raise NearfarError(f"{name}: Slurm has no such node")
    if name in past.retested:
        raise NearfarError(f"{name}: it is being retested inside reservation {past.retested[name]}")
    if not state.drain or state.reason is None:
        raise NearfarError(f"{name}: it is {state.words}, not drained: there is nothing to retest")
    if state.rebooting:
        raise NearfarError(f"{name}: it is {state.words}: wait until it has been rebooted")
    if (state.base != "IDLE" and (state.base != "DOWN" or state.dead)) or not state.free_of_jobs:
        what = "it has to be up" if state.base in ("DOWN", "UNKNOWN") else "jobs still run on it; wait for them"
        raise NearfarError(f"{name}: it is {state.words}: {what}")
    drained, ours = past.drained.get(name), our_reason(state)
    if drained_by_us(state, drained is not None):
        flaps = flapping(past, policy, name)
        if flaps is not None:
            cause = messages.FLAPS.finding(name, count=flaps[0], since=second_text(flaps[1]), dead=None)
            raise NearfarError(f"{name}: {cause.reason}")
        if drained is None and ours is not None:
            drained = LedgerAction(0, 0.0, actions.ADOPTED, name, reason=state.reason, check=whole_name(ours.check))
        return Suspect(name, state.reason, drained, evidence)
    if state.reason == delivered or (drained_by_prolog(state) and evidence):
        return Suspect(name, state.reason, None, evidence)
    given = f"'{' '.join(state.reason.split())}'" + ("" if delivered is None else f", not '{delivered}'")
    raise NearfarError(f"{name}: drained by somebody else with {given}; theirs to resume, or --accept-delivered REASON")


def _end(
    name: str, began: float, these: Sequence[Suspect], runs: Sequence[CheckRun], options: ActOptions, slurm: Slurm, ledger: Ledger,
) -> list[Repaired]:  # fmt: skip
    result, policy = list[Repaired](), options.policy
    again: dict[str, Mapping[str, Any]] = {}
    with ledger.transaction():
        for run in runs:
            add_run(ledger, run)
    now = time.time()
    if runs and options.health is not None:
        with suppress(CouldNotJudge):  # what cannot be read now stays open, and drains the node later
            intake.take_in(ledger, actions.past(ledger, now), policy, None, options.health, None, now)
    evidence, own = evidence_in(ledger, policy.system), {run.run for run in runs}
    for suspect in these:
        found = [each for each in evidence.get(suspect.node, ()) if each.found_by.run not in own]
        before = [each for each in found if each.found_by.known <= began]
        drain, words = judge(replace(suspect, open=before), runs, policy)
        late = next((each for each in found if each not in before), None)
        if drain is None and late is not None:
            drain = suspect.known
            words = f"{words}, but meanwhile {late.found_by.check} found: {late.finding.reason}; drained as before"
        result.append(Repaired(suspect.node, words, drain is None))
        if drain is not None:
            again[suspect.node] = drain
    passed = {one.node: f"its retest passed: {one.words}" for one in result if one.in_use}
    quarantine.end(name, again, passed, began, slurm, ledger)
    return result


def judge(suspect: Suspect, runs: Sequence[CheckRun], policy: Policy) -> tuple[Mapping[str, Any] | None, str]:
    """What a node is drained with again after its retest (None: it passed), and why in words. A node that nearfar drained passes by the
    check that drained it and by full runs that cover its open hard evidence, unless another check that may drain fails; a delivered one by
    every check."""
    of_node = [run for run in runs if run.node == suspect.node]
    if not of_node:
        return suspect.known, "it left no result that counts: drained as before"
    # However a node's clock is set: these runs are of now.
    unending = replace(policy, max_age=inf, confirm_within=inf)
    for worst in fails(of_node, unending, 0.0, time.time()):
        check = worst.found_by.check
        own = suspect.drained is None or check == suspect.drained.check
        if own or policy.step(check, worst.finding.hard) == "drain":
            found = {"check": check, "finding": worst.finding.to_raw(), "run": worst.found_by.run}
            return {"reason": str(reason_of(worst)), **found}, f"drained again: {worst.finding.reason}"
    failing = ", ".join(sorted({run.check for run in of_node if not passes(run.verdict)}))
    if suspect.drained is None:
        if failing:
            return suspect.known, f"{failing} could not be judged: drained as before"
        why = "accepted: every check passed"
    else:
        cause = passed_since(suspect.node, of_node, suspect.drained)
        why = cause.reason
        if not good(cause.verdict):
            return suspect.known, f"{why}: drained as before"
    still = next((each for each in suspect.open if not covered(each, of_node)), None)
    if still is not None:
        what = f"{still.found_by.check} {still.finding.subject}"
        lacking = (
            f"{failing} did not pass, and {what} needs a full run that does"
            if failing
            else f"no full run covers {what}"
        )
        return suspect.known, f"{why}, but {lacking}: drained as before"
    return None, why


def passed_since(node: str, runs: Sequence[CheckRun], drained: LedgerAction) -> Finding:
    """PASS where the check that drained a node passed in its newest run, else why not."""
    # Both look at the node's parts.
    right = (drained.check, covering_health()) if drained.check == HEALTH else (drained.check,)
    newest = max((run for run in runs if run.check in right), key=lambda run: run.ended, default=None)
    if newest is None:
        return messages.NOT_RUN.finding(node, check=drained.check)
    if newest.clears(drained.figure):
        return messages.PASSED.finding(node, check=newest.check, run=newest.run)
    message = messages.NOT_COVERED if good(newest.verdict) else messages.NOT_PASSED
    return message.finding(node, check=drained.check, run=newest.run, figure=drained.figure, verdict_of=newest.verdict)


def covered(one: Evidence, runs: Sequence[CheckRun]) -> bool:
    """Whether a full run passed, with the part that a finding speaks of."""
    check = one.found_by.check
    own = [run for run in runs if run.check != HEALTH]
    if not all(passes(run.verdict) and run.level != _QUICK for run in own):
        return False
    cell = _cell(one.finding.fields.get("cell") or one.finding.subject)
    if cell is not None:
        return any(cell in map(_cell, run.cells) for run in own)
    right = (check, covering_health() if check in (HEALTH, _QUICK) else check)
    return any(run.check in right and good(run.verdict) for run in own)


def _cell(text: str) -> object:
    try:
        return parse(text)
    except NearfarError:
        return None


def _measuring_user(results: Path, state: Path) -> int:
    """The owner of the results, where that is this user or root calls. Raises ``NearfarError`` for a directory of somebody else."""
    here, owner, ledger = os.geteuid(), owner_of(results), owner_of(state)
    if owner is None or here in (0, owner):  # the sweep makes one that is missing
        return here if owner is None else owner
    name, other = user_name(owner), "or name a directory of your own that the nodes share: --results DIR"
    if ledger in (None, 0, owner):
        right = 0 if ledger == 0 else owner
        words = f"run it as {user_name(right)} ({typed_as(right)}), {other}"
        raise NearfarError(f"{results}: belongs to {name}: {words}")
    words = f"one user has to own both, or root the ledger: chown -R root {shlex.quote(str(state))}; {other}"
    raise NearfarError(f"{results}: belongs to {name}, and {state} to {user_name(ledger)}: {words}")


def _asks(level: Level, check: str) -> bool:
    levels = () if (question := find(check)) is None else question.levels
    if level.quick or levels == (QUICK,):
        return level.quick and QUICK in levels
    return not level.checks or (covering_health() if check == HEALTH else check) in level.checks


def _partition(nodes: Sequence[NodeState]) -> str:
    common = set(nodes[0].partitions).intersection(*(node.partitions for node in nodes))
    if len(common) != 1:
        which = ", ".join(sorted(common)) or "none has them all"
        raise NearfarError(f"which partition ({which})? --partition P")
    return common.pop()


def _measure(
    level: str, partition: str, names: Sequence[str], reservation: str, options: ActOptions, tell: Callable[[str], None]
) -> Sequence[CheckRun]:  # fmt: skip
    assert options.results is not None
    sweep = time.strftime("%Y%m%dT%H%M%S-retest-", time.gmtime()) + reservation.removeprefix(quarantine.PREFIX)
    command = [
        sys.executable, "-m", "nearfar", "slurm", "sweep", f"--partition={partition}", f"--nodes={node_names.fold(names)}",
        f"--reservation={reservation}", f"--level={level}", f"--results={options.results}", f"--name={sweep}",
    ]  # fmt: skip
    # Killed, this process leaves nobody that measures or holds the results directory.
    environment = {**os.environ, sweep_file.PARENT: str(os.getpid())}
    done = process.run(command, LEVELS[level].minutes * 60 + _BESIDE, env=environment, on_stderr=tell, on_stdout=tell)
    if done.timed_out:
        tell(f"the sweep {sweep} did not end in time; its jobs are cancelled")
    runs, refused = runs_of_sweep(options.results, sweep, options.policy, time.time())
    for line in refused:
        tell(line)
    return runs
