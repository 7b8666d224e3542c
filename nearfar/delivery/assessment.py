"""The decision about a delivery, from its order and run directories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from nearfar.base import Finding, NearfarError, grouped, node_set, utc_text
from nearfar.history import short_name
from nearfar.history.tuning import limits
from nearfar.question import ACCEPT, asked_at
from nearfar.site import Order, systems
from nearfar.verdict import RunDirectory

from . import figures, measured, messages, parts
from .decision import ACCEPTED, AGAIN, ITSELF, REFUSED, Board, DeliveredFigure, DeliveredNode, Delivery
from .measured import MeasuredNode


def assess(
    order: Order, runs: Iterable[RunDirectory], directories: Sequence[Path], accept_degraded: Collection[str] = ()
) -> Delivery:
    """The delivery of an order that was measured in these runs; ``accept_degraded`` names nodes that may be DEGRADED.

    Raises ``NearfarError`` for a broken file of the site, and for a name that is no node's.
    """
    not_asked: dict[str, str] = {}
    nodes = measured.by_node(_noting(runs, not_asked), order.system)
    ordered = _ordered(order, directories)
    names = list(dict.fromkeys([*(ordered or ()), *nodes]))
    accepted = {short_name(name) for name in accept_degraded}
    if unknown := sorted(accepted.difference(names)):
        raise NearfarError(f"{', '.join(unknown)}: neither ordered nor measured, and cannot be accepted as DEGRADED")
    held = {name: _identity(name, nodes.get(name), order, ordered) for name in names}
    own = {name: nodes[name] for name in names if not held[name]}
    described = {name: node.node for name, node in own.items() if node.node is not None}
    differing = {
        name: list(parts.differences(order, name, node, own[name].verdicts)) for name, node in described.items()
    }
    known = figures.outside(order, directories)
    pools, wanted = figures.pools({name: node.verdicts for name, node in own.items()}, known)
    many = limits.figures_of_a_node(pools)
    compared = [(pool, figures.compared(pool, known, many)) for pool in pools]
    judged = {(f.node, pool.check, f.metric) for pool, figure in compared if figure.judges for f in pool.figures}
    needed = _needed(order, own.values())
    for name, node in own.items():
        unjudged = {each for each in wanted if (name, *each) not in judged}
        held[name] += _measured(node, differing.get(name), order, unjudged, needed)
    of_figures = (each for pair in compared for each in figures.of_nodes(*pair, order.memory_channels))
    for name, finding in (*of_figures, *parts.shared_boards(described)):
        held[name].append(finding)
    bounds = _references(own.values())
    made = tuple(replace(figure, reference=bounds.get((figure.check, figure.row))) for _, figure in compared)
    against = _against(made, own.values())
    findings = [
        *parts.not_as_ordered(differing), *figures.slow_as_a_whole(made), *_counts(order, ordered, nodes), *figures.not_alike(made),
        *parts.unlike(described), *parts.not_read(order, list(described.values())), *parts.settings_not_read(described),
        *(messages.NOT_ASKED.finding(check, cause=reason) for check, reason in not_asked.items()),
    ]  # fmt: skip
    run = {*not_asked, *(check for node in own.values() for check in node.checks)}
    askable = (question for question in asked_at(ACCEPT) if order.expect.get("gpus") != 0 or not question.of_gpus)
    if own and (unseen := [question.name for question in askable if question.name not in run]):
        findings.append(messages.NOT_RUN.finding("checks", checks=", ".join(unseen)))
    if ahead := [name for name, node in own.items() if node.shown_runs[-1].time > utc_text()]:
        findings.append(messages.AHEAD.finding("clocks", nodes=ahead))
    if "references" not in against:
        findings.append(messages.NO_REFERENCES.finding("references"))
    decided = tuple(_decided(name, nodes.get(name), held[name], name in accepted) for name in names)
    return Delivery(order, tuple(findings), decided, made, against)


def _noting(runs: Iterable[RunDirectory], not_asked: dict[str, str]) -> Iterator[RunDirectory]:
    """The runs, with what they were not asked noted by check."""
    for run in runs:
        not_asked |= {str(entry["check"]): str(entry.get("reason", "")) for entry in run.not_asked}
        yield run


def _ordered(order: Order, directories: Sequence[Path]) -> tuple[str, ...] | None:
    """The nodes of the order: as it names them, else its system's where there are as many; None: whichever are measured."""
    system = systems.load_all(list(directories)).get(order.system or "")
    hosts = [short_name(str(host)) for pattern in (system.hosts if system else ()) for host in node_set(pattern)]
    return order.nodes or (tuple(hosts) if len(hosts) == order.count else None)


def _needed(order: Order, nodes: Collection[MeasuredNode]) -> list[str]:
    """The checks that each node has to have: those that most have, and those of what is promised."""
    counts = Counter(check for node in nodes for check in node.checks)
    most = (check for check, count in counts.items() if 2 * count > len(nodes))
    return list(dict.fromkeys([*most, *(promise.check for promise in order.promised)]))


def _identity(name: str, node: MeasuredNode | None, order: Order, ordered: Sequence[str] | None) -> list[Finding]:
    """Why nothing that was measured speaks of a node of the order."""
    if ordered is not None and name not in ordered:
        return [messages.NOT_ORDERED.finding(name, count=order.count)]
    if node is None:
        return [messages.NOT_MEASURED.finding(name)]
    if not node.counted:
        return [messages.OTHER_SYSTEM.finding(name, found=node.system, expected=order.system)]
    return list(parts.other_host(name, node.verdicts))


def _measured(node: MeasuredNode, differing: Sequence[Finding] | None, order: Order, unjudged: Collection[tuple[str, str]],
              needed: Sequence[str]) -> list[Finding]:  # fmt: skip
    """What its parts (``differing`` from the order; None: they are not known) and checks say of a node."""
    found = [messages.NOT_DESCRIBED.finding(node.name)] if differing is None else list(differing)
    checks = node.checks
    for check, runs in checks.items():
        found += measured.of_check(check, runs, unjudged)
    if lacking := [check for check in dict.fromkeys([*needed, *node.lacking]) if check not in checks]:
        found.append(messages.CHECK_MISSING.finding(node.name, checks=lacking))
    rows = {(v.check, row) for v in node.verdicts for metric in v.metrics for row in metric.rows}
    if absent := [p.row for p in order.promised if p.check in checks and (p.check, p.row) not in rows]:
        found.append(messages.PROMISE_UNMEASURED.finding(node.name, figures=absent))
    return measured.together(node.name, found)


def _decided(name: str, node: MeasuredNode | None, held: Sequence[Finding], accept_degraded: bool) -> DeliveredNode:
    """The decision. What several checks and the order find is told once, and figures that are told together are not told one by one."""
    together = {(figure, f.verdict) for f in held if f.code in figures.CODES for figure in f.fields["figures"]}
    alone = [f for f in held if not {(f.subject, f.verdict), (f.subject, "FAIL")} & together]
    keys = ((f.code, f.subject, f.verdict, f.fields.get("check"), f.fields.get("source")) for f in reversed(alone))
    once = reversed(dict(zip(keys, reversed(alone))).values())  # the first of each key, in the order of the last
    by_verdict = grouped((f.verdict, f) for f in once)
    fail, degraded, missing = (tuple(by_verdict.get(word, ())) for word in ("FAIL", "DEGRADED", "INDETERMINATE"))
    waived = degraded if accept_degraded else ()
    evidence = fail if accept_degraded else (*fail, *degraded)
    decision = REFUSED if evidence else AGAIN if missing else ACCEPTED
    known = None if node is None else node.node
    gpus = () if known is None else tuple(Board(g.index, g.pci, g.name, g.uuid, g.serial, g.slot) for g in known.gpus)
    found = None if known is None else parts.found(known)
    runs = () if node is None else node.shown_runs
    return DeliveredNode(name, decision, evidence, missing, waived, found, gpus, runs)


def _references(nodes: Iterable[MeasuredNode]) -> dict[tuple[str, str], float]:
    """The bound of the site's references by check and row."""
    found: dict[tuple[str, str], float] = {}
    for verdict in (verdict for node in nodes for verdict in node.verdicts):
        for metric in verdict.metrics:
            reference = metric.reference
            if reference is None or reference.origin not in ("tuned", "published"):
                continue
            bound = reference.highest if reference.lowest is None else reference.lowest
            if bound is not None:
                found.update(dict.fromkeys(((verdict.check, row) for row in metric.rows), bound))
    return found


def _counts(order: Order, ordered: Sequence[str] | None, nodes: Mapping[str, MeasuredNode]) -> Iterator[Finding]:
    """Which nodes were ordered or measured, and not both; which are not those that they were."""
    if ordered is None and len(nodes) != order.count:
        yield messages.COUNT.finding("nodes", found=len(nodes), expected=order.count)
    if absent := [name for name in ordered or () if name not in nodes]:
        yield messages.NOT_SEEN.finding("nodes", nodes=absent)
    if strangers := [name for name in nodes if ordered is not None and name not in ordered]:
        yield messages.STRANGERS.finding("nodes", nodes=strangers)
    if changed := [node.name for node in nodes.values() if node.boards_changed]:
        yield messages.BOARDS_CHANGED.finding("nodes", nodes=changed)


def _against(made: Sequence[DeliveredFigure], nodes: Collection[MeasuredNode]) -> tuple[str, ...]:
    """What the nodes were held against."""
    origins = {each.origin for figure in made for each in figure.expected if each.bound is not None}
    metrics = (metric for node in nodes for verdict in node.verdicts for metric in verdict.metrics)
    judging = {metric.reference.origin for metric in metrics if metric.reference is not None}
    known = {"references": judging & {"tuned", "published"}, ITSELF: {ITSELF} & origins, "outside": origins - {ITSELF}}
    return ("order", *(name for name, has in known.items() if has))
