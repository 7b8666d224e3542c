"""A decided delivery as blocks: what a terminal shows, and what is signed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from nearfar.base import MESSAGES, NOT_JUDGED, Finding, folded, grouped, minute_text, plural, utc_time
from nearfar.report import boards, passed
from nearfar.report.blocks import Block, Entry, Group, Labels, Row, Shown, Text, row, table, titled_table
from nearfar.topology import by_value
from nearfar.verdict.references import figure, with_unit

from .decision import ACCEPTED, AGAIN, REFUSED, DeliveredFigure, DeliveredNode, Delivery, MeasuredRun
from .parts import columns, gib, item, written_link

#: Of a refused node so many pieces of evidence are told.
_EVIDENCE = 3
#: A table of more lines is not read to its end, and may be cut in a record.
_LINES = 12
_AGAINST = {
    "order": "the order",
    "references": "the site's references",
    "itself": "each other",
    "outside": "what is promised, and known of their GPUs and links",
}
_ORIGINS = {
    "order": "promised",
    "published": "published",
    "model": "healthy GPUs",
    "itself": "the other nodes",
    "ceiling": "ceiling",
}


def shown(delivery: Delivery, next_step: str, when: str, explained: Mapping[str, str] | None = None) -> Shown:
    """The delivery's findings and the count of decisions first, then each node that is not accepted. ``when``: of the decision;
    ``next_step``: what to do now; ``explained``: what explains a node's slow figures."""
    order = delivery.order
    refused, again, accepted = (
        [node for node in delivery.nodes if node.decision == word] for word in (REFUSED, AGAIN, ACCEPTED)
    )
    waived = {node.name: node.waived for node in accepted if node.waived}
    whole = [finding for finding in delivery.findings if finding.verdict != NOT_JUDGED]
    notes = [finding for finding in delivery.findings if finding.verdict == NOT_JUDGED]
    blocks: list[Block] = [
        Labels((
            ("order", f"{order.name}: {plural(order.count, 'node')}, {order.offer}"),
            ("measured", _measured(delivery)),
            ("held against", ", ".join(_AGAINST[word] for word in delivery.against)),
            ("decided", f"{minute_text(utc_time(when))} UTC"),
        )),
        *titled_table("the delivery as a whole", [row(Entry(verdict=each.verdict), each.reason) for each in whole]),
        *_decided("refused", "why", {node.name: node.evidence for node in refused}, explained),
        *_decided(_again(delivery), "what is missing", {node.name: node.missing for node in again}),
        *titled_table("accepted though DEGRADED, by name", _held(waived), ("nodes", "what")),
        *([Group("accepted", (Text((folded(node.name for node in accepted),), plain=True),))] if accepted else []),
        *titled_table("accepted after a failure", _failures(accepted), ("nodes", "what failed")),
        *titled_table("ordered and found", _found(delivery), ("", "ordered", "found")),
        *titled_table("figures", [_figure(each) for each in delivery.figures], _FIGURES, page_only=True),
        *titled_table("noted", [row(each.subject, each.reason) for each in notes]),
        *titled_table("kernel log of refused nodes", _of_newest_run(refused, lambda _, run: run.kernel_log[-_EVIDENCE:])),
        *titled_table("ruled out on refused nodes", _of_newest_run(refused, _ruled_out), page_only=True),
        *_boards(refused),
        Group("signatures", (table(("for the vendor", "for the site", "date"), [("", "", "")] * 2, kind="signatures"),), page_only=True),
    ]  # fmt: skip
    made = "figures, evidence and runs of every node: `delivery.json`"
    return Shown(f"Delivery {order.name}", tuple(_answer(delivery, whole)), tuple(blocks), next_step, made)


def _answer(delivery: Delivery, whole: Sequence[Finding]) -> list[str]:
    """What is wrong with the delivery as a whole, then how many nodes are accepted."""
    counts = delivery.counts
    words = {REFUSED: "refused", AGAIN: _again(delivery)}
    rest = [f"{counts[word]} {said}" for word, said in words.items() if counts[word]]
    accepted = f"{counts[ACCEPTED]} of {plural(len(delivery.nodes), 'node')} accepted"
    return [*(finding.reason for finding in whole[:1]), ", ".join([accepted, *rest])]


def _again(delivery: Delivery) -> str:
    """What the nodes without a decision are."""
    return "to be measured again" if any(node.runs for node in delivery.nodes) else "left to measure"


def _measured(delivery: Delivery) -> str:
    runs = [run for node in delivery.nodes for run in node.runs if run.counted]
    if not runs:
        return "nothing yet"
    times = sorted(run.time for run in runs)
    days = " to ".join(dict.fromkeys((times[0][:10], times[-1][:10])))
    return f"{plural(sum(bool(node.runs) for node in delivery.nodes), 'node')}, {plural(len(runs), 'run')}, {days}"


def _decided(
    title: str, column: str, findings: Mapping[str, Sequence[Finding]], explained: Mapping[str, str] | None = None
) -> list[Block]:
    """The nodes of a decision with what it rests on; where there are many lines all their names first, which no record may lack."""
    rows = _held(findings, explained)
    names = [Text((folded(findings),), plain=True)] if len(rows) > _LINES else []
    return [Group(title, (*names, table(("nodes", column), rows)))] if rows else []


def _held(findings: Mapping[str, Sequence[Finding]], explained: Mapping[str, str] | None = None) -> list[Row]:
    """Nodes with what is held against them, the first of many parts, after what explains it; those of which the same is said together,
    though the values differ."""

    def key(node: str) -> tuple[str, ...]:
        return ((explained or {}).get(node, ""), *(_said(finding, node, [""]) for finding in findings[node]))

    rows = []
    for nodes in grouped((key(node), node) for node in findings).values():
        held = findings[nodes[0]]
        firsts: dict[object, int] = {}
        for place, finding in enumerate(held):
            firsts.setdefault(finding.fields.get("part") or item(finding), place)
        places = list(firsts.values())[:_EVIDENCE]
        told = [explained[nodes[0]]] if explained and nodes[0] in explained else []
        for at in places:
            told.append(_said(held[at], nodes[0], [findings[node][at].fields.get("worst", "") for node in nodes]))
        told += [f"and {len(held) - len(places)} more"] if len(held) > len(places) else []
        rows.append(row(folded(nodes), "; ".join(told)))
    return rows


def _said(finding: Finding, node: str, worst: Sequence[str]) -> str:
    """What a finding says; of the node itself without its name, which stands beside it; of several nodes with the values of all."""
    if finding.code not in MESSAGES:
        return finding.reason
    values = sorted(set(worst), key=lambda words: (len(words), words))
    span = values[0] if len(values) == 1 else f"{values[0].partition(' ')[0]} to {values[-1]}"
    subject = "it" if finding.subject == node else finding.subject
    return MESSAGES[finding.code].text(subject, {**finding.fields, "worst": span})


def _failures(nodes: Sequence[DeliveredNode]) -> list[Row]:
    """What failed on nodes in earlier runs, those together of which it is the same."""

    def failed(node: DeliveredNode) -> dict[str, None]:
        checks = [(check, run.time[:10]) for run in node.runs for check, word in run.checks.items() if word == "FAIL"]
        return dict.fromkeys(f"{check} FAIL on {day}" for check, day in checks)

    return _alike((words, node) for node in nodes if (words := "; ".join(failed(node))))


def _alike(said: Iterable[tuple[str, DeliveredNode]]) -> list[Row]:
    """Nodes of which the same is said together."""
    return [row(folded(node.name for node in nodes), words) for words, nodes in grouped(said).items()]


def _found(delivery: Delivery) -> list[list[str]]:
    """What each kind of part was ordered as, and found, with how many nodes have it."""
    order, rows = delivery.order, []
    ordered = {**order.expect, **order.software, "product": order.product}
    for part, written in (("memory", gib), ("link", written_link)):
        if part in order.expect:
            ordered[part] = written(order.expect[part])
    for name, values in columns({node.name: node.found for node in delivery.nodes if node.found is not None}).items():
        (most, nodes), *others = by_value({node: value or "–" for node, value in values.items()})
        if others or most != "–":
            told = [f"{most} ({plural(len(nodes), 'node')})"]
            told += [f"{value} ({plural(len(names), 'node')}: {folded(names)})" for value, names in others]
            was = ordered.get(name)
            rows.append([name.replace("_", " "), "–" if was is None else str(was), ", ".join(told)])
    return rows


_FIGURES = ("check", "figure", ">nodes", ">lowest", "on", ">median", ">highest", "expected")


def _figure(one: DeliveredFigure) -> list[str]:
    worst = max if one.less_is_better else min
    node = worst(one.nodes, key=one.nodes.__getitem__)
    low, high = min(one.nodes.values()), max(one.nodes.values())
    bounds = {each.origin: each for each in one.expected if each.bound is not None}  # of two the nearer one
    sign = "≤" if one.less_is_better else "≥"
    expected = [f"{sign} {figure(each.bound or 0.0, one.unit)} ({_ORIGINS[each.origin]})" for each in bounds.values()]
    if one.reference is not None:
        expected.insert(0, f"{sign} {figure(one.reference, one.unit)} (references)")
    return [
        one.check.removesuffix("_check"), one.row, str(len(one.nodes)), figure(low, one.unit), node, figure(one.median, one.unit),
        with_unit(high, one.unit), ", ".join(expected) or one.not_compared or "nothing to compare with",
    ]  # fmt: skip


def _of_newest_run(
    nodes: Sequence[DeliveredNode], told: Callable[[DeliveredNode, MeasuredRun], Sequence[str]]
) -> list[Row]:
    """What the newest run that counts tells of each node, those together of which it is the same."""
    newest = ((node, next((run for run in reversed(node.runs) if run.counted), None)) for node in nodes)
    return _alike((words, node) for node, run in newest if run is not None for words in told(node, run))


def _ruled_out(node: DeliveredNode, run: MeasuredRun) -> Sequence[str]:
    against = {str(finding.fields.get("check")) for finding in node.evidence}
    return [*passed(run.checks, against), *run.ruled_out]


def _boards(nodes: Sequence[DeliveredNode]) -> list[Block]:
    """The boards of refused nodes, as a vendor's ticket needs them."""
    count = sum(len(node.gpus) for node in nodes)
    listed = boards((node.name, node.gpus) for node in nodes)
    folds = False if count > 16 else None
    return [Group("boards of refused nodes", listed, folded=folds, page_only=True)] if count else []
