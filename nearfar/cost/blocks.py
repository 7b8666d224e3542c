"""What was measured as blocks: for a terminal and a page."""

from __future__ import annotations

from dataclasses import replace

from markupsafe import Markup

from nearfar.base import plural, statistics
from nearfar.report.blocks import Block, Entry, Group, Labels, Row, Shown, Text, row, table
from nearfar.report.charts import strips
from nearfar.report.figures import percent, percents

from . import words
from .measured import Measured, SchemeRuns
from .pairs import LEAST_PAIRS
from .words import Subject

#: The marks of rows and drawings, by state.
_KINDS = {"dearer": "slower", "cheaper": "faster"}
_COLUMNS = ("scheme", ">median", ">costs", ">95 % interval", ">runs", "")


def shown(measured: Measured, subject: Subject) -> Shown:
    """The answer first, then the schemes, the bindings in effect, and how it was measured."""
    reference, against = measured.reference, words.against(measured)
    bindings = [
        row(each.name, Entry(lines[0], tuple(lines[1:])))
        for each in measured.schemes
        if each.bindings and each.same_as is None and (lines := words.bindings(each))
    ]
    facts = [
        ("program", subject.words),
        ("node", f"{subject.host}, {plural(subject.numa_nodes, 'NUMA node')}, {plural(subject.gpus, 'GPU')}"),
        ("figure", measured.plan.figure.words),
        ("ended", f"{measured.ended}, after {measured.seconds:.0f} s"),
    ]
    notes = words.notes(measured)
    drawn, axis = _strips(measured)
    rows = [row(*("" for _ in _COLUMNS), Entry(drawing=axis))] if drawn else []
    for each in sorted(measured.schemes, key=lambda each: each is not reference):
        own = _row(measured, each)
        rows.append(replace(own, entries=(*own.entries, Entry(drawing=drawn.get(each.name)))))
    caption = "To the right: it costs more. A small dot is a pair of runs, the great one their median, the line its 95 % interval."
    caption += " Broken line: the bound that was named." if measured.plan.at_most is not None else ""
    blocks: list[Block] = [
        Labels(tuple(facts)),
        table((*_COLUMNS, ""), rows, caption=caption if drawn else "", kind="figures"),
        *([Text(tuple(notes))] if notes else []),
        *([Group("binding in effect", (table((), bindings),))] if bindings else []),
        _method(measured),
    ]
    answer = [words.answer(measured), *([against] if against is not None else [])]
    return Shown("What a binding costs", tuple(answer), tuple(blocks), words.next_step(measured, subject))


def _row(measured: Measured, scheme: SchemeRuns) -> Row:
    if scheme.same_as is not None:
        return row(scheme.name, "", "", "", "", f"as {scheme.same_as}", mark="aside")
    values = list(scheme.values.values())
    middle = words.number(statistics.median(values)) if values else "–"
    if scheme is measured.reference:
        return row(scheme.name, middle, "", "", str(len(values)), "the other schemes are compared with it")
    penalty = measured.penalty(scheme)
    if penalty is None:
        why = "left out" if scheme.left_out else "not run"
        return row(scheme.name, middle, "–", "–", str(len(values)), why, mark="aside")
    interval = "–" if penalty.interval is None else percents(*penalty.interval)
    state, runs = words.state(measured, scheme), str(len(values))
    return row(scheme.name, middle, percent(penalty.value), interval, runs, state, mark=_KINDS.get(state, ""))


def _strips(measured: Measured) -> tuple[dict[str, Markup], Markup]:
    """What each scheme costs, by its name: every pair as a small dot, the median as a great one, the interval as a line; and their axis."""
    bounds = () if measured.plan.at_most is None else (measured.plan.at_most,)
    found = [(each, penalty) for each in measured.compared if (penalty := measured.penalty(each)) is not None]
    scale = strips.changes(v for each, p in found for v in (p.value, *(p.interval or ()), *measured.ratios(each)))
    drawn = {}
    for each, penalty in found:
        kind = _KINDS.get(words.state(measured, each), "chance")
        drawn[each.name] = strips.change(scale, penalty.value, penalty.interval, kind, measured.ratios(each), bounds)
    return drawn, strips.axis(scale)


def _method(measured: Measured) -> Group:
    runs = sorted((run for scheme in measured.schemes for run in scheme.runs), key=lambda run: run.began)
    rows = []
    for run in runs:
        figure = words.number(run.value) if run.value is not None else run.problem or ""
        rows.append((f"{run.began:.1f}", run.scheme, str(run.block or "warm-up"), f"{run.seconds:.3f}", figure))
    said = (
        "the schemes took turns in blocks of one run each, in random order within a block "
        f"(seed {measured.plan.seed}), so that what the machine does to all falls on all; "
        f"{plural(measured.plan.warm_up, 'run')} of each before did not count. Two runs of a block are a pair, and a cost is the "
        "median of the pairs' ratios. Its interval is made of order statistics and supposes nothing of how the runs vary. It is "
        f"looked at after every block, and holds with 95 % at all of these checks together; it takes {LEAST_PAIRS} pairs"
    )
    every = table((">began, s", "scheme", "block", ">time, s", "figure"), rows)
    listed = Group(f"all {len(rows)} runs", (every,), folded=True)
    return Group("how it was measured", (Text((said,)), listed), page_only=True)
