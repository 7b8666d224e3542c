"""One line for a check, one sentence for a run: what terminals and the top of a page say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from nearfar import question
from nearfar.base import NOT_JUDGED, ORDER, Finding, of_several
from nearfar.report.charts import cell_anchor, load_place
from nearfar.report.explanations import Answer
from nearfar.report.figures import (
    NO_REFERENCE,
    BestCase,
    Figure,
    best_case_of,
    class_words,
    coverage,
    expected_of,
    figures,
    link_words,
    parsed,
    plural,
    span,
)
from nearfar.report.sections import (
    balance,
    contention,
    gaps,
    gpu_memory,
    kernels,
    latencies,
    many_gpus,
    mpi,
    nothing,
    numa_pairs,
    peers,
    size_curves,
)
from nearfar.verdict import CheckRecord, NodeRun, RunDirectory, disturbances

from . import messages
from .causes import FIGURE, OTHER, SHARED, ReasonGroup, VerdictReason, grouped, of_finding

#: What a sweep judges of pairs of nodes stands among the checks of a node.
_PAIRS = {"mpi_pairs": "MPI between nodes"}
_CLASS_ORDER = ("near", "on_socket", "off_socket", "sole", "unknown", "local")
_LOADS = (("h2d", "H2D"), ("d2h", "D2H"), ("both", "both"))


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
    asked, found = question.find(check.name), figures(check, "")
    hosts = [f for f in found if f.quantity == "copy" and not f.is_ratio and load_place(f.cell) is not None]
    said = (
        balance.line(check.document)
        or contention.line(check.document)
        or kernels.line(check.document)
        or _hosts_and_pairs(hosts, found)
        or mpi.line(found)
        or numa_pairs.line(found)
        or latencies.line(found, expected_of)
        or size_curves.line(found)
        or peers.line(found, expected_of)
        or many_gpus.line(found, node.node, expected_of)
        or next((told.reason for told in check.verdict.findings if asked and told.subject == asked.answer), None)
    )
    if said:
        return said
    streams = [f for f in found if f.cell is not None and all(flow.kind == "stream" for flow in f.cell.flows)]
    if hosts:
        return _host_device(hosts)
    on_gpus = gpu_memory.line(found, expected_of)
    if streams:
        return _host_memory(streams) + (f"; {on_gpus}" if on_gpus else "")
    if on_gpus:
        return on_gpus
    if found:
        shares = [f.share for f in found if f.share is not None]
        worst = f", the worst at {min(shares) * 100:.0f} % of its reference" if shares else ""
        return plural(len(found), "figure") + worst
    if asked is not None and not asked.has_figures:
        return _parts(check, node)
    told = sorted(check.verdict.findings, key=lambda f: ORDER.index(f.verdict))
    why = nothing(gaps(check, "")) or next((f.reason for f in told if f.verdict != "PASS"), None)
    return "no figure" + (f": {why}" if why else "")


def _hosts_and_pairs(hosts: list[Figure], found: list[Figure]) -> str | None:
    """Both in one line; None where there is nothing of one, or more than both."""
    rest = [f for f in found if not f.is_ratio and load_place(f.cell) is None]
    pairs = peers.line(rest, expected_of) if hosts and rest else None
    again = sum(f.remeasured for f in found)
    doubted = f"; {plural(again, 'figure')} measured again alone" if again else ""
    return f"{_host_device(hosts)}; {pairs}{doubted}" if pairs else None


def _host_device(copies: list[Figure]) -> str:
    places = [(load_place(f.cell), f) for f in copies if f.flow is None]
    gpus = sorted({p[1] for p, _ in places if p})
    numa = sorted({p[2] for p, _ in places if p})
    groups = []
    classes = _present(f.path_class for _, f in places)
    best = BestCase([f for p, f in places if p and f.value is not None])
    for path_class in classes:
        words = []
        for load, label in _LOADS:
            mine = [f for p, f in places if p and p[0] == load and f.path_class == path_class and f.value is not None]
            if mine:
                words.append(f"{label} {best.span(mine)}")
        groups.append((f"{class_words(path_class)} " if len(classes) > 1 else "") + ", ".join(words))
    lone = [f for p, f in places if p and p[0] != "both"]
    only = f"{class_words(classes[0])}; " if len(classes) == 1 else ""
    return f"{_names('g', gpus)} × {_names('n', numa)}: {'; '.join(groups)} GB/s ({only}{best.then(expected_of(lone))})"


def _host_memory(streams: list[Figure]) -> str:
    by_all = [f for f in streams if f.cell and all(flow.cores is None for flow in f.cell.flows)]
    kernels = _present((f.cell.flows[0].direction for f in by_all if f.cell), ("triad", "copy", "scale", "add"))[:1]
    said = [_by_all_cores(kernel, by_all) for kernel in kernels]
    for share, words in (("one", "by one core"), ("half", "by half of the cores"), ("butone", "by all cores but one")):
        mine = [f for f in streams if f.cell and f.cell.lone and f.cell.flows[0].cores == share]
        said += [f"{words} {_with_part_of_peak(mine)}"] if mine else []
    return "; ".join(said) or "no figures"


def _by_all_cores(kernel: str, streams: list[Figure]) -> str:
    parts = []
    mine = [f for f in streams if f.cell and f.cell.flows[0].direction == kernel]
    for path_class in _present(f.path_class for f in mine if f.cell and f.cell.lone):
        alone = [f for f in mine if f.cell and f.cell.lone and f.path_class == path_class]
        parts.append(f"{class_words(path_class)} {_with_part_of_peak(alone)}")
    together = [f for f in mine if f.is_total and f.value is not None]
    if together:
        parts.append(f"all NUMA nodes at once {_with_part_of_peak(together)}")
    expected = expected_of([f for f in mine if f.cell and f.cell.lone])
    totals = [f for f in mine if f.is_total and f.reference]
    if totals and expected == NO_REFERENCE:
        expected = f"all at once {expected_of(totals)}; the others {NO_REFERENCE}"
    return f"STREAM {kernel}: {', '.join(parts)} ({expected})"


def _with_part_of_peak(found: list[Figure]) -> str:
    """``214–219 GB/s``, and where each one's peak is known ``214–219 GB/s, 70–71 % of the peak``."""
    figures = [figure for figure in found if figure.value is not None]
    parts = [100 * figure.part_of_peak for figure in figures if figure.part_of_peak is not None]
    words = (
        f"{span(figure.value for figure in figures if figure.value is not None)} GB/s {best_case_of(figures)}".rstrip()
    )
    if not parts or len(parts) < len(figures):
        return words
    least, most = f"{min(parts):.0f}", f"{max(parts):.0f}"
    return f"{words}, {least if least == most else f'{least}–{most}'} % of the peak"


def _parts(check: CheckRecord, node: NodeRun) -> str:
    """The node's parts and the findings of a check without figures."""
    machine = node.node
    findings = check.verdict.findings if check.verdict else ()
    words = []
    if machine is not None:
        names = _present((gpu.name or "GPU" for gpu in machine.gpus), ())
        words.append(
            " + ".join(f"{sum((g.name or 'GPU') == n for g in machine.gpus)} × {n}" for n in names) or "no GPU"
        )
        words.append(plural(sum(n.kind == "host" for n in machine.numa_nodes), "NUMA node"))
        links = _present((link_words(gpu.link, most=True) for gpu in machine.gpus), ())
        if links:
            words.append(" or ".join(links))
    drift = [f for f in findings if f.verdict not in ("PASS", NOT_JUDGED)]
    notes = [f.reason for f in findings if f.verdict == NOT_JUDGED]
    compared = ["as expected"] if check.word == "PASS" else []
    words += [plural(len(drift), "finding")] if drift else notes[:1] or compared
    return ", ".join(words)


def _present(words: Iterable[str], order: tuple[str, ...] = _CLASS_ORDER) -> list[str]:
    """The words that occur, in a given order, others after them as they come."""
    seen = list(dict.fromkeys(words))
    return [w for w in order if w in seen] + [w for w in seen if w not in order]


def _names(letter: str, numbers: list[int]) -> str:
    if len(numbers) > 2 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"{letter}{numbers[0]}–{letter}{numbers[-1]}"
    return ",".join(f"{letter}{n}" for n in numbers)


def reasons(run: RunDirectory, answers: Mapping[str, Answer] | None = None) -> list[ReasonGroup]:
    """Every reason of a run, with what follows from it; ``answers`` say what explains slow figures, by the nodes' folders."""
    found = [VerdictReason(_missing(case), None, None) for case in run.missing_cases]
    for number_, node in enumerate(run.nodes):
        for check in node.checks:
            found += _check_reasons(node, check, anchor_prefix(number_, check))
    return grouped(found, answers)


def missing_words(case: dict[str, object]) -> str:
    """A case that should have run and did not, in a sentence."""
    return _missing(case).reason


def _missing(case: dict[str, object]) -> Finding:
    cause, check = case.get("reason"), title(str(case.get("check")))
    named = None if cause else case.get("name")
    return messages.CASE_MISSING.finding(check, node=case.get("node"), cause=cause, case=named)


def not_asked(run: RunDirectory) -> list[str]:
    """A sentence for each thing that is missing: the checks that were not asked for it, and what brings it."""
    groups: dict[tuple[str, str], list[str]] = {}
    for entry in run.not_asked:
        groups.setdefault((str(entry.get("reason")), str(entry.get("remedy") or "")), []).append(
            str(entry.get("title"))
        )
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
    lost = [
        VerdictReason(messages.CASE_LOST.finding(check.name, problem=check.problem, node=node.name), node, check, prefix)
    ] if check.problem else []  # fmt: skip
    verdict = check.verdict
    if verdict is None:
        return lost
    found = []
    for members in _alike(verdict.findings):
        kinds, cells, devices = zip(*(of_finding(finding, verdict) for _, finding in members))
        about = tuple(dict.fromkeys(cell for each in cells for cell in each))
        finding, anchor = of_several([finding for _, finding in members]), finding_anchor(prefix, *members[0])
        found.append(VerdictReason(finding, node, check, anchor, kinds[0], about, frozenset().union(*devices)))
    shown = {figure.name: figure for figure in figures(check, prefix)}
    for finding in disturbances.reasons(verdict.metrics):
        figure = shown[finding.subject]
        slow = finding.verdict in ("FAIL", "DEGRADED") and not figure.intermittent
        about = () if figure.cell is None else (str(figure.cell),)
        found.append(VerdictReason(finding, node, check, figure.anchor, FIGURE if slow else OTHER, about))
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
    modelled = [node for node in run.nodes if node.modelled]
    names = ", ".join(dict.fromkeys(node.name for node in modelled)) or ", ".join(
        map(str, run.raw.get("modelled") or [])
    )
    if not names:
        return None
    faults = ", ".join(map(str, run.raw.get("degraded") or []))
    names += f" node, with the made-up fault {faults}" if faults else " node"
    real = [node for node in run.nodes if not node.modelled]
    if not real:
        return f"Everything here is MODELLED ({names}): nothing was measured."
    if not any(node.node is not None and node.node.gpus for node in real):
        return f"No GPU on this machine: the GPU figures below are MODELLED ({names}). None of them was measured."
    return f"Part of this is MODELLED ({names}): those figures were not measured and count for nothing in the verdict."


def slow_unjudged(run: RunDirectory, found: list[ReasonGroup], answers: Mapping[str, Answer] | None) -> NodeRun | None:
    """Of a run in which nothing was judged, the first node with slow figures: what explains them is the run's first sentence."""
    measured = any(not (group.cause.node and group.cause.node.modelled) for group in found)
    if measured or run.raw.get("interrupted") or run.shown not in ("MODELLED", NOT_JUDGED):
        return None
    return next((node for node in run.nodes if node.folder.name in (answers or {})), None)


def lead(run: RunDirectory, found: list[ReasonGroup], answers: Mapping[str, Answer] | None = None) -> str:
    """The run in a sentence: the worst reason, or that all is well; ``answers`` as in ``reasons``."""
    if run.raw.get("interrupted"):
        return "This run was interrupted: what is shown here is not all that was asked for."
    measured = [g for g in found if not (g.cause.node and g.cause.node.modelled)]
    if measured:
        more = f" And {plural(len(measured) - 1, 'more reason')}." if len(measured) > 1 else ""
        first = measured[0]
        if first.worst is not None:
            text = first.cause.finding.reason
            if first.cause.kind != SHARED:
                return f"What is slow is {text}{where(run, first)}.{more}"
            return f"{text[0].upper()}{text[1:]}. The worst: {first.worst.finding.reason.rstrip('.')}.{more}"
        follows = f"; {first.words}" if first.follows else ""
        return f"{first.cause.finding.reason.rstrip('.')}{where(run, first)}{follows}.{more}"
    node = slow_unjudged(run, found, answers)
    slow = answers[node.folder.name] if answers and node else None
    if run.shown == "MODELLED":
        return _modelled_lead(run, found, slow)
    nothing = coverage.nothing(run)
    if nothing:
        but = f", but what is slow is {slow.sentence}" if slow else ""
        return f"Nothing was judged{but}: {nothing}."
    if run.raw.get("verdict") != "PASS":
        return "No reason was recorded; the raw documents below may say more."
    count, unjudged, unlimited = coverage.of_run(run)
    aside = (
        f" {plural(unjudged, 'figure has', 'figures have')} no reference and {'was' if unjudged == 1 else 'were'} not judged."
        if unjudged
        else ""
    )
    aside += f" {coverage.unlimited_words(unlimited)}." if unlimited else ""
    if not count:
        return f"Nothing is wrong with what was looked at.{aside}"
    return (
        f"All {count} judged figures are within their bounds."
        if count > 1
        else "The one judged figure is within its bounds."
    ) + aside


def where(run: RunDirectory, group: ReasonGroup) -> str:
    """`` (vm2)`` behind a cause that was found among the figures of one of several nodes; else nothing."""
    several = len({node.name for node in run.nodes if node.checks}) > 1
    cause = group.cause
    return f" ({cause.node.name})" if several and cause.check is None and cause.node is not None else ""


def _modelled_lead(run: RunDirectory, found: list[ReasonGroup], slow: Answer | None) -> str:
    """A run of modelled nodes alone in a sentence."""
    if slow:
        return f"What is slow is {slow.sentence}; nothing was measured, so this does not affect the verdict."
    if not found:
        return "Every check ran on the modelled node; nothing was measured, so nothing was judged."
    every = (f for node in run.nodes for check in node.checks for f in figures(check, ""))
    odd = sum(f.shown in ("FAIL", "DEGRADED") for f in every)
    what = (
        plural(odd, "modelled figure differs", "modelled figures differ") + " from what a healthy node has"
        if odd
        else "Some checks of the modelled node could not be judged"
    )
    return f"{what}; nothing was measured, so this does not affect the verdict."
