"""What ``act`` tells others: the site's ``on_event`` program, called for each hard finding, drain and release of the ledger that it has not
taken yet, and Prometheus.

It runs after ``act`` has let its lock go: administrators' commands do not wait for a mail server. The ledger keeps the numbers of the last
finding and action that the program has taken (exit code 0); killed between the two, it gets that one again, with the same ``id``.
"""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nearfar.base import NearfarError, files, printable, process, utc_text
from nearfar.prometheus import MetricsPage, catalogue
from nearfar.site import program_problem
from nearfar.slurm.act import ActOptions, ActResult, View, act, node_states
from nearfar.slurm.controller import Slurm
from nearfar.slurm.ledger import Ledger, actions

#: Seconds of one call, and of all calls of one ``act`` together.
LIMIT, TOGETHER = 10.0, 60.0
#: Seconds after which an event that the program does not take is given up.
PATIENCE = 86400.0
#: All that the program finds: nothing of what act was started with.
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
_KINDS = ", ".join(f"'{kind}'" for kind in (*actions.DRAINS, *actions.RETURNS))
#: The open hard findings after one, and then the actions after one.
_LATER = (
    "SELECT 'finding' AS place, finding.id AS number, known AS at, finding.node AS node, system, 'done' AS outcome, 'finding' AS kind, "
    'finding.check_name AS "check", run, NULL AS reason, NULL AS why, source, document AS finding FROM finding '
    "JOIN check_run ON check_run.id = check_run WHERE hard AND closed_by IS NULL AND finding.id > ? UNION ALL "
    "SELECT 'action', seq, at, node, system, outcome, kind, check_name, run, reason, why, NULL, finding FROM action "
    f"WHERE kind IN ({_KINDS}) AND outcome IN ('done', 'begun', 'unclear') AND seq > ? ORDER BY place DESC, number"
)


def act_and_tell(options: ActOptions, slurm: Slurm, metrics: Path | None) -> tuple[ActResult, list[str]]:
    """Run ``act``, then tell the site's program, then write what Prometheus reads (``metrics``: its directory; None: nothing); with what
    ``act`` did, a line for each thing that could not be told. Raises what ``act`` does, and only that."""
    result, problems = act(options, slurm), list[str]()
    try:
        with Ledger.open(options.state) as ledger, files.file_lock(options.state / "on-event.lock", 0.0, mode=0o600):
            problems += _tell(ledger, result.view)
    except NearfarError as error:
        problems.append(f"on_event: {error}")
    if metrics is not None:
        try:
            with Ledger.open(options.state) as ledger:
                waiting = len(list(_waiting(ledger, result.view)))
            metrics_page(result, waiting).write(metrics, catalogue.FLEET)
        except NearfarError as error:
            problems.append(f"metrics: {error}")
    return result, problems


def _waiting(ledger: Ledger, view: View) -> Iterator[sqlite3.Row]:
    """What a system's program has still to take. Until it is known whether an action was done, none after it is sent."""
    system = view.options.policy.system
    for row in ledger.rows(_LATER, *_taken(ledger, system)[:2]):
        if row["outcome"] != actions.DONE and time.time() - row["at"] < PATIENCE:
            return
        if row["outcome"] == actions.DONE and row["system"] in (None, system) and row["node"] in view.fleet.nodes:
            yield row


def _taken(ledger: Ledger, system: str) -> list[int]:
    """The numbers of the last finding and the last action that a system's program has taken, and how often the next was sent."""
    return list(json.loads(ledger.meta(f"on_event:{system}") or "[0, 0, 0]"))


def _tell(ledger: Ledger, view: View) -> list[str]:
    system, program = view.options.policy.system, view.options.policy.on_event
    end, taken = time.monotonic() + TOGETHER, _taken(ledger, system)
    for row in _waiting(ledger, view):
        if time.monotonic() >= end:
            break
        # Switched on later, it is told what happens from then on.
        problem = None if program is None else _problem(program, _event(row, system, taken[2] + 1), LIMIT)
        over = problem is None or time.time() - row["at"] >= PATIENCE
        taken[2] = 0 if over else taken[2] + 1
        if over:
            taken[0 if row["place"] == "finding" else 1] = row["number"]
        if program is not None:
            ledger.set_meta(f"on_event:{system}", json.dumps(taken))
        if problem is not None:
            what_next = "given up" if over else "sent again by the next act"
            return [f"on_event: {row['kind']} of {row['node']}: {program}: {problem}; {what_next}"]
    ledger.set_meta(f"on_event:{system}", json.dumps(taken))
    return []


def _event(row: sqlite3.Row, system: str, attempt: int) -> dict[str, Any]:
    kind = row["kind"]
    event = "release" if kind in actions.RETURNS else "drain" if kind in actions.DRAINS else kind
    more = {key: row[key] for key in ("check", "run", "reason", "why", "source") if row[key] is not None}
    if row["finding"] is not None:
        more["finding"] = json.loads(row["finding"])
    if event == "release":
        more = {"why": row["why"], "by_act": kind != actions.RESUMED}
    return {
        "schema": "nearfar-hook/1", "event": event, "id": f"{row['place']}-{row['number']}", "attempt": attempt,
        "time": utc_text(row["at"]), "system": system, "node": row["node"], "host": socket.gethostname(), **more,
    }  # fmt: skip


def _problem(program: str, event: dict[str, Any], limit: float) -> str | None:
    """Call the program; why it did not take the event, None where it did."""
    unsafe = program_problem(program, {0, os.geteuid()})
    if unsafe is not None:
        return unsafe
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as stdin:
        stdin.write(json.dumps(event, ensure_ascii=False) + "\n")
        stdin.seek(0)
        try:
            done = process.run([program], limit, env=ENVIRONMENT, cwd=Path("/"), stdin=stdin, grace=0.5)
        except NearfarError as error:
            return str(error)
    if done.timed_out:
        return f"it did not end within {limit:.0f} s"
    printed = f": {printable(done.last_line)[:200]}" if done.last_line else ""
    return f"exit code {done.returncode}{printed}" if done.returncode else None


def metrics_page(result: ActResult, waiting: int) -> MetricsPage:
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
