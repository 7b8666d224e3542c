"""What alerts need of all nodes once ``act`` has done its part, as Prometheus' text."""

from __future__ import annotations

import time
from collections import Counter

from nearfar.prometheus import MetricsPage
from nearfar.slurm.act import ActResult, node_states


def page(result: ActResult, waiting: int) -> MetricsPage:
    """The metrics of a call of ``act``; ``waiting``: events that the on_event program has still to take."""
    made, view = MetricsPage(), result.view
    fleet, facts, system = view.fleet, view.facts, view.options.policy.system
    made.add("nearfar_act_last_run_timestamp_seconds", time.time(), system=system)
    problems = sum(problem is not None for _, problem in result.done) + len(result.unclear)
    made.add("nearfar_act_problems", problems, system=system)
    made.add("nearfar_act_refused_files", len(view.refused), system=system)
    made.add("nearfar_act_wrong_clocks", len(view.clocks), system=system)
    made.add("nearfar_events_waiting", waiting, system=system)
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
    for fault in fleet.shared:
        about = {"check": fault.check, "subject": fault.metric, "hard": "yes" if fault.hard else "no"}
        made.add("nearfar_fleet_shared_fault_nodes", len(fault.nodes), system=system, **about)
    held = Counter(status.held for status in fleet.nodes.values())
    for why in node_states.HELD_BY:
        made.add("nearfar_drains_held", held[why], system=system, by=why)
    caps = facts.caps()
    for name, _, cap, counted in caps.counted:
        for partition, members in sorted(caps.members.items()):
            where = {"system": system, "partition": partition, "cap": name}
            made.add("nearfar_partition_drains", len(counted & members), **where)
            made.add("nearfar_partition_drains_limit", cap.of(len(members)), **where)
    return made
