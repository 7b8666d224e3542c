"""``report.json``: what a run found, for machines that need no samples and no drawings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nearfar import measurement
from nearfar.base import shown_verdict
from nearfar.report.explanations import Explained
from nearfar.report.figures import coverage
from nearfar.verdict import CheckRecord, JudgedMetric, NodeRun, RunDirectory

from .headline import degraded_figures

SCHEMA = "nearfar-report/1"
_OF_RUN = ("system", "hostname", "started", "seconds", "verdict", "exit_code", "real", "modelled")


def digest(run: RunDirectory, explained: Mapping[str, Explained]) -> dict[str, Any]:
    """System, nodes, verdicts and metrics of a run; ``shown`` is MODELLED where a modelled document would pass.

    ``explained``, by the nodes' folders, is for readers: nothing of it went into a verdict.
    """
    raw, nodes = run.raw, []
    for node in run.nodes:
        kind = "modelled" if node.modelled else "foreign" if node.foreign else "measured"
        nodes.append({"node": node.name, "folder": node.folder.name, "system": node.system, "kind": kind, "verdict": node.word,
                      "shown": shown_verdict(node.word, node.modelled), "checks": [_check(node, check) for check in node.checks],
                      **explained[node.folder.name].as_json()})  # fmt: skip
    return {
        "schema": SCHEMA,
        **{key: raw.get(key) for key in _OF_RUN},
        "acceptance": raw.get("acceptance") and {**raw["acceptance"], "degraded": degraded_figures(run)},
        "figures": coverage.of_run(run)._asdict(),
        "nodes": nodes,
        "missing_cases": run.missing_cases,
        "not_asked": run.not_asked,
        "programs": list(run.programs),
    }


def _check(node: NodeRun, check: CheckRecord) -> dict[str, Any]:
    verdict = check.verdict
    gaps = () if verdict is None else (*verdict.skipped, *verdict.left_out)
    return {
        "check": check.name, **{key: verdict and getattr(verdict, key) for key in ("partition", "environ", "time")},
        "verdict": check.word, "shown": shown_verdict(check.word, node.modelled), "problem": check.problem,
        "reasons": list(verdict.reasons) if verdict else [],
        "metrics": [_metric(metric) for metric in verdict.metrics] if verdict else [],
        "findings": [finding.to_raw() for finding in verdict.findings] if verdict else [],
        "missing": list(verdict.missing) if verdict else [],
        "skipped": [{"cell": gap.cell, "reason": gap.reason, "code": gap.code} for gap in gaps],
        "document": f"{node.folder.name}/{check.name}/{measurement.DOCUMENT}" if check.document else None,
    }  # fmt: skip


def _metric(metric: JudgedMetric) -> dict[str, Any]:
    reference = metric.reference
    return {
        "name": metric.name, "cell": metric.subject, "flow": None if metric.flow is None else str(metric.flow),
        "class": metric.class_in_name, "quantity": metric.quantity, "value": metric.value, "unit": metric.unit,
        "ci": metric.interval, "ceiling": metric.ceiling, "beside": list(map(str, metric.beside)), "remeasured": metric.remeasured,
        "reference": reference and {
            "value": reference.value, "lower": reference.lowest, "upper": reference.highest, "unit": reference.unit,
            "origin": reference.origin, "note": reference.note, "stale": reference.stale,
        },
        "degraded_below": metric.degraded_below, "degraded_above": metric.degraded_above,
        "past": metric.baseline and metric.baseline.to_raw(),
        "verdict": metric.verdict, "reason": metric.full_reason or None,
    }  # fmt: skip
