"""The nodes of a fleet by what is to be done about them, from all that ``act`` decides from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from nearfar.base import (
    NodeListError,
    SiteFile,
    day_text,
    node_set,
    passes,
    short_host_name,
    site_directories,
    site_files,
)
from nearfar.site import HEALTH, MPI_PAIRS, Policy
from nearfar.slurm.act import COMMENT, DRAIN, NOTHING, RESUME, ActOptions, ActView, Decision, LastRead, headline
from nearfar.slurm.controller import NodeState
from nearfar.slurm.findings import CheckRun, drained_by_us, our_reason
from nearfar.slurm.results import results_directory
from nearfar.slurm.trust import Trust

WAITS, TO_TEST, RETURNING, SUSPECT = "waits", "to_test", "returning", "suspect"
OTHERS, UNJUDGED, NOT_MEASURED, GOOD = "others", "unjudged", "not_measured", "good"
#: The groups and what they are called, in the order in which they are shown: what a person has to do first.
GROUPS = {
    WAITS: "drained by us, waits for a person",
    TO_TEST: "drained by us, to be tested again",
    RETURNING: "on its way back",
    SUSPECT: "suspect",
    OTHERS: "out of use, not by us",
    UNJUDGED: "could not be judged",
    NOT_MEASURED: "not measured lately",
    GOOD: "good",
}


@dataclass(frozen=True)
class NodeStatus:
    """A node: its group, ``found`` (a finding in few words, empty: none), ``words`` (why, and what is to be done), when it was taken
    out of use, and when its last result came; times in seconds since 1970, None: not known, or never."""

    node: str
    group: str
    words: str = ""
    found: str = ""
    since: float | None = None
    measured: float | None = None
    state: NodeState | None = None


@dataclass(frozen=True)
class UsedCap:
    """A cap and how much of it is used: nodes drained, of so many; ``partition`` None: of all nodes."""

    used: int
    of: int
    partition: str | None = None


@dataclass(frozen=True)
class FleetStatus:
    """Every node of a system. ``acted``: when ``act`` ran last (None: never, or not here); ``stopped``: why drains are stopped;
    ``in_all``, ``within_a_day``: the caps, that of all nodes first. ``problems``: files that are not believed, clocks, other systems'
    evidence; ``blamed``: what is on many nodes at once; ``holds``: a drain is held for others' sake."""

    system: str
    now: float
    nodes: Sequence[NodeStatus]
    acted: float | None
    stopped: str | None
    in_all: Sequence[UsedCap]
    within_a_day: Sequence[UsedCap]
    max_age: float
    problems: Sequence[str] = ()
    blamed: Sequence[str] = ()
    holds: bool = False
    by_group: Mapping[str, Sequence[NodeStatus]] = field(init=False)

    def __post_init__(self) -> None:
        """Sort the nodes into their groups."""
        groups: dict[str, list[NodeStatus]] = {name: [] for name in GROUPS}
        for node in self.nodes:
            groups[node.group].append(node)
        object.__setattr__(self, "by_group", groups)

    @property
    def waits(self) -> bool:
        """Whether something waits for a person."""
        return bool(
            self.by_group[WAITS] or self.by_group[TO_TEST] or self.stopped or self.holds or self.problems or self.blamed
        )


def status_of(seen: ActView, options: ActOptions) -> FleetStatus:
    """The fleet as ``seen``. Its nodes are those that the system's file names under ``hosts``, and all that anything is known of;
    all of Slurm's where it names none of them."""
    policy, last = options.policy, _last_results(options)
    newest, decisions = _newest(seen.runs), {decision.node: decision for decision in seen.decisions.nodes}
    mine = _claimed(policy.system, seen.nodes) or set(seen.nodes)
    names = sorted({*mine, *newest, *(n for n, d in decisions.items() if d.evidence or d.waits or d.drained)})
    nodes = [_node(n, decisions.get(n), list(newest.get(n, {}).values()), seen, policy, last.get(n)) for n in names]
    in_all, within_a_day = _caps(seen, policy)
    stopped = seen.decisions.stop or seen.past.stopped
    problems = (*seen.refused, *seen.clocks, *seen.other_systems)
    hard = [b.words for b in seen.decisions.blamed if b.hard and policy.step(b.check, True) == DRAIN]
    return FleetStatus(
        policy.system, seen.now, nodes, LastRead(options.state).at, stopped, in_all, within_a_day, policy.max_age, problems, hard,
        seen.decisions.held,
    )  # fmt: skip


def _node(
    name: str, decision: Decision | None, newest: Sequence[CheckRun], seen: ActView, policy: Policy, last: float | None
) -> NodeStatus:  # fmt: skip
    state = seen.nodes.get(name)
    measured = max([run.known for run in newest if run.check != HEALTH], default=last)
    since = _out_since(name, state, seen)
    headline_ = "" if decision is None or decision.evidence is None else headline(decision.evidence)

    def said(group: str, words: str = "", found: str = headline_) -> NodeStatus:
        words = words.removeprefix(f"{headline_}: ")
        return NodeStatus(name, group, words, found, since, measured, state)

    if seen.past.retested(name):
        return said(RETURNING, "being tested again inside a reservation; the next act ends a test that was interrupted")
    drained_for = "" if state is None or not drained_by_us(state) else str(our_reason(state)).removeprefix("nearfar: ")
    if decision is not None and decision.waits:
        return said(WAITS, decision.why, headline_ or drained_for)
    if decision is not None and (decision.drained or decision.action == RESUME):
        if decision.action == RESUME:
            return said(RETURNING, f"the next act resumes it: {decision.why}", drained_for)
        return said(TO_TEST, decision.why.removeprefix("stays drained: "), drained_for)
    if state is not None and (state.out or state.down):
        return said(
            OTHERS,
            *((decision.why, f"{_state(state)}; {headline_}") if headline_ and decision else (_state(state), "")),
        )
    if decision is not None and decision.action in (DRAIN, COMMENT):
        how = "drains it" if decision.action == DRAIN else "puts a comment on it"
        return said(SUSPECT, f"the next act {how}: {decision.why}")
    if decision is not None and decision.evidence is not None and decision.action == NOTHING:
        return said(SUSPECT, decision.why)
    group, words = _by_runs(name, newest, seen, policy, measured)
    return said(group, words)


def _by_runs(
    name: str, newest: Sequence[CheckRun], seen: ActView, policy: Policy, measured: float | None
) -> tuple[str, str]:
    """The group of a node that nothing is to be done about, by what its newest runs said."""
    after = seen.past.since.get(name, 0.0)
    recent = [run for run in newest if seen.now - run.known <= policy.max_age]
    # What was found before a person's word, or before a drain, counts no more; that it passed does: a retest comes before its release.
    void = [run for run in recent if run.known <= after and not passes(run.verdict)]
    lately = [run for run in recent if run not in void]
    unjudged = [run for run in lately if run.verdict == "INDETERMINATE"]
    if unjudged:
        which = ", ".join(sorted({run.check for run in unjudged}))
        why = "".join(f": {words}" for words in sorted({run.words for run in unjudged if run.words}))
        return UNJUDGED, f"{which}{why}; its page says more: nearfar slurm status {name}"
    for verdict in ("FAIL", "DEGRADED"):
        which = ", ".join(sorted(run.check for run in lately if run.verdict == verdict))
        if which:
            return SUSPECT, f"{verdict} {which}"
    if void:
        which = ", ".join(sorted(run.check for run in void))
        return NOT_MEASURED, f"{which} not since it was drained, cleared or released on {day_text(after)}"
    if any(run.check not in (HEALTH, MPI_PAIRS) for run in lately):
        return GOOD, ""
    return NOT_MEASURED, "never" if measured is None else f"last on {day_text(measured)}"


def _newest(runs: Sequence[CheckRun]) -> dict[str, dict[str, CheckRun]]:
    """Of each node, the newest run of each check."""
    found: dict[str, dict[str, CheckRun]] = defaultdict(dict)
    for run in runs:
        before = found[run.node].get(run.check)
        if before is None or run.known > before.known:
            found[run.node][run.check] = run
    return found


def _out_since(name: str, state: NodeState | None, seen: ActView) -> float | None:
    """When a node was taken out of use: as the log has it, or Slurm's reason."""
    if state is None or not (state.out or state.down):
        return None
    if drained_by_us(state) and name in seen.past.drained:
        return seen.past.drained[name].at
    return None if state.reason_at is None else state.reason_at.timestamp()


def _state(state: NodeState) -> str:
    reason = " ".join((state.why_out or "").split())
    given = f" '{reason}'" if reason else ""
    return f"{state.words}{given}" + (f" by {state.reason_by}" if reason and state.reason_by else "")


def _caps(seen: ActView, policy: Policy) -> tuple[list[UsedCap], list[UsedCap]]:
    """The caps as they are used: in all, and within a day; of partitions those that are narrower than that of all nodes."""
    ours = {name for name, state in seen.nodes.items() if drained_by_us(state)}
    today = seen.past.drained_today(seen.now)
    members: dict[str, set[str]] = defaultdict(set)
    for name, state in seen.nodes.items():
        for partition in state.partitions:
            members[partition].add(name)
    found = []
    for cap, counted in ((policy.in_all, ours), (policy.per_day, today)):
        narrow = (
            UsedCap(len(counted & these), cap.of(len(these)), partition)
            for partition, these in sorted(members.items())
            if cap.of(len(these)) < cap.nodes
        )
        found.append([UsedCap(len(counted), cap.nodes), *narrow])
    return found[0], found[1]


def _claimed(system: str, nodes: Mapping[str, NodeState]) -> set[str]:
    """The nodes that a system's file names under ``hosts``."""
    path = site_files("systems", site_directories()).get(system)
    hosts = set() if path is None else set(_hosts(SiteFile(path)))
    return {
        name
        for name, node in nodes.items()
        if hosts & {name, (host := node.fields.get("NodeHostName", name)), short_host_name(host)}
    }


def _hosts(file: SiteFile) -> Iterator[str]:
    for pattern in (file.data or {}).get("hosts", ()):
        try:
            yield from map(str, node_set(pattern))
        except NodeListError:  # `nearfar lint` names it
            continue


def _last_results(options: ActOptions) -> dict[str, float]:
    """When the last result of each node came, however old; whether it is believed is not asked."""
    found: dict[str, float] = {}
    if options.results is None:
        return found
    names, _ = results_directory.sweeps(options.results, Trust(options.results, options.policy.trusted))
    for place in (place for name in names for place in results_directory.folders(options.results, name)):
        try:
            came = place.lstat().st_mtime
        except OSError:
            continue
        found[place.parent.name] = max(came, found.get(place.parent.name, 0.0))
    return found
