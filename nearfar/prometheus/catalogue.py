"""Every metric: its name, what it says, its labels, and the file that it stands in (docs/reference/metrics.md)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

#: The files: a node's last run, its last look, and what ``nearfar slurm act`` knows of all nodes.
RUN, HEALTH, FLEET = "nearfar-run.prom", "nearfar-health.prom", "nearfar-fleet.prom"
#: So many findings of one node have a series of their own; their numbers are always there.
MOST_FINDINGS = 20

_NODE = ("system", "node")
_FIGURE = (*_NODE, "check", "quantity", "path_class", "direction", "subject", "figure")
#: Figures and what they are held against: the word in the name, and what it says.
_SIDES = {
    "": "Measured: ",
    "reference_": "What is expected of it: ",
    "lowest_": "The least that passes: ",
    "highest_": "The most that passes: ",
}


@dataclass(frozen=True)
class PrometheusMetric:
    """A gauge. ``help`` is one line."""

    name: str
    help: str
    labels: tuple[str, ...]
    file: str


def _metrics() -> Iterator[PrometheusMetric]:
    yield from _run()
    yield from _health()
    yield from _fleet()


def _run() -> Iterator[PrometheusMetric]:
    def row(name: str, text: str, *labels: str) -> PrometheusMetric:
        return PrometheusMetric(f"nearfar_{name}", text, (*_NODE, *labels), RUN)

    yield row("run_info", "The node's last run. Always 1.", "level", "hostname", "version", "driver", "gpu")
    yield row("run_start_timestamp_seconds", "When the node's last run began, in seconds since 1970.")
    yield row("run_duration_seconds", "How long the node's last run took.")
    yield row("run_interrupted", "1: the node's last run was ended before it was through.")
    yield row("run_verdict", "The verdict of the node's last run: 1 for the one that it is, else 0.", "verdict")
    yield row("check_verdict", "The verdict of each check of the last run, as a label. Always 1.", "check", "verdict")
    yield row("figures", "How many figures of a check have a verdict.", "check", "verdict")
    yield row("findings", "How many things that are no figure were found in the last run.", "check", "verdict", "hard")
    yield row(
        "finding",
        f"What was found in the last run, figures too: the worst {MOST_FINDINGS} of the node. Always 1.",
        "check", "subject", "verdict", "hard",
    )  # fmt: skip
    worst = "without the label subject, the worst of its path class and direction"
    for side, prefix in _SIDES.items():
        rate, latency = f"rate_{side}bytes_per_second", f"latency_{side}seconds"
        yield PrometheusMetric(f"nearfar_{rate}", f"{prefix}the rate of a path; {worst}.", _FIGURE, RUN)
        yield PrometheusMetric(f"nearfar_{latency}", f"{prefix}the latency of a path; {worst}.", _FIGURE, RUN)
    for side, prefix in _SIDES.items():
        yield PrometheusMetric(
            f"nearfar_share_{side}ratio", f"{prefix}a ratio of figures; only with --all.", _FIGURE, RUN
        )
        yield PrometheusMetric(f"nearfar_size_{side}bytes", f"{prefix}a size; only with --all.", _FIGURE, RUN)


def _health() -> Iterator[PrometheusMetric]:
    def row(name: str, text: str, *labels: str) -> PrometheusMetric:
        return PrometheusMetric(f"nearfar_health_{name}", text, (*_NODE, *labels), HEALTH)

    yield row("info", "The node's last look. Always 1.", "partition", "hostname", "version")
    yield row("timestamp_seconds", "When the node was looked at last, in seconds since 1970.")
    yield row("duration_seconds", "How long the last look took.")
    yield row("verdict", "The verdict of the last look: 1 for the one that it is, else 0.", "verdict")
    yield row("findings", "How many things the last look found.", "verdict", "hard")
    yield row(
        "finding", f"What the last look found: the first {MOST_FINDINGS}. Always 1.", "subject", "verdict", "hard"
    )  # fmt: skip
    yield row("notes", "How many things were worth a line and are no finding.")
    yield row("unread", "How many things could not be read.")
    yield row("source_duration_seconds", "How long each source of evidence took.", "source")
    yield row(
        "last_run_end_timestamp_seconds", "When the last run that the look knows of ended, in seconds since 1970."
    )


def _fleet() -> Iterator[PrometheusMetric]:
    def row(name: str, text: str, *labels: str) -> PrometheusMetric:
        return PrometheusMetric(f"nearfar_{name}", text, ("system", *labels), FLEET)

    yield row("act_info", "The last nearfar slurm act that came to its end. Always 1.", "version")
    yield row("act_last_run_timestamp_seconds", "When act came to its end last, in seconds since 1970.")
    yield row("act_last_run_duration_seconds", "How long the last act took, without on_event.")
    yield row("act_actions", "What the last act did, by action.", "action")
    yield row("act_problems", "What the last act could not do: nodes refused, retests whose end is not known.")
    yield row("act_refused_files", "Results and findings that the last act did not believe.")
    yield row("act_wrong_clocks", "Nodes whose clock is off, as the last act saw it.")
    yield row("fleet_nodes", "The nodes by state, as nearfar slurm status has it; each is counted once.", "state")
    yield row("fleet_node", "Each node that is not good, with its state as a label. Always 1.", "node", "state")
    yield row("fleet_dead_nodes", "Nodes drained by nearfar that are down and do not answer.")
    yield row("fleet_open_findings", "Hard evidence of a node that is open, by check.", "node", "check")
    yield row("fleet_hard_evidence", "Hard evidence that is open, on all nodes.")
    yield row("fleet_shared_faults", "Metrics that fail on many nodes at once, for which no node is blamed.")
    text = "On how many nodes each of them is; subject is without the parts' numbers."
    yield row("fleet_shared_fault_nodes", text, "check", "subject", "hard")
    yield row("drains", "Drains that count against a cap.", "cap")
    yield row("drains_limit", "The most nodes that a cap allows.", "cap")
    yield row("partition_nodes", "The nodes of a partition.", "partition")
    yield row("partition_usable_nodes", "Those that are neither down nor drained, by whomever.", "partition")
    yield row("partition_usable_least_nodes", "The nodes that have to stay usable.", "partition")
    yield row("partition_drains", "Drains in a partition that count against a cap.", "partition", "cap")
    yield row("partition_drains_limit", "The most nodes of a partition that a cap allows.", "partition", "cap")
    yield row("drains_held", "Nodes whose drain is held, by what holds it.", "by")
    yield row("fleet_last_result_timestamp_seconds", "When the newest result of a node came, in seconds since 1970.")
    yield row("fleet_last_look_timestamp_seconds", "When the newest look at a node came, in seconds since 1970.")
    yield row("events_waiting", "Events that the on_event program has not received yet.")


#: By name, in the order of the files.
METRICS = {metric.name: metric for metric in _metrics()}
