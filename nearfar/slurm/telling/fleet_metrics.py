"""What ``act`` knows of all nodes once it has done its part, as Prometheus' text."""

from __future__ import annotations

import time
from collections import Counter

from nearfar import __version__
from nearfar.prometheus import MetricsPage
from nearfar.slurm.act import ActResult, node_states
from nearfar.slurm.ledger import WAITING_EVENT, Ledger
from nearfar.slurm.status import watchers


def page(result: ActResult, ledger: Ledger, seconds: float) -> MetricsPage:
    """The metrics of a call of ``act`` that took ``seconds``."""
    made, view = MetricsPage(), result.view
    policy, fleet, facts = view.options.policy, view.fleet, view.facts
    system, watch = policy.system, watchers(view, ledger)
    made.add("nearfar_act_info", 1, system=system, version=__version__)
    made.add("nearfar_act_last_run_timestamp_seconds", time.time(), system=system)
    made.add("nearfar_act_last_run_duration_seconds", seconds, system=system)
    done = sum(problem is None for _, problem in result.done)
    made.add("nearfar_act_actions", done, system=system, action=node_states.DRAIN)
    problems = sum(problem is not None for _, problem in result.done) + len(result.unclear)
    made.add("nearfar_act_problems", problems, system=system)
    made.add("nearfar_act_refused_files", len(view.refused), system=system)
    made.add("nearfar_act_wrong_clocks", len(view.clocks), system=system)
    for state in node_states.STATES:
        nodes = fleet.of_state(state)
        made.add("nearfar_fleet_nodes", len(nodes), system=system, state=state)
        for node in nodes if state != node_states.GOOD else ():
            made.add("nearfar_fleet_node", 1, system=system, node=node.node, state=state)
    dead = sum(node.slurm is not None and node.slurm.dead for node in fleet.of_state(node_states.DRAINED))
    made.add("nearfar_fleet_dead_nodes", dead, system=system)
    hard = Counter((node, each.found_by.check) for node, these in facts.open_evidence.items() for each in these)
    for (name, check), count in hard.items():
        made.add("nearfar_fleet_open_findings", count, system=system, node=name, check=check)
    made.add("nearfar_fleet_hard_evidence", hard.total(), system=system)
    made.add("nearfar_fleet_shared_faults", len(fleet.shared), system=system)
    for fault in fleet.shared:
        about = {"check": fault.check, "subject": fault.metric, "hard": "yes" if fault.hard else "no"}
        made.add("nearfar_fleet_shared_fault_nodes", len(fault.nodes), system=system, **about)
    held = Counter(status.held for status in fleet.nodes.values())
    for why in node_states.HELD_BY:
        made.add("nearfar_drains_held", held[why], system=system, by=why)
    made.add("nearfar_fleet_last_result_timestamp_seconds", watch.sweep, system=system)
    made.add("nearfar_fleet_last_look_timestamp_seconds", max(watch.checked.values(), default=None), system=system)
    if policy.on_event is not None:
        [waiting] = ledger.rows(f"SELECT count(*) AS count FROM event WHERE {WAITING_EVENT}", system)
        made.add("nearfar_events_waiting", waiting["count"], system=system)
    _add_partitions(made, result)
    return made


def _add_partitions(made: MetricsPage, result: ActResult) -> None:
    facts = result.view.facts
    policy, system = facts.policy, facts.policy.system
    caps = facts.caps()
    for name, _, cap, counted in caps.counted:
        made.add("nearfar_drains", len(counted), system=system, cap=name)
        made.add("nearfar_drains_limit", cap.nodes, system=system, cap=name)
        for partition, members in sorted(caps.members.items()):
            where = {"system": system, "partition": partition, "cap": name}
            made.add("nearfar_partition_drains", len(counted & members), **where)
            made.add("nearfar_partition_drains_limit", cap.of(len(members)), **where)
    for partition, members in sorted(caps.members.items()):
        there = [facts.nodes[name] for name in members if facts.nodes[name].base != "FUTURE"]
        made.add("nearfar_partition_nodes", len(there), system=system, partition=partition)
        usable, least = sum(state.usable for state in there), policy.floor.of(len(there))
        made.add("nearfar_partition_usable_nodes", usable, system=system, partition=partition)
        made.add("nearfar_partition_usable_least_nodes", least, system=system, partition=partition)
