"""The nodes of a fleet by what is to be done about them, from all that ``act`` decides from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from nearfar.base import NodeListError, SiteFile, node_set, short_host_name, site_directories, site_files
from nearfar.site import Policy
from nearfar.slurm.act import ActOptions, ActView, LastRead, held_nodes
from nearfar.slurm.controller import NodeState
from nearfar.slurm.findings import CheckRun, drained_by_us
from nearfar.slurm.results import results_directory
from nearfar.slurm.trust import Trust

from . import node_group
from .node_group import DECIDE, GROUPS, TO_TEST, UNKNOWN, WAITS, NodeStatus


@dataclass(frozen=True)
class UsedCap:
    """A cap and how much of it is used: nodes drained, of so many; ``partition`` None: of all nodes."""

    used: int
    of: int
    partition: str | None = None


@dataclass(frozen=True)
class SharedByMany:
    """What is found on many ``nodes`` at once, of ``tested``: ``what`` in few words; ``hard``: no node is drained until a person
    decides; else for a slow figure, which is blamed on no node."""

    what: str
    nodes: Sequence[str]
    tested: int
    hard: bool
    words: str


@dataclass(frozen=True)
class FleetStatus:
    """Every node of a system. ``acted``: when ``act`` ran last (None: never, or not here); ``stopped``: why drains are stopped;
    ``in_all``, ``within_a_day``: the caps, that of all nodes first. ``problems``: files that are not believed, clocks, other systems'
    evidence; ``shared``: what is on many nodes at once; ``act_waits``: ``act`` cannot do its part until a person has
    done something; ``trouble``: why Slurm could not
    be asked, so that all is by the log and the results alone (None: it could); ``asked_for``: nodes that the user has named."""

    system: str
    now: float
    nodes: Sequence[NodeStatus]
    acted: float | None
    stopped: str | None
    in_all: Sequence[UsedCap]
    within_a_day: Sequence[UsedCap]
    max_age: float
    problems: Sequence[str] = ()
    shared: Sequence[SharedByMany] = ()
    act_waits: bool = False
    trouble: str | None = None
    asked_for: Sequence[NodeStatus] = ()
    by_group: Mapping[str, Sequence[NodeStatus]] = field(init=False)

    def __post_init__(self) -> None:
        """Sort the nodes into their groups; what is not known of each is a group only where Slurm could not be asked."""
        groups: dict[str, list[NodeStatus]] = {
            name: [] for name in GROUPS if name != UNKNOWN or self.trouble is not None
        }
        for node in self.nodes:
            groups[node.group].append(node)
        object.__setattr__(self, "by_group", groups)

    @property
    def waits(self) -> bool:
        """Whether something waits for a person; where nodes are named, whether one of them does."""
        if self.asked_for:
            return self.trouble is not None or any(node.group in (DECIDE, WAITS, TO_TEST) for node in self.asked_for)
        return self.act_waits or any(self.by_group[group] for group in (DECIDE, WAITS, TO_TEST))


def status_of(seen: ActView, options: ActOptions, asked_for: Sequence[str] = ()) -> FleetStatus:
    """The fleet, and the nodes that are ``asked_for``, as ``seen``. Its nodes are those that the system's file names under ``hosts``,
    and all that anything is known of; all of Slurm's where it names none of them."""
    policy, last = options.policy, _last_results(options)
    newest, decisions = _newest(seen.runs), {decision.node: decision for decision in seen.decisions.nodes}
    mine = _claimed(policy.system, seen.nodes) or set(seen.nodes)
    names = {*mine, *newest, *(n for n, d in decisions.items() if d.evidence or d.waits or d.drained)}
    if seen.trouble is not None:
        names |= {*seen.past.drained, *last}

    def status(name: str) -> NodeStatus:
        return node_group.of_node(name, decisions.get(name), newest.get(name, {}), seen, policy.max_age, last.get(name))

    in_all, within_a_day = _caps(seen, policy)
    stopped = seen.decisions.stop or seen.past.stopped
    problems = (*seen.refused, *seen.clocks, *seen.other_systems)
    shared = () if seen.trouble is not None else tuple(_shared(seen, policy))
    return FleetStatus(
        policy.system, seen.now, [status(name) for name in sorted(names)], LastRead(options.state).at, stopped, in_all, within_a_day,
        policy.max_age, problems, shared, held_nodes.waits(seen, policy), seen.trouble, [status(name) for name in asked_for],
    )  # fmt: skip


def _shared(seen: ActView, policy: Policy) -> Iterator[SharedByMany]:
    """What is found on many nodes at once, as far as no person has answered it."""
    for blame, nodes in held_nodes.told(seen.decisions, policy):
        yield SharedByMany(f"{blame.check} {blame.metric}", nodes, blame.tested, blame.hard, blame.words)


def _newest(runs: Sequence[CheckRun]) -> dict[str, dict[str, CheckRun]]:
    """Of each node, the newest run of each check."""
    found: dict[str, dict[str, CheckRun]] = defaultdict(dict)
    for run in runs:
        before = found[run.node].get(run.check)
        if before is None or run.known > before.known:
            found[run.node][run.check] = run
    return found


def _caps(seen: ActView, policy: Policy) -> tuple[list[UsedCap], list[UsedCap]]:
    """The caps as they are used: in all, and within a day; of partitions those that are narrower than that of all nodes."""
    ours = {name for name, state in seen.nodes.items() if drained_by_us(state)}
    ours = ours if seen.trouble is None else set(seen.past.drained)
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
