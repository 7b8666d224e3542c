"""One line for a check, one sentence for a run: what terminals and the top of a page say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from nearfar import question
from nearfar.base import NOT_JUDGED, ORDER, Finding, grouped, listed, of_several
from nearfar.report.blocks import heading
from nearfar.report.charts import cell_anchor
from nearfar.report.explanations import Answer
from nearfar.report.figures import coverage, figures, in_a_line, link_words, parsed, plural
from nearfar.report.sections import gaps, nothing
from nearfar.topology import Node
from nearfar.verdict import CheckRecord, NodeRun, RunDirectory, disturbances

from . import messages
from .causes import FIGURE, OTHER, SHARED, ReasonGroup, VerdictReason, of_finding, reason_groups

#: What a sweep judges of pairs of nodes stands among the checks of a node.
_PAIRS = {"mpi_pairs": "MPI between nodes"}
#: So many figures that an acceptance refuses are named.
_NAMED = 8


def title(check: str) -> str:
    """``host_device_check`` → ``Host ↔ GPU``; ``host_device_check@repeat2`` → ``Host ↔ GPU (repeat2)``."""
    asked, (own, _, which) = question.find(check), check.partition("@")
    words = _PAIRS.get(own, short_name(own).replace("_", " ").capitalize()) if asked is None else asked.title
    return f"{words} ({which})" if which else words


def short_name(check: str) -> str:
    """``host_device_check`` → ``host_device``, ``host_device_check@repeat2`` → ``host_device@repeat2``."""
    own, at, which = check.partition("@")
    return f"{own.removesuffix('_check')}{at}{which}"


def check_line(check: CheckRecord, node: NodeRun) -> str:
    """Best and worst figures of a check in one line, with where its expectation comes from."""
    if check.verdict is None:
        return "left no verdict: it did not finish"
    asked = question.find(check.name)
    said = next((told.reason for told in check.verdict.findings if asked and told.subject == asked.answer), None)
    if words := said or in_a_line(figures(check, ""), asked.key if asked else ""):
        return words
    if asked is not None and not asked.has_figures:
        return _parts(check, node)
    told = sorted(check.verdict.findings, key=lambda f: ORDER.index(f.verdict))
    why = nothing(gaps(check, "")) or next((f.reason for f in told if f.verdict != "PASS"), None)
    return "no figure" + (f": {why}" if why else "")


def _parts(check: CheckRecord, node: NodeRun) -> str:
    """The node's parts and the findings of a check without figures."""
    machine = node.node
    findings = check.verdict.findings if check.verdict else ()
    words = []
    if machine is not None:
        words += [models(machine), plural(len(machine.host_numa_nodes), "NUMA node")]
        links = dict.fromkeys(link_words(gpu.link, most=True) for gpu in machine.gpus)
        words += [" or ".join(links)] if links else []
    drift = [f for f in findings if f.verdict not in ("PASS", NOT_JUDGED)]
    notes = [f.reason for f in findings if f.verdict == NOT_JUDGED]
    compared = ["as expected"] if check.word == "PASS" else []
    words += [plural(len(drift), "finding")] if drift else notes[:1] or compared
    return ", ".join(words)


def models(machine: Node) -> str:
    """``2 × NVIDIA A100 + 1 × NVIDIA H100``."""
    names = Counter(gpu.name or "GPU" for gpu in machine.gpus)
    return " + ".join(f"{count} × {name}" for name, count in names.items()) or "no GPU"


def reasons(run: RunDirectory, answers: Mapping[str, Answer] | None = None) -> list[ReasonGroup]:
    """Every reason of a run, with what follows from it; ``answers`` say what explains slow figures, by the nodes' folders."""
    found = [VerdictReason(missing_case(case), None, None) for case in run.missing_cases]
    for number_, node in enumerate(run.nodes):
        for check in node.checks:
            found += _check_reasons(node, check, anchor_prefix(number_, check))
    return reason_groups(found, answers)


def missing_case(case: dict[str, object]) -> Finding:
    """The finding of a case that should have run and did not."""
    cause, check = case.get("reason"), title(str(case.get("check")))
    named = None if cause else case.get("name")
    return messages.CASE_MISSING.finding(check, node=case.get("node"), cause=cause, case=named)


def not_asked(run: RunDirectory) -> list[str]:
    """A sentence for each thing that is missing: the checks that were not asked for it, and what brings it."""
    missing = ((str(e.get("reason")), str(e.get("remedy") or ""), str(e.get("title"))) for e in run.not_asked)
    groups = grouped(((why, remedy), title_) for why, remedy, title_ in missing)
    return [f"{', '.join(titles)}: {why}{f'; {remedy}' if remedy else ''}" for (why, remedy), titles in groups.items()]


def anchor_prefix(node_number: int, check: CheckRecord) -> str:
    """What the anchors of a check's figures begin with."""
    return f"s{node_number}.{short_name(check.name)}"


def finding_anchor(prefix: str, position: int, finding: Finding) -> str:
    """The anchor of a check's finding: of the cell where it speaks of one, else its own."""
    cell = parsed(finding.subject)
    return cell_anchor(prefix, cell) if cell is not None else f"{prefix}.finding-{position}"


def _check_reasons(node: NodeRun, check: CheckRecord, prefix: str) -> list[VerdictReason]:
    """What is held against a check, the worst first."""
    about = messages.CASE_LOST.finding(check.name, problem=check.problem, node=node.name)
    lost = [VerdictReason(about, node, check, prefix)] if check.problem else []
    verdict = check.verdict
    if verdict is None:
        return lost
    found = []
    for members in _alike(verdict.findings):
        kinds, cells, devices = zip(*(of_finding(finding, verdict) for _, finding in members))
        every = tuple(dict.fromkeys(cell for each in cells for cell in each))
        finding, anchor = of_several([finding for _, finding in members]), finding_anchor(prefix, *members[0])
        found.append(VerdictReason(finding, node, check, anchor, kinds[0], every, frozenset().union(*devices)))
    shown = {figure.name: figure for figure in figures(check, prefix)}
    for finding in disturbances.reasons(verdict.metrics):
        figure = shown[finding.subject]
        slow = finding.verdict in ("FAIL", "DEGRADED") and not figure.intermittent
        own = () if figure.cell is None else (str(figure.cell),)
        found.append(VerdictReason(finding, node, check, figure.anchor, FIGURE if slow else OTHER, own))
    held = [each for each in found if each.finding.verdict in ORDER[:3]]
    return [*sorted(held, key=lambda each: each.rank), *lost]


def _alike(findings: Sequence[Finding]) -> Iterable[list[tuple[int, Finding]]]:
    """Findings with their positions, those together that differ in their subject alone."""
    groups: dict[str, list[tuple[int, Finding]]] = {}
    for position, each in enumerate(findings):
        about = {key: value for key, value in each.fields.items() if key not in ("cell", "cells")}
        what = (each.verdict, each.hard, each.code, about) if each.code else (each.verdict, each.hard, each.reason)
        groups.setdefault(repr(what), []).append((position, each))
    return groups.values()


def modelled_notice(run: RunDirectory) -> str | None:
    """The sentence that must not be missed where any part is modelled."""
    modelled = dict.fromkeys(node.name for node in run.nodes if node.modelled)
    names = ", ".join(modelled or map(str, run.raw.get("modelled") or []))
    if not names:
        return None
    faults = ", ".join(map(str, run.raw.get("degraded") or []))
    names += f" node, with the made-up fault {faults}" if faults else " node"
    real = [node for node in run.nodes if not node.modelled]
    if not real:
        return f"Everything here is MODELLED ({names}): nothing was measured."
    if not any(node.node is not None and node.node.gpus for node in real):
        return f"No GPU on this machine: the GPU figures below are MODELLED ({names}). None of them was measured."
    return f"Part of this is MODELLED ({names}): those figures were not measured and do not affect the verdict."


def foreign_notice(run: RunDirectory) -> str | None:
    """Whose figures they are, of a run of other tools' output."""
    tools = ", ".join(map(str, run.raw.get("foreign") or []))
    return f"These figures come from {tools}, not from nearfar." if tools else None


def slow_unjudged(
    run: RunDirectory, found: Sequence[ReasonGroup], answers: Mapping[str, Answer] | None
) -> NodeRun | None:
    """Of a run in which nothing was judged, the first node with slow figures: what explains them is the run's first sentence."""
    measured = any(not group.cause.modelled for group in found)
    if measured or run.raw.get("interrupted") or run.shown not in ("MODELLED", NOT_JUDGED):
        return None
    return next((node for node in run.nodes if node.folder.name in (answers or {})), None)


def lead(run: RunDirectory, found: list[ReasonGroup], answers: Mapping[str, Answer] | None = None) -> str:
    """The run in a sentence: the worst reason, or that all is well; ``answers`` as in ``reasons``."""
    if run.raw.get("interrupted"):
        return "This run was interrupted, so its results are incomplete."
    measured = [g for g in found if not g.cause.modelled]
    if measured:
        more = f" And {plural(len(measured) - 1, 'more reason')}." if len(measured) > 1 else ""
        first = measured[0]
        if first.worst is not None:
            text = heading(first.cause.finding.reason)
            if first.cause.kind != SHARED:
                return f"{text}{where(run, first)}.{more}"
            return f"{text}. The worst: {first.worst.finding.reason.rstrip('.')}.{more}"
        follows = f"; {first.words}" if first.words else ""
        return f"{_of_check(first)}{first.cause.finding.reason.rstrip('.')}{where(run, first)}{follows}.{more}"
    node = slow_unjudged(run, found, answers)
    slow = answers[node.folder.name] if answers and node else None
    if run.shown == "MODELLED":
        return _modelled_lead(run, found, slow)
    nothing = coverage.nothing(run)
    if nothing:
        return f"{f'{heading(slow.sentence)}. ' if slow else ''}Nothing was judged: {nothing}."
    if run.raw.get("verdict") != "PASS":
        return "No reason was recorded; the raw documents below may show more."
    count, unjudged, unlimited = coverage.of_run(run)
    have, were = ("figure has", "was") if unjudged == 1 else ("figures have", "were")
    aside = f" {unjudged} {have} no reference and {were} not judged." if unjudged else ""
    aside += f" {coverage.unlimited_words(unlimited)}." if unlimited else ""
    well = [
        "Nothing is wrong with what was looked at.",
        "The one judged figure is within its bounds.",
        f"All {count} judged figures are within their bounds.",
    ][min(count, 2)]
    return f"{well}{aside}"


def _of_check(group: ReasonGroup) -> str:
    """``GPU ↔ GPU: `` before a cause that speaks of cells without their check; else nothing."""
    check = group.cause.check
    return f"{title(check.name)}: " if check is not None and group.cause.finding.code.startswith("cells.") else ""


def where(run: RunDirectory, group: ReasonGroup) -> str:
    """`` (vm2)`` behind a cause that was found among the figures of one of several nodes; else nothing."""
    several = len({node.name for node in run.nodes if node.checks}) > 1
    cause = group.cause
    return f" ({cause.node.name})" if several and cause.check is None and cause.node is not None else ""


def _modelled_lead(run: RunDirectory, found: list[ReasonGroup], slow: Answer | None) -> str:
    """A run of modelled nodes alone in a sentence."""
    if slow:
        return f"{heading(slow.sentence)}; nothing was measured, so this does not affect the verdict."
    if not found:
        fault = ", and the made-up fault slows no figure of these checks" if run.raw.get("degraded") else ""
        return f"Every check ran on the modelled node{fault}; nothing was measured, so nothing was judged."
    every = (f for node in run.nodes for check in node.checks for f in figures(check, ""))
    odd = sum(f.shown in ("FAIL", "DEGRADED") for f in every)
    what = f"{plural(odd, 'modelled figure differs', 'modelled figures differ')} from what a healthy node has"
    what = what if odd else "Some checks of the modelled node could not be judged"
    return f"{what}; nothing was measured, so this does not affect the verdict."


def degraded_figures(run: RunDirectory) -> list[dict[str, str]]:
    """What is DEGRADED of a run that was measured: ``check``, ``subject`` and ``code`` of each figure and finding."""
    verdicts = [(c.name, c.verdict) for node in run.nodes if not node.modelled for c in node.checks if c.verdict]
    return [
        {"check": check, "subject": each.subject, "code": each.code}
        for check, verdict in verdicts
        for each in (*verdict.findings, *(metric.finding for metric in verdict.metrics))
        if each.verdict == "DEGRADED"
    ]


def acceptance_finding(run: RunDirectory) -> Finding | None:
    """That an acceptance refuses or accepts a DEGRADED run; None of any other."""
    acceptance = run.raw.get("acceptance")
    if acceptance is None or run.shown != "DEGRADED":
        return None
    names = [f"{each['subject']} ({each['code']})" for each in degraded_figures(run)]
    return acceptance_note(names, acceptance["accept_degraded"])


def acceptance_note(names: Sequence[str], accepted: bool) -> Finding:
    """That an acceptance refuses, or accepts, what has these names."""
    message = messages.DEGRADED_ACCEPTED if accepted else messages.DEGRADED_REFUSED
    return message.finding("acceptance", degraded=listed(names, _NAMED))
