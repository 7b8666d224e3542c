"""A run directory as Prometheus' text: verdicts, figures beside their references and bounds, findings, times."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from nearfar import __version__
from nearfar.base import ORDER, CouldNotJudge, short_host_name, utc_time
from nearfar.measurement import MADE_OF_OTHERS
from nearfar.verdict import JudgedMetric, NodeRun, RunDirectory, Verdict, run_directory, verdict_file

from .catalogue import MOST_FINDINGS, RUN
from .exposition import MetricsPage

#: By a figure's unit: the names of the four metrics that have it, and what makes base units of it.
_FAMILIES = {
    "GB/s": ("rate_{}bytes_per_second", 1e9),
    "us": ("latency_{}seconds", 1e-6),
    "1": ("share_{}ratio", 1.0),
    "B": ("size_{}bytes", 1.0),
}
#: The units of which a page that is not whole has the worst of each group.
_USUAL = ("GB/s", "us")
#: What a sweep leaves beside a run (``nearfar-node-result/1``).
_RESULT = "result.json"
#: The labels that all metrics of a node have.
_Whose = dict[str, Any]


def page(folder: Path, whole: bool = False) -> MetricsPage:
    """The metrics of what a run measured. ``whole``: each figure; else of each check, path class and direction the worst rate and
    latency.

    Raises ``NearfarError`` for what is no run, ``CouldNotJudge`` for a run in which nothing was measured.
    """
    run = run_directory.read(folder)
    nodes = [run_node for run_node in run.nodes if not (run_node.modelled or run_node.foreign)]
    if not nodes:
        raise CouldNotJudge(
            f"{folder}: nothing was measured; modelled results and those of other tools are not exported"
        )
    handed_over = verdict_file.load_object(folder / _RESULT) or {}
    made = MetricsPage()
    for run_node in nodes:
        given = handed_over.get("node") if len(nodes) == 1 else None
        name = str(given or short_host_name(run_node.name))
        whose = {"system": run_node.system, "node": name}
        _add_run(made, run, run_node, whose, handed_over.get("pack"))
        for check in run_node.checks:
            made.add("nearfar_check_verdict", 1, **whose, check=check.name, verdict=check.word)
            if check.verdict is not None:
                _add_check(made, check.verdict, whose, whole)
        for check_name, subject, verdict, hard in _worst_first(run_node)[:MOST_FINDINGS]:
            made.add(
                "nearfar_finding", 1, **whose, check=check_name, subject=subject, verdict=verdict, hard=_word(hard)
            )
    return made


def write(folder: Path, to: Path) -> Path:
    """Write those of a run below a directory. Raises as ``page`` does, and where it cannot be written."""
    return page(folder).write(to, RUN)


def _add_run(made: MetricsPage, run: RunDirectory, node: NodeRun, whose: _Whose, level: str | None) -> None:
    verdicts = [check.verdict for check in node.checks if check.verdict is not None]
    software = {key: value for verdict in verdicts for key, value in verdict.software.items()}
    made.add(
        "nearfar_run_info", 1, **whose, level=level, hostname=node.name, version=__version__,
        driver=software.get("driver"), gpu=_gpu(verdicts),
    )  # fmt: skip
    with suppress(KeyError, ValueError):
        started = utc_time(str(run.raw["started"])).timestamp()
        made.add("nearfar_run_start_timestamp_seconds", started, **whose)
    seconds = run.raw.get("seconds")
    made.add("nearfar_run_duration_seconds", seconds if isinstance(seconds, (int, float)) else None, **whose)
    made.add("nearfar_run_interrupted", float(bool(run.raw.get("interrupted"))), **whose)
    unfinished = any(not case.get("modelled") for case in run.missing_cases)
    word = run_directory.worst([node.word, *(["INDETERMINATE"] if unfinished else [])])
    made.one_of("nearfar_run_verdict", ORDER, word, **whose)


def _gpu(verdicts: Sequence[Verdict]) -> str | None:
    """The model of the node's first GPU."""
    measured = (verdict.measurement for verdict in verdicts if verdict.measurement is not None)
    return next((gpu.name for node in measured for gpu in node.gpus if gpu.name), None)


def _add_check(made: MetricsPage, verdict: Verdict, whose: _Whose, whole: bool) -> None:
    for word, count in Counter(metric.verdict for metric in verdict.metrics).items():
        made.add("nearfar_figures", count, **whose, check=verdict.check, verdict=word)
    counts = Counter((f.verdict, _word(f.hard)) for f in verdict.findings if f.verdict in ORDER[:3])
    for (word, hard), count in counts.items():
        made.add("nearfar_findings", count, **whose, check=verdict.check, verdict=word, hard=hard)
    for metric in verdict.metrics if whole else _worst_of_groups(verdict.metrics):
        _add_figure(made, metric, whose, verdict.check, whole)


def _worst_of_groups(metrics: Sequence[JudgedMetric]) -> Iterator[JudgedMetric]:
    """Of each quantity, path class and direction the rate or latency that is furthest from what it should be."""
    groups: dict[tuple[str, ...], list[JudgedMetric]] = defaultdict(list)
    for metric in metrics:
        if metric.unit in _USUAL and metric.quantity not in MADE_OF_OTHERS and metric.value is not None:
            groups[(metric.quantity, metric.path_class, metric.question)].append(metric)
    for group in groups.values():
        yield min(group, key=_goodness)


def _goodness(metric: JudgedMetric) -> tuple[int, bool, float]:
    """Least for the worst: by verdict, then those with a reference by their share of it, then the others."""
    value = metric.value or 0.0
    good = value if metric.unit == "GB/s" else 1 / value if value else 0.0
    if metric.reference is None:
        return ORDER.index(metric.verdict), True, good
    wanted = metric.reference.value
    expected = wanted if metric.unit == "GB/s" else 1 / wanted if wanted else 0.0
    return ORDER.index(metric.verdict), False, good / expected if expected else 0.0


def _add_figure(made: MetricsPage, metric: JudgedMetric, whose: _Whose, check: str, whole: bool) -> None:
    if metric.unit not in _FAMILIES:
        return
    family, scale = _FAMILIES[metric.unit]
    labels: dict[str, Any] = {
        **whose, "check": check, "quantity": metric.quantity, "path_class": metric.path_class, "direction": metric.question,
        "subject": (str(metric.flow) if metric.flow else metric.subject) if whole else None,
        "figure": metric.name if whole else None,
    }  # fmt: skip
    reference = metric.reference
    sides = {"": metric.value}
    if reference is not None:
        sides |= {"reference_": reference.value, "lowest_": reference.lowest, "highest_": reference.highest}
    for side, value in sides.items():
        made.add(f"nearfar_{family.format(side)}", None if value is None else value * scale, **labels)


def _worst_first(node: NodeRun) -> list[tuple[str, str, str, bool]]:
    """Check, subject, verdict and whether it is hard of all that is not well, figures too."""
    entries = []
    for check in node.checks:
        verdict = check.verdict
        if verdict is not None:
            entries += [(check.name, f.subject, f.verdict, f.hard) for f in verdict.findings]
            entries += [(check.name, m.name, m.verdict, False) for m in verdict.metrics]
    bad = [entry for entry in entries if entry[2] in ORDER[:3]]
    return sorted(bad, key=lambda entry: (ORDER.index(entry[2]), not entry[3]))


def _word(hard: bool) -> str:
    return "yes" if hard else "no"
