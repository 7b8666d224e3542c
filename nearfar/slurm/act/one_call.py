"""``nearfar slurm act``, the one process that drains nodes, on the admin host, under a lock; and what it and ``status`` decide from: the
site's files, the ledger and Slurm."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from nearfar import question
from nearfar.base import (
    NearfarError,
    NodeListError,
    SiteFile,
    did_you_mean,
    grouped,
    node_set,
    short_host_name,
    site_directories,
    site_files,
)
from nearfar.site import HEALTH, Policy, drain_policy
from nearfar.slurm.controller import NodeState, Slurm, node_names
from nearfar.slurm.drains import carries, died, drained_by_us, our_reason
from nearfar.slurm.findings import Intake, intake
from nearfar.slurm.ledger import (
    KEPT,
    Ledger,
    LedgerAction,
    Past,
    actions,
    close_findings,
    end_action,
    evidence_in,
    last_measured,
    last_verdicts,
    note_action,
    runs_since,
    slow_nodes,
)

from . import admin_host, quarantine
from .judge_nodes import Facts, judge
from .node_states import NOTHING, Fleet, NodeStatus
from .quarantine import carry_out

#: Where the ledger is, unless the caller names another directory.
STATE = Path("/var/lib/nearfar/act")


@dataclass(frozen=True)
class ActOptions:
    """The results of sweeps, the health findings (None: none), and the directory of the ledger."""

    policy: Policy
    results: Path | None
    health: Path | None
    state: Path = STATE

    def __post_init__(self) -> None:
        """What is written down names whole paths."""
        for name in ("results", "health", "state"):
            path = getattr(self, name)
            object.__setattr__(self, name, None if path is None else path.absolute())


def read_policy(name: str | None) -> Policy:
    """The policy of a system: the one named, else the only one whose file has an ``act``."""
    found = site_files("systems", site_directories())
    opened = {system: SiteFile(path) for system, path in found.items() if name in (None, system)}
    if name is None:
        opened = {system: file for system, file in opened.items() if "act" in (file.data or {})}
    elif not opened:
        raise NearfarError(f"--system: no system file called '{name}'{did_you_mean(name, list(found))}")
    if len(opened) != 1:
        if not opened:
            raise NearfarError(
                "no file of site/systems/ allows `act` anything: write its section `act:` into your system's file, as "
                "docs/drains.md shows it (NEARFAR_SITE names your own directory), or name a file: --system NAME"
            )
        raise NearfarError(f"which system's `act`? {', '.join(opened)} have one; name the system: --system NAME")
    file = next(iter(opened.values()))
    file.check("system-1")
    return drain_policy.of_system(file, question.check_names())


def whole_name(check: str) -> str:
    """The check that a drain's reason names without its ``_check``."""
    names = (HEALTH, *question.check_names())
    return next((name for name in names if name.removesuffix("_check") == check), check)


@dataclass(frozen=True)
class View:
    """The fleet at ``now``, and what it was judged from."""

    options: ActOptions
    facts: Facts
    fleet: Fleet
    #: Files that are not believed, clocks that are off, hard evidence that no policy speaks of: a line each.
    refused: Sequence[str] = ()
    clocks: Sequence[str] = ()
    other_systems: Sequence[str] = ()
    #: When act ran last, by the ledger; None: never, or not here.
    acted: float | None = None

    @property
    def now(self) -> float:
        """Seconds since 1970."""
        return self.facts.now


def view_of(
    ledger: Ledger, options: ActOptions, nodes: Mapping[str, NodeState], past: Past, now: float, taken: Intake | None = None,
    asked_for: Collection[str] = (),
) -> View:  # fmt: skip
    """Judge every node. ``taken``: what this call could not take in; ``asked_for``: nodes of
    which all runs are read."""
    policy, oldest = options.policy, now - options.policy.max_age
    wanted = {*slow_nodes(ledger, policy.system, oldest), *asked_for}
    runs = runs_since(ledger, policy.system, oldest - policy.look_back, wanted)
    facts = Facts(
        policy, now, nodes, past, evidence_in(ledger, policy.system, oldest), runs, last_verdicts(ledger, policy.system, oldest),
        last_measured(ledger, policy.system), _hosts(policy.system, nodes),
    )  # fmt: skip
    [last] = ledger.rows("SELECT max(at) AS at FROM action WHERE kind = ? AND system = ?", actions.CALL, policy.system)
    others = tuple(_evidence_of_other_systems(ledger, options, nodes))
    found = taken or Intake()
    return View(options, facts, judge(facts), found.lines, sorted(found.clocks.values()), others, last["at"])


def _hosts(system: str, nodes: Mapping[str, NodeState]) -> set[str]:
    """The nodes that a system's file names under ``hosts``; all of Slurm's where it names none of them."""
    path, hosts = site_files("systems", site_directories()).get(system), set[str]()
    for pattern in (SiteFile(path).data or {}).get("hosts", ()) if path is not None else ():
        with suppress(NodeListError):  # `nearfar lint` names it
            hosts |= set(map(str, node_set(pattern)))
    own = {name: node.fields.get("NodeHostName", name) for name, node in nodes.items()}
    return {name for name, host in own.items() if hosts & {name, host, short_host_name(host)}} or set(nodes)


def _evidence_of_other_systems(ledger: Ledger, options: ActOptions, nodes: Mapping[str, NodeState]) -> Iterator[str]:
    """A line for each other system with hard evidence on nodes of this Slurm, unless its own file has an ``act``."""
    rows = ledger.rows(
        "SELECT DISTINCT system, finding.node AS node FROM finding JOIN check_run ON check_run.id = check_run "
        "WHERE hard AND closed_by IS NULL AND system != ?",
        options.policy.system,
    )
    files = site_files("systems", site_directories())
    found = grouped((row["system"], row["node"]) for row in rows if row["node"] in nodes)
    for system, these in sorted(found.items()):
        if intake.has_act(system):
            continue
        why = "no system file is called so" if system not in files else f"{files[system]} has no `act`"
        of, why = (f"of system '{system}'", why) if system else ("of no system", "no system file claims these nodes")
        yield f"{node_names.fold(these)}: hard evidence {of}, which nothing is done about: {why}"


#: Seconds that slurmctld may take to save a change (SAVE_MAX_WAIT is 5): what it was given just before it was killed is lost.
_SAVED = 15.0
#: What the ledger keeps of a drain whose reason somebody has replaced.
_REPLACED = "its reason was replaced"


def reconcile(ledger: Ledger, nodes: Mapping[str, NodeState], started: Callable[[], float | None], now: float) -> Past:
    """Write down what Slurm shows of our drains, and return the ledger's past with it. ``started``: asks when slurmctld was started."""
    past = actions.past(ledger, now)
    lost = not any(state.drain for state in nodes.values())
    with ledger.transaction():
        for node, drain in past.drained.items():
            state = nodes.get(node)
            if state is None and drain.outcome == actions.DONE:  # should it come back, nobody has resumed it
                note_action(ledger, actions.LAPSED, now, node, why="Slurm has no such node")
            elif state is not None and node not in past.retested:
                _one(ledger, node, drain, state, started, lost, now)
        for node, state in _unknown(past, nodes):
            ours = our_reason(state)
            assert ours is not None and state.reason is not None
            at = now if state.reason_at is None else min(now, state.reason_at.timestamp())
            note_action(
                ledger, actions.ADOPTED, at, node, reason=state.reason, check=whole_name(ours.check), run=ours.run, user=state.reason_by,
                seen=now,
            )  # fmt: skip
        _given_back(ledger, past, nodes, now)
        past = actions.past(ledger, now)
        # A process that was killed just after it had put a node back has not closed what was found on it.
        for row in ledger.rows("SELECT DISTINCT node FROM finding WHERE hard AND closed_by IS NULL"):
            if row["node"] in past.answered:
                answer = past.answered[row["node"]]
                close_findings(ledger, row["node"], answer.seq, answer.jobs, answer.at)
    return past


def _given_back(ledger: Ledger, past: Past, nodes: Mapping[str, NodeState], now: float) -> None:
    """What was found on machines that a cloud has taken back is answered: the next of the name is another."""
    names = {name for name, state in nodes.items() if state.gone and not state.out} - past.retested.keys()
    query = "SELECT finding.node AS node, max(known) AS known FROM finding JOIN check_run ON check_run.id = check_run GROUP BY finding.node"
    for row in ledger.rows(query) if names else ():
        if row["node"] in names and row["known"] > past.since.get(row["node"], 0.0):
            note_action(ledger, actions.RESUMED, now, row["node"], why="its machine was given back", seen=now)


def _unknown(past: Past, nodes: Mapping[str, NodeState]) -> Iterator[tuple[str, NodeState]]:
    """Nodes drained with a reason of ours that the ledger does not have: their own health checks did it."""
    for node, state in nodes.items():
        if drained_by_us(state) and node not in past.retested:
            drain = past.drained.get(node)
            if drain is None or not carries(state, drain.reason):
                yield node, state


def _one(
    ledger: Ledger, node: str, drain: LedgerAction, state: NodeState, started: Callable[[], float | None], lost: bool, now: float,
) -> None:  # fmt: skip
    """``lost``: Slurm shows no drain at all, as a slurmctld that has lost what it had saved."""
    shown = carries(state, drain.reason)
    seen = drain.at if drain.seen is None else max(drain.at, min(drain.seen, now))
    saved = drain.seen is not None and drain.seen - drain.at > _SAVED
    if drain.outcome != actions.DONE:
        # In use or not: a node that was resumed since may keep the reason (slurm-versions.md), also that of an earlier drain.
        shown = shown and (state.reason_at is None or state.reason_at.timestamp() >= int(drain.at))
        end_action(ledger, drain.seq, actions.DONE if shown else actions.VOID)
        ledger.write("UPDATE action SET seen = ? WHERE seq = ?", now if shown else None, drain.seq)
    elif state.out:
        error = None if shown or died(state) else _REPLACED
        ledger.write("UPDATE action SET seen = ?, error = ? WHERE seq = ?", now, error, drain.seq)
    elif not saved and not shown and _restarted(started, drain.at):
        end_action(ledger, drain.seq, actions.VOID, "slurmctld was killed before it had saved it")
    elif ledger.rows("SELECT 1 FROM action WHERE seq = ? AND error = ?", drain.seq, _REPLACED):
        why = "another reason was written over ours, and that drain was taken back"
        note_action(ledger, actions.LAPSED, now, node, why=why)
    elif lost and not shown and _restarted(started, seen):
        note_action(ledger, actions.LAPSED, now, node, why="slurmctld was started anew and shows no drain at all")
    else:
        # After it was last seen drained; if jobs ran since, Slurm tells when they ended.
        at = state.busy if state.busy is not None and seen <= state.busy <= now else seen
        seq = note_action(ledger, actions.RESUMED, at, node, why="an administrator resumed it", seen=seen)
        close_findings(ledger, node, seq, seen, now)


def _restarted(started: Callable[[], float | None], since: float) -> bool:
    at = started()
    return at is not None and at >= since - 1


#: Seconds that figures which passed are kept.
_FIGURES_KEPT = 10 * 86400.0


@dataclass(frozen=True)
class ActResult:
    """What a call of ``act`` did; ``view`` is the fleet after that."""

    view: View
    #: Every status with an action, and why it was not carried out (None: it was).
    done: Sequence[tuple[NodeStatus, str | None]] = ()
    #: Interrupted retests that were ended, and those that could not be.
    recovered: Sequence[str] = ()
    unclear: Sequence[str] = ()


def act(options: ActOptions, slurm: Slurm) -> ActResult:
    """End retests that were interrupted, take in what is new, decide, and do it."""
    state = admin_host.prepare(options.state)
    with admin_host.locked(state, slurm) as ledger:
        recovered, unclear = quarantine.recover(state, slurm, ledger)
        before = observe(ledger, options, slurm)
        done = [
            (status, carry_out(status, options.policy.system, slurm, ledger))
            for status in before.fleet.nodes.values()
            if status.action != NOTHING
        ]
        with ledger.transaction():
            note_action(ledger, actions.CALL, before.now, system=options.policy.system)
            ledger.write("DELETE FROM action WHERE kind = ? AND at < ?", actions.CALL, before.now - 86400.0)
            figures = max(_FIGURES_KEPT, options.policy.confirm_within + options.policy.max_age)
            ledger.forget(before.now - max(KEPT, options.policy.look_back), before.now - figures)
        after = before
        if done:
            now = time.time()
            seen = view_of(ledger, options, slurm.nodes(), actions.past(ledger, now), now)
            after = replace(before, facts=seen.facts, fleet=seen.fleet, acted=seen.acted)
    return ActResult(after, done, recovered, unclear)


def dry_run(options: ActOptions, slurm: Slurm) -> View:
    """What ``act`` would see and decide now; nothing is written, and no rights are needed."""
    kept = Ledger.read_only(options.state)
    with Ledger.in_memory(kept) as ledger:
        if kept is not None:
            with kept:
                admin_host.check_owner(kept, slurm.cluster())
        return observe(ledger, options, slurm)


def observe(ledger: Ledger, options: ActOptions, slurm: Slurm) -> View:
    """Hold the ledger against Slurm, take in what is new, and judge every node."""
    now, nodes = time.time(), slurm.nodes()
    past = reconcile(ledger, nodes, slurm.started, now)
    taken = intake.take_in(ledger, past, options.policy, options.results, options.health, slurm.cluster(), now)
    return view_of(ledger, options, nodes, past, now, taken)
