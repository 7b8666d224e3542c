"""What ``act`` knows of all nodes, as Prometheus' text."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from math import isfinite
from pathlib import Path

from nearfar import __version__
from nearfar.base import CouldNotJudge
from nearfar.prometheus import MetricsPage, catalogue
from nearfar.site import HEALTH, Policy
from nearfar.slurm.act import HELD, ActOptions, act, view
from nearfar.slurm.findings import drained_by_us
from nearfar.slurm.results import results_directory
from nearfar.slurm.status import GOOD, status_of
from nearfar.slurm.trust import Trust

from .events import slow_figures

#: What a sweep keeps of itself, in its directory of the results.
_SWEEP = "sweep.json"


def page(
    seen: view.ActView, done: act.ActResult, options: ActOptions, seconds: float, waiting: Mapping[str, int]
) -> MetricsPage:
    """The metrics of a call of ``act`` that took ``seconds``. ``waiting``: how many events each hook has still to be told."""
    made, system = MetricsPage(), options.policy.system
    _add_act(made, seen, done, system, seconds)
    _add_nodes(made, seen, options)
    _add_drains(made, seen, done, options)
    _add_partitions(made, seen, options.policy)
    for hook, count in waiting.items():
        made.add("nearfar_hook_events_waiting", count, system=system, hook=hook)
    if options.results is not None:
        _add_sweep(made, options.results, options)
    return made


def write(made: MetricsPage, folder: Path) -> Path:
    """Write it below a directory. Raises ``CouldNotJudge`` where that is impossible."""
    return made.write(folder, catalogue.FLEET)


def _add_act(made: MetricsPage, seen: view.ActView, done: act.ActResult, system: str, seconds: float) -> None:
    made.add("nearfar_act_info", 1, system=system, version=__version__)
    made.add("nearfar_act_last_run_timestamp_seconds", time.time(), system=system)
    made.add("nearfar_act_last_run_duration_seconds", seconds, system=system)
    actions = Counter(decision.action for decision, problem in done.decisions if problem is None)
    for action in ("drain", "resume", "comment", "uncomment"):
        made.add("nearfar_act_actions", actions[action], system=system, action=action)
    problems = sum(problem is not None for _, problem in done.decisions) + len(done.unclear)
    made.add("nearfar_act_problems", problems, system=system)
    made.add("nearfar_act_refused_files", len(seen.refused), system=system)
    made.add("nearfar_act_wrong_clocks", len(seen.clocks), system=system)


def _add_nodes(made: MetricsPage, seen: view.ActView, options: ActOptions) -> None:
    system = options.policy.system
    hard = [(node, one) for node, these in seen.decisions.hard.items() for one in these.open]
    standing = [*hard, *slow_figures(seen, options)]
    for group, nodes in status_of(seen, options).by_group.items():
        made.add("nearfar_fleet_nodes", len(nodes), system=system, state=group)
        for one in nodes if group != GOOD else ():
            made.add("nearfar_fleet_node", 1, system=system, node=one.node, state=group)
    dead = sum(state.dead and drained_by_us(state) for state in seen.nodes.values())
    made.add("nearfar_fleet_dead_nodes", dead, system=system)
    kinds = Counter((node, one.found_by.check, "yes" if one.finding.hard else "no") for node, one in standing)
    for (node, check, word), count in kinds.items():
        made.add("nearfar_fleet_open_findings", count, system=system, node=node, check=check, hard=word)
    made.add("nearfar_fleet_hard_evidence", len(hard), system=system)
    made.add("nearfar_fleet_shared_faults", len(seen.decisions.blamed), system=system)
    for fault in seen.decisions.blamed:
        about = {"check": fault.check, "subject": fault.metric, "hard": "yes" if fault.hard else "no"}
        made.add("nearfar_fleet_shared_fault_nodes", len(fault.nodes), system=system, **about)
    for name, looks in (("result", False), ("look", True)):
        newest = max((run.known for run in seen.runs if (run.check == HEALTH) is looks), default=None)
        made.add(f"nearfar_fleet_last_{name}_timestamp_seconds", newest, system=system)


def _add_drains(made: MetricsPage, seen: view.ActView, done: act.ActResult, options: ActOptions) -> None:
    """Those that count against the caps, with what this call has added."""
    policy = options.policy
    new = {decision.node for decision, problem in done.decisions if decision.action == "drain" and problem is None}
    resumed = {decision.node for decision, problem in done.decisions if decision.action == "resume" and problem is None}
    today = seen.past.drained_today(seen.now) | new
    in_all = ({name for name, state in seen.nodes.items() if drained_by_us(state)} | new) - resumed
    for name, nodes, cap in (("per_day", today, policy.per_day), ("in_all", in_all, policy.in_all)):
        made.add("nearfar_drains", len(nodes), system=policy.system, cap=name)
        made.add("nearfar_drains_limit", cap.nodes, system=policy.system, cap=name)
        for partition, members in _partitions(seen).items():
            where = {"system": policy.system, "partition": partition, "cap": name}
            made.add("nearfar_partition_drains", len(nodes & members), **where)
            made.add("nearfar_partition_drains_limit", cap.of(len(members)), **where)
    held = Counter(decision.held for decision in seen.decisions.nodes)
    for why in HELD:
        made.add("nearfar_drains_held", held[why], system=policy.system, by=why)
    stopped = seen.decisions.stop or seen.past.stopped
    made.add("nearfar_drains_stopped", float(stopped is not None), system=policy.system)


def _add_partitions(made: MetricsPage, seen: view.ActView, policy: Policy) -> None:
    """What is in use of each, and what has to be, as this call of ``act`` found it."""
    for partition, members in _partitions(seen).items():
        where = {"system": policy.system, "partition": partition}
        there = [seen.nodes[name] for name in members if seen.nodes[name].base != "FUTURE"]
        made.add("nearfar_partition_nodes", len(there), **where)
        made.add("nearfar_partition_usable_nodes", sum(state.usable for state in there), **where)
        made.add("nearfar_partition_usable_least_nodes", policy.floor.of(len(there)), **where)


def _partitions(seen: view.ActView) -> dict[str, set[str]]:
    """The nodes of each partition, by its name."""
    found: dict[str, set[str]] = {}
    for name, state in seen.nodes.items():
        for partition in state.partitions:
            found.setdefault(partition, set()).add(name)
    return dict(sorted(found.items()))


def _add_sweep(made: MetricsPage, results: Path, options: ActOptions) -> None:
    """The newest sweep by its own file of those that can be read, of users whose results count."""
    found, trust = [], Trust(results, {0, *options.policy.trusted})
    for name in results_directory.sweeps(results, trust)[0]:
        path = results / name / _SWEEP
        with suppress(OSError):
            found.append((path.lstat().st_mtime, path))
    for _, path in sorted(found, reverse=True):
        with suppress(CouldNotJudge, OverflowError):
            raw = trust.object(path)
            started = raw.get("started")
            if isinstance(started, (int, float)) and isfinite(started):
                labels = {"system": options.policy.system, "sweep": path.parent.name, "level": raw.get("level")}
                made.add("nearfar_sweep_start_timestamp_seconds", started, **labels)
                return
