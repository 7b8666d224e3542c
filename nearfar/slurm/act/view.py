"""What ``act`` and ``status`` work on and decide from, and the state of every node: read from the site's files, the ledger and Slurm,
nothing written to either."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
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
from nearfar.slurm.controller import NodeState, node_names
from nearfar.slurm.findings import Intake, intake
from nearfar.slurm.ledger import (
    Ledger,
    Past,
    actions,
    evidence_in,
    last_measured,
    last_verdicts,
    runs_since,
    slow_nodes,
)

from .judge_nodes import Facts, judge
from .node_states import Fleet

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
