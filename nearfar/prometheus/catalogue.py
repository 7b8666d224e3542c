"""Every metric and label, and the file that each stands in; docs/reference/metrics.md is made from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

RUN, HEALTH, FLEET = "nearfar-run.prom", "nearfar-health.prom", "nearfar-fleet.prom"
FILES = {
    RUN: "A node's last run.",
    HEALTH: "A node's last health check; a quick one writes it only for a FAIL.",
    FLEET: "All nodes, by `nearfar slurm act`.",
}
#: What each label holds; one without a value is left out, one is cut at 200 characters.
LABELS = {
    "system": "the system; left out of a health check without a system file",
    "node": "Slurm's name of the node in a sweep, else the host's short name",
    "hostname": "the host's name",
    "partition": "the partition",
    "level": "level of the sweep",
    "version": "nearfar's version",
    "driver": "version of the GPU driver",
    "gpu": "GPU model",
    "check": "name of the check",
    "verdict": "`PASS`, `DEGRADED`, `INDETERMINATE`, `FAIL` or `not judged`",
    "hard": "`yes`: hard evidence, else `no`",
    "quantity": "what was measured, such as `copy`, `stream`, `latency.copy`",
    "path_class": "such as `near`, `NV18`",
    "direction": "what was measured on the path: `h2d`, `both.total`, `write`",
    "subject": "of a figure its cell, only with `--all`; of a finding what it is about, as `g2.link.width`",
    "figure": "name of the figure in `verdict.json`, only with `--all`",
    "source": "a [source of evidence](health.md)",
    "state": "a [state](states.md)",
    "cap": "`per_day` or `in_all`",
    "by": "what holds the drain: `cap`, `available` (the floor), `same_metric`, or `step` (only observed)",
}
#: So many findings of one node have a series of their own; their numbers are always there.
MOST_FINDINGS = 20

_NODE = ("system", "node")
_FIGURE = (*_NODE, "check", "quantity", "path_class", "direction", "subject", "figure")
#: Figures and what they are compared with: the part of the name, and of the description.
_SIDES = {
    "": "Measured: ",
    "reference_": "Expected: ",
    "lowest_": "Lower bound: ",
    "highest_": "Upper bound: ",
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
    yield row("run_interrupted", "1: the node's last run was interrupted.")
    yield row("run_verdict", "Verdict of the node's last run: 1 for its own verdict, else 0.", "verdict")
    yield row("check_verdict", "Verdict of each check of the last run. Always 1.", "check", "verdict")
    yield row("figures", "Figures of a check by verdict.", "check", "verdict")
    yield row("findings", "Findings of the last run that are not figures.", "check", "verdict", "hard")
    yield row(
        "finding",
        f"A finding of the last run, figures included: the worst {MOST_FINDINGS} of the node. Always 1.",
        "check", "subject", "verdict", "hard",
    )  # fmt: skip
    worst = "without the label `subject`, the worst of its path class and direction"
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

    yield row("info", "The node's last health check. Always 1.", "partition", "hostname", "version")
    yield row("timestamp_seconds", "When it ran, in seconds since 1970.")
    yield row("duration_seconds", "How long it took.")
    yield row("verdict", "Its verdict: 1 for its own verdict, else 0.", "verdict")
    yield row("findings", "Its findings.", "verdict", "hard")
    yield row(
        "finding", f"A finding: the first {MOST_FINDINGS}. Always 1.", "subject", "verdict", "hard"
    )  # fmt: skip
    yield row("notes", "Notes, which are not findings.")
    yield row("unread", "What could not be read.")
    yield row("source_duration_seconds", "How long each source of evidence took.", "source")


def _fleet() -> Iterator[PrometheusMetric]:
    def row(name: str, text: str, *labels: str) -> PrometheusMetric:
        return PrometheusMetric(f"nearfar_{name}", text, ("system", *labels), FLEET)

    yield row("act_last_run_timestamp_seconds", "When act ended last, in seconds since 1970.")
    yield row("act_problems", "What the last act could not do: nodes refused, retests whose end is not known.")
    yield row("act_refused_files", "Results and findings that the last act did not accept.")
    yield row("act_wrong_clocks", "Nodes whose clock is off, as the last act saw it.")
    yield row("fleet_nodes", "Nodes by state; each is counted once.", "state")
    yield row("fleet_node", "A node that is not good. Always 1.", "node", "state")
    yield row("fleet_dead_nodes", "Nodes drained by nearfar that are down and do not answer.")
    yield row("fleet_open_findings", "Hard evidence of a node that is open, by check.", "node", "check")
    text = "Nodes that have such a fault; subject is without the parts' numbers."
    yield row("fleet_shared_fault_nodes", text, "check", "subject", "hard")
    yield row("partition_drains", "Drains in a partition that count against a cap.", "partition", "cap")
    yield row("partition_drains_limit", "The most nodes of a partition that a cap allows.", "partition", "cap")
    yield row("drains_held", "Nodes whose drain is held, by what holds it.", "by")
    yield row("events_waiting", "Events that the on_event program has not been sent yet.")


#: By name, in the order of the files.
METRICS = {metric.name: metric for metric in _metrics()}
