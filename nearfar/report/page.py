"""The page: what it shows of each node and check, what its templates see, and rendering them. A site's ``templates/`` may override any
template of the same name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import nearfar
from nearfar import question
from nearfar.base import ORDER, Finding, shown_verdict
from nearfar.report import sections
from nearfar.report.blocks import Block, Entry, Group, Row, Text, anchors, rendered, row, table
from nearfar.report.charts import Findings, draw, evidence, load_place
from nearfar.report.explanations import Capacities, Explained, Faults, shared_rates
from nearfar.report.figures import Figure, figure_rows, figures, parsed, plural, wording
from nearfar.report.sections import provenance
from nearfar.verdict import CheckRecord, NodeRun, RunDirectory

from . import headline
from .causes import VerdictReason, answered
from .next_step import inspection, next_command


@dataclass(frozen=True)
class Section:
    """One node. ``figures`` are those of its checks, by their names, ``rows`` the same as rows of a table; ``blocks`` stand below its
    drawing."""

    id: str
    run: NodeRun
    shown: str
    summary: str
    drawing: Any
    figures: dict[str, list[Figure]]
    rows: list[tuple[Figure, ...]]
    explained: Explained
    drawn: Findings
    blocks: list[Block]


def render(run: RunDirectory, explained: Mapping[str, Explained]) -> str:
    """The page of a run, one self-contained HTML document. ``explained`` is by the nodes' folders."""
    answers = {name: each.answer for name, each in explained.items() if each.answer is not None}
    found = headline.reasons(run, answers)
    told = answered(found)
    faults = [str(fault) for fault in run.raw.get("degraded") or []]
    nodes = [
        section(number, node, explained[node.folder.name], faults, _missing(run, node))
        for number, node in enumerate(run.nodes)
    ]
    placed = {anchor for each in nodes for anchor in anchors(each.blocks)}
    # What no map has stands among every figure, those that are alike in the row of one of them.
    rows = {figure.anchor: f"row.{alike[0].anchor}" for each in nodes for alike in each.rows for figure in alike}

    def href(reason: VerdictReason) -> str | None:
        anchor = reason.anchor
        if reason.check is None and reason.node is not None and anchor is None:
            return next((f"#{each.id}.faults" for each in nodes if each.run is reason.node), None)
        if anchor is None or anchor in placed:
            return anchor and f"#{anchor}"
        return f"#{rows.get(anchor, f'row.{anchor}')}"

    words, unjudged = headline.lead(run, found, answers), headline.slow_unjudged(run, found, answers)
    only = found[0] if len(found) == 1 and not found[0].follows else None
    # The only reason stands on top, and nowhere again; of a part that is named there what follows from it stands below.
    whole = only is not None and words == f"{only.cause.finding.reason.rstrip('.')}."
    named = found[0] if found and found[0].explained and found[0].cause.check is None else None
    if run.raw.get("interrupted") or (named and named.cause.modelled and unjudged is not named.cause.node):
        named = None
    leading = named if named is not None else only if whole else None
    unanswered = [
        (each, "what this rests on" if each.run is unjudged else faults_.sentence)
        for each in nodes
        if (faults_ := each.explained.faults)
        and each.run.folder.name not in told
        and (faults_.blocks or each.run is not unjudged)
    ]
    measured = (f for s in nodes if not s.run.modelled for own in s.figures.values() for f in own)
    return rendered("page.html", {
        "run": run, "raw": run.raw, "shown": run.shown, "sections": nodes, "named": named,
        "reasons": [group for group in found if group is not leading], "unanswered": unanswered, "href": href,
        "lead": words, "lead_href": href(leading.cause) if leading is not None else None,
        "notice": headline.modelled_notice(run), "foreign": headline.foreign_notice(run), "not_asked": headline.not_asked(run),
        "counts": Counter(figure.shown for figure in measured if not figure.explains), "acceptance": headline.acceptance_finding(run),
        "inspect": inspection(run, found, answers), "next": next_command(run), "command": provenance.command(run.raw.get("command")),
        "programs": provenance.programs(run.programs), "signs": wording.SIGNS, "words": wording,
        "version": nearfar.__version__,
    })  # fmt: skip


def section(
    number: int,
    node: NodeRun,
    explained: Explained,
    faults: Sequence[str] = (),
    missing: Sequence[dict[str, Any]] = (),
) -> Section:
    """One node of a run; ``number`` makes its anchors unique on the page; ``faults``: those that a modelled one was given; ``missing``:
    its cases that did not run."""
    machine, anchor = node.node, f"s{number}"
    found: dict[str, list[Figure]] = {}
    overview: list[Row] = []
    shown: list[Block] = []
    findings: list[tuple[str, str, Finding]] = []
    rows: list[tuple[str, list[tuple[Figure, ...]], list[sections.Gap]]] = []
    for check in node.checks:
        prefix, title = headline.anchor_prefix(number, check), headline.title(check.name)
        own, gaps = figures(check, prefix), sections.gaps(check, prefix)
        found[check.name] = own
        rows.append((title, figure_rows(own), gaps))
        below = (f"{wording.SIGNS['INDETERMINATE']} {check.problem}.",) if check.problem else ()
        said = Entry(headline.check_line(check, node), below)
        overview.append(row(Entry(verdict=shown_verdict(check.word, node.modelled)), title, said, anchor=prefix))
        if (own or not sections.nothing(gaps)) and (blocks := _check_blocks(node, check, own, prefix)):
            # What tints mean stands below the first.
            legend = [] if shown else [sections.legend(node.modelled)]
            shown.append(Group(title, (*blocks, *legend)))
        for position, each in enumerate(check.verdict.findings if check.verdict else ()):
            if parsed(each.subject) is None:  # a cell without a figure stands in its matrix, and among the gaps
                findings.append((title, headline.finding_anchor(prefix, position, each), each))
    overview += [] if node.checks else [row("No check ran on this node.")]
    for case in missing:
        name = headline.title(str(case.get("check")))
        overview.append(row(Entry(verdict="INDETERMINATE"), name, headline.missing_case(case).reason))
    everything = [f for each in found.values() for f in each]
    drawing, drawn = None, _findings(node, everything)
    if machine is not None:
        mark = node.word if node.word in ("FAIL", "DEGRADED") else "DEGRADED"
        shared = shared_rates(machine, explained)
        drawn = replace(drawn, shared=shared)
        if (answer := explained.answer) is not None:
            drawn = replace(drawn, blamed=dict.fromkeys(answer.parts, mark), explained=answer.cells)
        drawing = draw(machine, drawn)
    others, node_type = sections.who_else(node), None
    titled = [(headline.title(check.name), check) for check in node.checks]
    if node.modelled:
        node_type = sections.modelled_type(node.name, faults)
    return Section(
        id=anchor, run=node, shown=shown_verdict(node.word, node.modelled), summary=_summary(node), drawing=drawing, figures=found,
        rows=[alike for _, each, _ in rows for alike in each],
        explained=explained, drawn=drawn,
        blocks=[
            table((), overview, kind="checks block"),
            *([Text((others,), "block")] if others else []),
            # The answer itself stands once, at the top of the page: here is what it rests on.
            *_explaining("What explains what is slow", explained.faults, f"{anchor}.faults"),
            *(sections.beside(node_type, everything, anchor) if node_type else []),
            *shown,
            *_explaining("What limits many flows at once", explained.capacities, f"{anchor}.capacities"),
            *sections.findings_table(findings),
            *sections.gpu_table(node),
            *sections.every_figure(rows),
            *provenance.runs(node, titled),
        ],
    )  # fmt: skip


def _missing(run: RunDirectory, node: NodeRun) -> list[dict[str, Any]]:
    """The cases of a node, or of its system where no node is known, that did not run."""
    cases = [(case, case.get("node")) for case in run.missing_cases]
    return [case for case, name in cases if name == node.name or (not name and case.get("system") == node.system)]


def _explaining(title: str, found: Capacities | Faults | None, anchor: str) -> list[Block]:
    return [Group(title, found.blocks, anchor=anchor, kind="explains")] if found and found.blocks else []


def _summary(node: NodeRun) -> str:
    machine = node.node
    if machine is None:
        return "what this node is was not recorded"
    parts = {"package": machine.packages, "NUMA node": machine.host_numa_nodes, "NIC": machine.nics}
    counts = [plural(len(found), what) for what, found in parts.items() if found or what == "NUMA node"]
    return " · ".join([*([machine.product] if machine.product else []), headline.models(machine), *counts])


def _check_blocks(node: NodeRun, check: CheckRecord, found: list[Figure], prefix: str) -> list[Block]:
    """The maps, tables and curves of a check."""
    machine, why, asked = node.node, evidence(check.verdict, prefix), question.find(check.name)
    hosts = [n.index for n in machine.host_numa_nodes] if machine else []
    gpus = [g.index for g in machine.gpus] if machine else []
    mapped = asked is None or asked.maps
    many = sections.ramps(found, check.document, why, machine) if found or mapped else []
    plain = mapped and not many and not any(figure.derived.startswith("latency_") for figure in found)
    return [
        *(each.block for each in sections.maps(found, why, hosts, gpus, plain)),
        *sections.check_blocks(found, check.document, machine), *many, *sections.exchange_tables(found, check.document, why, machine),
    ]  # fmt: skip


def _findings(node: NodeRun, everything: list[Figure]) -> Findings:
    """What the drawing says beside the node itself."""
    lanes: dict[int, dict[str, Figure]] = {}
    for figure in everything:
        place = load_place(figure.cell)
        near = not figure.is_ratio and figure.path_class in ("near", "sole", "unknown")
        if place is None or place[0] == "both" or not near:
            continue
        ends = lanes.setdefault(place[1], {})
        if place[0] not in ends or _badness(figure) < _badness(ends[place[0]]):
            ends[place[0]] = figure
    nvlink = [gpu.index for gpu in node.node.gpus if gpu.link.kind != "pcie"] if node.node else []
    links: dict[int, str] = {}
    absent: dict[int, str] = {}
    faults: dict[int, Finding] = {}
    for check in node.checks:
        for entry in check.verdict.failed if check.verdict else ():
            cell = parsed(entry.cell)
            for gpu in cell.gpus if cell and entry.code == "absent" else ():
                absent.setdefault(gpu, entry.reason)
        for state in check.document.get("gpus_under_load", []):
            link = state.get("link") or {}
            if link.get("gen") and link.get("width") and state.get("index") not in nvlink:
                links[state["index"]] = f"PCIe {link['gen']} ×{link['width']}"
        for finding in check.verdict.findings if check.verdict else ():
            cell, own = parsed(finding.subject), re.match(r"g(\d+)(?:\.|$)", finding.subject)
            failed = finding.code.startswith("cell.") and finding.code != "cell.absent"
            gpus = {int(own[1])} if own else set(cell.gpus) if cell is not None and failed else set()
            for gpu in gpus if finding.verdict in ORDER[:3] else ():
                faults.setdefault(gpu, finding)
    return Findings(lanes, links, absent, faults)


def _badness(figure: Figure) -> tuple[int, float]:
    return ORDER.index(figure.verdict), -(figure.value or 0)
