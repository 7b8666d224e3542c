"""The comparison as blocks: for a terminal, and for a page that people read who were not there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nearfar.base import grouped
from nearfar.report import title
from nearfar.report.blocks import Block, Entry, Group, Labels, Row, Shown, Table, Text, row, table
from nearfar.report.charts import strips
from nearfar.report.figures import percent, percents, plural, unit_words
from nearfar.report.sections import provenance

from . import settings, words
from .changes import BUDGET, FigureChange
from .comparison import RunComparison
from .sides import Side

#: Rows with a strip at most.
_DRAWN = 40
#: Pairs of figures that the page lists; of more nodes than that, those of all nodes together and the significant ones.
MOST_ROWS = 3000
_COLUMNS = ("figure", ">before", ">after", "", ">change", ">95 % interval", ">runs", "")


def shown(comparison: RunComparison, everything: bool = False, at_most: float | None = None) -> Shown:
    """The answer first, then what changed beside the figures, the significant ones, and what could not be compared; ``everything``:
    every pair of figures on a terminal too; ``at_most``: the bound on what is worse, as a part."""
    sides = [("before", comparison.before), ("after", comparison.after)]
    beside = _settings(comparison)
    blocks: list[Block] = [
        Labels(tuple((label, words.side(side)) for label, side in sides)),
        *([Text(tuple(comparison.notes))] if comparison.notes else []),
        Group("changed beside the figures", (beside,)),
        *_significant(comparison, at_most),
        Text(tuple(_counts(comparison))),
        *_only(comparison),
        *_every_figure(comparison, everything),
        Group("stamps of both sides", (_stamps(comparison),), page_only=True),
        _method(comparison, sides),
    ]
    answer = [words.answer(comparison), *([] if at_most is None else [words.against(comparison, at_most)])]
    made = "nothing was measured or judged again: the figures are those of the runs' `verdict.json`"
    return Shown("Before and after", tuple(answer), tuple(blocks), made=made)


def _settings(comparison: RunComparison) -> Block:
    if not comparison.settings:
        return Text(("nothing that the runs' files record",))
    named = []
    for setting, nodes in words.by_nodes(comparison, comparison.settings):
        of = "" if setting.of in ("software", "node") else f"{setting.of} "
        can = words.explained(comparison, setting)
        named.append((f"{f'{nodes}: ' if nodes else ''}{of}{setting.what}", f"{setting.before} → {setting.after}{can}"))
    return Labels(tuple(named))


def _significant(comparison: RunComparison, at_most: float | None) -> list[Block]:
    found, several = comparison.significant, len(comparison.nodes) > 1
    # Where nothing is significant, what was tested.
    drawn = (found or [change for change in comparison.tested if not change.across])[:_DRAWN]
    if not drawn:
        return []
    scale = strips.changes(value for each in drawn for value in (each.change, *each.interval))
    bounds = () if at_most is None else sorted({at_most if each.less_is_better else -at_most for each in drawn})
    caption = "A dot is a change, the line its 95 % interval, of this figure by itself."
    caption += " Broken line: the bound that was named." if at_most is not None else ""
    rows = [row(*("" for _ in _COLUMNS), Entry(drawing=strips.axis(scale)))]
    for place, each in enumerate([*drawn, *found[_DRAWN:]]):
        kind = words.mark(each) if each.significant else "chance"
        strip = strips.change(scale, each.change, each.interval, kind, bounds=bounds)
        own = _row(each, words.where(each, several))
        rows.append(replace(own, entries=(*own.entries, Entry(drawing=strip if place < _DRAWN else None))))
    listed = table((*_COLUMNS, ""), rows, caption=caption, kind="figures")
    heading = "changes that are more than chance" if found else "no change that is more than chance"
    return [Group(heading, (listed,), page_only=not found)]


def _row(change: FigureChange, name: str) -> Row:
    unit, mark = change.metric.unit, words.mark(change)
    doubts = mark if change.significant or not change.doubts else ", ".join(change.doubts)
    return row(
        name, words.value(change.before, unit), words.value(change.after, unit), unit_words(unit), percent(change.change),
        percents(*change.interval), f"{change.before.runs}, {change.after.runs}", Entry(doubts, mark="mark"),
        mark=mark if change.significant else "" if change.tested else "aside",
    )  # fmt: skip


def _every_figure(comparison: RunComparison, everything: bool) -> list[Block]:
    several, whole = len(comparison.nodes) > 1, len(comparison.changes) <= MOST_ROWS
    listed = [each for each in comparison.changes if whole or each.across or each.significant]
    tables: list[Block] = [
        table(_COLUMNS, [_row(each, words.name(each, several)) for each in own], title=f"{title(check)} ({check})", kind="figures")
        for check, own in grouped((each.check, each) for each in listed).items()
    ]  # fmt: skip
    if not whole:
        count = f"{len(listed)} of {len(comparison.changes)} pairs"
        which = f"{count}: those of all nodes together, and the significant ones. `nearfar compare --json` has all"
        tables.insert(0, Text((which,)))
    return [Group("all figures", tuple(tables), page_only=not everything)] if listed else []


def _counts(comparison: RunComparison) -> list[str]:
    tested, significant = comparison.tested, comparison.significant
    worse = sum(change.worse for change in significant)
    said = [
        f"{plural(len(tested), 'figure')} compared: {worse} slower, {len(significant) - worse} faster, "
        f"{len(tested) - len(significant)} within chance (Holm, {BUDGET * 100:.0f} % for all together)"
    ]
    if comparison.doubtful:
        said.append(f"{plural(len(comparison.doubtful), 'more figure')} undecided: {words.doubts(comparison)}")
    if uncounted := sum(not change.counted for change in comparison.changes):
        derived = plural(uncounted, "ratio or share", "ratios and shares")
        said.append(f"{derived} derived from other figures: not counted")
    if tested:
        said.append(f"a change would have been seen from: {words.seen_from(comparison)}")
    return [*said, *filter(None, [words.assumption(comparison)])]


def _only(comparison: RunComparison) -> list[Block]:
    alone = words.by_nodes(comparison, comparison.only_one)
    said = [
        (f"only {only.side}", f"{plural(len(only.names), 'figure')} of {only.check}{f' of {nodes}' if nodes else ''}: {only.why}")
        for only, nodes in alone
    ]  # fmt: skip
    names = table((), [(only.check, ", ".join(only.names)) for only, _ in alone])
    which = Group("which they are", (names,), folded=True, page_only=True)
    return [Group("what one side alone has", (Labels(tuple(said)), which))] if said else []


def _stamps(comparison: RunComparison) -> Table:
    """Node, part, what, and its values on both sides."""
    rows = []
    for before, after in comparison.nodes:
        sides = (comparison.before.node(before), comparison.after.node(after))
        stamps = [{} if side is None else settings.stamps(side) for side in sides]
        for part, what in {**stamps[0], **stamps[1]}:
            earlier, later = (", then ".join(own.get((part, what), ())) or "not recorded" for own in stamps)
            rows.append(row(after, part, what, earlier, later, mark="differs" if earlier != later else ""))
    return table(("node", "part", "", "before", "after"), rows, kind="stamps")


def _method(comparison: RunComparison, sides: Sequence[tuple[str, Side]]) -> Group:
    said = (
        "nearfar goes over all paths of a node in rounds of short samples and verifies what it moved; a rate is the 90th percentile of "
        "the samples of all rounds (of a time the 10th), with an interval over the rounds",
        "a change is the ratio of the geometric means of both sides' runs, with an interval from the rounds, the spread between the runs "
        "of each side, and an assumed spread; it is called significant by Holm's procedure, so that the chance of a single false one "
        f"among all {len(comparison.tested)} figures tested is at most {BUDGET * 100:g} %",
        "intervals in the tables are of each figure by itself; over so many figures some leave out zero by chance, and only what is "
        "marked slower or faster is significant. Ratios, and shares of flows that compete, are derived from other figures and not "
        "counted. GB/s is 10⁹ bytes a second; of times less is better",
    )
    every = [(label, run) for label, side in sides for run in side.runs]
    runs = [
        (label, f"{run.raw.get('system')}/{run.folder.name}", run.shown, f"`{provenance.command(run.raw.get('command'))}`")
        for label, run in every
    ]  # fmt: skip
    programs = [(label, *line) for label, side in sides for line in _commands(side)]
    details = Group("runs, programs and commands", (table((), runs), table((), programs)), folded=True)
    return Group("how it was measured and compared", (Text(said), details), page_only=True)


def _commands(side: Side) -> list[tuple[str, str, str]]:
    """Check, program with its version, and command, of each check of the side's first run."""
    rows: dict[str, tuple[str, str, str]] = {}
    for node in side.nodes:
        for check in node.checks:
            program = check.document.get("program", {})
            if program.get("command"):
                name = " ".join(str(program[key]) for key in ("name", "version") if program.get(key))
                rows.setdefault(check.name, (check.name, name, f"`{provenance.command(program['command'])}`"))
    return list(rows.values())
