"""JUnit XML: one test case for each check and node, and one for each case that should have run and did not."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from nearfar.base import NOT_JUDGED
from nearfar.report.charts import element, printable
from nearfar.report.figures import coverage, plural
from nearfar.verdict import CheckRecord, NodeRun, RunDirectory

from .headline import check_line, missing_words


def document(run: RunDirectory) -> bytes:
    """FAIL is a failure, INDETERMINATE and a missing case an error, MODELLED and what was not judged skipped, DEGRADED passes
    with what it has to say, PASS with how many figures had no reference."""
    cases = [_case(node, check) for node in run.nodes for check in node.checks]
    for case in run.missing_cases:
        place = f"nearfar.{case.get('system')}.{case.get('node') or 'unknown'}"
        error = element("error", message=printable(missing_words(case)), type="INDETERMINATE")
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
