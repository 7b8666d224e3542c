"""A run as a vendor's ticket needs it: what failed, on which boards, against what, and what is not known."""

from __future__ import annotations

from nearfar.base import minute_text, utc_time
from nearfar.report.blocks import Block, Entry, Group, Labels, Row, Shown, Text, row, table
from nearfar.report.explanations import explain
from nearfar.report.figures import coverage, figure_kinds, figures, plural
from nearfar.topology import written_settings
from nearfar.verdict import NodeRun, RunDirectory

from .causes import ReasonGroup
from .evidence import boards, passed, ruled_out
from .headline import lead, missing_words, not_asked, reasons, short_name, title

#: Of a cause so many reasons that follow from it are told.
_FOLLOWS = 3


def dossier(run: RunDirectory) -> Shown:
    """The dossier of a measured run. Nothing in it is judged again."""
    explained = explain(run)
    answers = {name: each.answer for name, each in explained.items() if each.answer is not None}
    found = [group for group in reasons(run, answers) if not (group.cause.node and group.cause.node.modelled)]
    nodes = [node for node in run.nodes if not node.modelled]
    owned = [(node.name, node.node.gpus) for node in nodes if node.node is not None and node.node.gpus]
    about = [
        ("measured", f"{_when(run)}, by {plural(sum(len(node.checks) for node in nodes), 'check')}"),
        ("node", ", ".join(dict.fromkeys(node.name for node in nodes))),
        ("machine", ", ".join(dict.fromkeys(node.node.product or "not known" for node in nodes if node.node))),
        ("verdict", run.shown),
        ("slow figures", "; ".join(answer.sentence for answer in answers.values())),
    ]
    unjudged = filter(None, [coverage.line(run)])
    blocks: list[Block] = [
        Labels(tuple((name, words) for name, words in about if words)),
        *_group("why", [each for group in found for each in _reason(group)]),
        *_group("figures that did not pass", _figures(nodes), ("check", "figure", "measured", "reference", "of it")),
        *_text("kernel log", [line for node in nodes for line in node.kernel_log]),
        *_text("ruled out", [sentence for node in nodes for sentence in _ruled_out(node)]),
        *([Group("boards", boards(owned))] if owned else []),
        *_group("versions and settings", _settings(nodes)),
        *_text("not judged, and not run", [*unjudged, *map(missing_words, run.missing_cases), *not_asked(run)]),
    ]
    made = "every figure, sample and document: the run's page and its `report.json`"
    title_ = f"{run.shown}: {nodes[0].name if nodes else run.folder.name}"
    return Shown(title_, (lead(run, found, answers),), tuple(blocks), made=made)


def _ruled_out(node: NodeRun) -> list[str]:
    return [*passed({check.name: check.word for check in node.checks}), *ruled_out(node)]


def _when(run: RunDirectory) -> str:
    started = run.raw.get("started")
    return f"{minute_text(utc_time(str(started)))} UTC" if started else "at a time that is not known"


def _group(name: str, rows: list[Row], columns: tuple[str, ...] = ()) -> list[Block]:
    return [Group(name, (table(columns, rows),))] if rows else []


def _text(name: str, sentences: list[str]) -> list[Block]:
    return [Group(name, (Text(tuple(sentences)),))] if sentences else []


def _reason(group: ReasonGroup) -> list[Row]:
    """A cause, and the first of what follows from it."""
    told = [group.cause, *group.follows[:_FOLLOWS]]
    named = [(each, title(each.check.name) if each.check else "") for each in told]
    rows = [row(Entry(verdict=each.shown), name, each.finding.reason) for each, name in named]
    more = len(group.follows) - _FOLLOWS
    return [*rows, row("", "", f"and {plural(more, 'more reason')} that follow from it")] if more > 0 else rows


def _figures(nodes: list[NodeRun]) -> list[Row]:
    kinds = [(check, kind) for node in nodes for check in node.checks for kind in figure_kinds(figures(check, ""))]
    return [row(short_name(check.name), *kind.cells) for check, kind in kinds if not kind.passes]


def _settings(nodes: list[NodeRun]) -> list[Row]:
    rows = []
    for node in (each.node for each in nodes if each.node is not None):
        known = {**node.software, **written_settings(node)}
        rows += [row(key.replace("_", " "), value) for key, value in sorted(known.items())]
    return list(dict.fromkeys(rows))
