"""A run for machines that need no samples and no drawings: ``report.json``, and JUnit XML with a test case for each check and node, and for
each case that should have run and did not."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from typing import Any

from nearfar import measurement
from nearfar.base import NOT_JUDGED, shown_verdict
from nearfar.report.charts import element, printable
from nearfar.report.explanations import Explained
from nearfar.report.figures import coverage, plural
from nearfar.verdict import CheckRecord, JudgedMetric, NodeRun, RunDirectory

from .headline import check_line, degraded_figures, missing_case

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


def junit(run: RunDirectory) -> bytes:
    """FAIL is a failure, INDETERMINATE and a missing case an error, MODELLED and what was not judged skipped, DEGRADED passes
    with what it has to say, PASS with how many figures had no reference."""
    cases = [_case(node, check) for node in run.nodes for check in node.checks]
    for case in run.missing_cases:
        place = f"nearfar.{case.get('system')}.{case.get('node') or 'unknown'}"
        error = element("error", message=printable(missing_case(case).reason), type="INDETERMINATE")
        cases.append(element("testcase", error, name=printable(str(case.get("check"))), classname=printable(place)))
    started, name = printable(str(run.raw.get("started", ""))), printable(f"nearfar {run.raw['system']}")
    suite = element("testsuite", *cases, name=name, tests=len(cases), timestamp=started)
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(sum(each.find(tag) is not None for each in cases)))
    suite.set("hostname", printable(str(run.raw.get("hostname", ""))))
    suite.set("time", str(run.raw.get("seconds", 0)))
    root = element("testsuites", suite)
    ET.indent(root)
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True))


def _case(node: NodeRun, check: CheckRecord) -> ET.Element:
    verdict = check.verdict
    seconds = verdict.measurement.seconds if verdict and verdict.measurement else None
    case = element("testcase", name=printable(check.name), classname=printable(f"nearfar.{node.system}.{node.name}"))
    if seconds is not None:
        case.set("time", str(seconds))
    if verdict and verdict.metrics:
        values = ((printable(metric.name), printable(f"{metric.value} {metric.unit}")) for metric in verdict.metrics)
        case.append(element("properties", *(element("property", name=name, value=value) for name, value in values)))
    reasons = list(verdict.reasons if verdict else ()) or ([check.problem] if check.problem else [])
    words = "\n".join(reasons)
    message = printable(reasons[0] if reasons else check_line(check, node))
    if node.modelled:
        told = "" if check.word in ("PASS", NOT_JUDGED) else f", judged {check.word}"
        message = f"MODELLED ({printable(node.system)} node){told}: nothing was measured"
        case.append(element("skipped", words, message=message))
    elif check.word == NOT_JUDGED:
        case.append(element("skipped", words, message=f"{NOT_JUDGED}: {printable(check_line(check, node))}"))
    elif tag := {"FAIL": "failure", "INDETERMINATE": "error"}.get(check.word):
        case.append(element(tag, words, message=message, type=check.word))
    if check.word == "DEGRADED" and not node.modelled:
        case.append(element("system-out", f"DEGRADED\n{words}"))
    unjudged = coverage.of_checks([check]).unjudged
    if check.word == "PASS" and unjudged and not node.modelled:
        case.append(element("system-out", f"not judged, for want of a reference: {plural(unjudged, 'figure')}"))
    return case
