"""A run as a vendor's ticket needs it: what failed, on which boards, against what, and what is not known."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from nearfar.base import minute_text, utc_time
from nearfar.measurement import machine_uses
from nearfar.report.blocks import Block, Entry, Group, Labels, Row, Shown, Text, row, table, titled_table
from nearfar.report.explanations import explain
from nearfar.report.figures import coverage, figure_kinds, figures, plural
from nearfar.topology import written_settings
from nearfar.verdict import NodeRun, RunDirectory, document_facts

from .causes import ReasonGroup
from .headline import lead, missing_case, not_asked, reasons, short_name, title

#: Of a cause so many reasons that follow from it are told.
_FOLLOWS = 3
#: Of a board: what is its own of ``topology.Gpu``, and what people call it.
_COLUMNS = {"index": "GPU", "slot": "slot", "pci": "PCI", "name": "model", "serial": "serial", "uuid": "UUID"}


def dossier(run: RunDirectory) -> Shown:
    """The dossier of a measured run. Nothing in it is judged again."""
    explained = explain(run)
    answers = {name: each.answer for name, each in explained.items() if each.answer is not None}
    found = [group for group in reasons(run, answers) if not group.cause.modelled]
    nodes = [node for node in run.nodes if not node.modelled]
    owned = [(node.name, node.node.gpus) for node in nodes if node.node is not None and node.node.gpus]
    kinds = [(check, kind) for node in nodes for check in node.checks for kind in figure_kinds(figures(check, ""))]
    bad = [row(short_name(check.name), *kind.cells) for check, kind in kinds if not kind.passes]
    innocent = []
    for node in nodes:
        innocent += [*passed({check.name: check.word for check in node.checks}), *ruled_out(node)]
    started = run.raw.get("started")
    when = f"{minute_text(utc_time(str(started)))} UTC" if started else "at a time that is not known"
    about = [
        ("measured", f"{when}, by {plural(sum(len(node.checks) for node in nodes), 'check')}"),
        ("node", ", ".join(dict.fromkeys(node.name for node in nodes))),
        ("machine", ", ".join(dict.fromkeys(node.node.product or "not known" for node in nodes if node.node))),
        ("verdict", run.shown),
        ("slow figures", "; ".join(answer.sentence for answer in answers.values())),
    ]
    unjudged = [*filter(None, [coverage.line(run)]), *(missing_case(case).reason for case in run.missing_cases)]
    blocks: list[Block] = [
        Labels(tuple((name, words) for name, words in about if words)),
        *titled_table("why", [each for group in found for each in _reason(group)]),
        *titled_table("figures that did not pass", bad, ("check", "figure", "measured", "reference", "of it")),
        *_text("kernel log", [line for node in nodes for line in node.kernel_log]),
        *_text("ruled out", innocent),
        *([Group("boards", boards(owned))] if owned else []),
        *titled_table("versions and settings", _settings(nodes)),
        *_text("not judged, and not run", [*unjudged, *not_asked(run)]),
    ]
    made = "every figure, sample and document: the run's page and its `report.json`"
    title_ = f"{run.shown}: {nodes[0].name if nodes else run.folder.name}"
    return Shown(title_, (lead(run, found, answers),), tuple(blocks), made=made)


def _text(name: str, sentences: list[str]) -> list[Block]:
    return [Group(name, (Text(tuple(sentences)),))] if sentences else []


def _reason(group: ReasonGroup) -> list[Row]:
    """A cause, and the first of what follows from it."""
    told = [group.cause, *group.follows[:_FOLLOWS]]
    named = [(each, title(each.check.name) if each.check else "") for each in told]
    rows = [row(Entry(verdict=each.shown), name, each.finding.reason) for each, name in named]
    more = len(group.follows) - _FOLLOWS
    return [*rows, row("", "", f"and {plural(more, 'more reason')} that follow from it")] if more > 0 else rows


def _settings(nodes: list[NodeRun]) -> list[Row]:
    rows = []
    for node in (each.node for each in nodes if each.node is not None):
        known = {**node.software, **written_settings(node)}
        rows += [row(key.replace("_", " "), value) for key, value in sorted(known.items())]
    return list(dict.fromkeys(rows))


def boards(nodes: Iterable[tuple[str, Iterable[Any]]]) -> tuple[Block, ...]:
    """The GPUs of nodes (anything with the fields of ``topology.Gpu``), their model once where all have the same; what is known of none
    is no column."""
    found = [(name, gpu) for name, gpus in nodes for gpu in gpus]
    models = {gpu.name for _, gpu in found}
    left_out = {"name"} if len(models) == 1 else set()
    keys = [key for key in _COLUMNS if key not in left_out and any(getattr(gpu, key) is not None for _, gpu in found)]
    owned = [(name, [getattr(gpu, key) for key in keys]) for name, gpu in found]
    rows = [(name, *("–" if value is None else str(value) for value in values)) for name, values in owned]
    model = [Text((f"model: {name}",)) for name in models if name is not None and left_out]
    return (*model, table(("node", *map(_COLUMNS.__getitem__, keys)), rows))


def passed(checks: Mapping[str, str], against: Collection[str] = ()) -> list[str]:
    """In a sentence the checks that passed, of verdicts by check; those are left out that something is held ``against``."""
    names = [title(name) for name, word in checks.items() if word == "PASS" and name not in against]
    return [f"checks that passed: {', '.join(names)}"] if names else []


def ruled_out(node: NodeRun) -> list[str]:
    """What is not the cause of a slow figure of a measured node, in sentences: only what a document of it says."""
    verdicts = [check.verdict for check in node.checks if check.verdict is not None]
    documents, metrics = [each.document for each in verdicts], [m for each in verdicts for m in each.metrics]
    loads = [load for document in documents for load in document.get("gpus_under_load") or ()]
    uses = [use for document in documents for use in machine_uses(document)]
    verified = [metric.verified for metric in metrics if metric.verified is not None]
    counts = [counter.grown for use in uses for counter in use.counters]
    counts += [load["replays"] for load in loads if load.get("replays") is not None]
    errors = [load["uncorrected_errors"] for load in loads if load.get("uncorrected_errors") is not None]
    found = {
        f"other load: none beside any of {plural(len(metrics), 'figure')}": bool(uses)
        and not any(metric.disturbance is not None or metric.contended for metric in metrics),
        "heat and power: the clocks of no GPU were held down under load": bool(loads)
        and not any(map(document_facts.held_down, documents)),
        f"data: all that was compared arrived intact ({plural(len(verified), 'figure')})": bool(verified)
        and all(verified),
        "errors of links: none was counted meanwhile": bool(counts) and not any(counts),
        "memory of the GPUs: no uncorrected error meanwhile": bool(errors) and not any(errors),
    }
    return [sentence for sentence, holds in found.items() if holds]
