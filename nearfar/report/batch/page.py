"""The page itself: blocks below all nodes at a glance. A site's ``templates/`` may override ``batch.html``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from markupsafe import Markup

import nearfar
from nearfar.report import title
from nearfar.report.blocks import Block, Entry, Group, Row, Table, Text, rendered, row, table
from nearfar.report.charts import element, markup
from nearfar.report.figures import number, unit_words, wording
from nearfar.topology import spread_settings

from .distributions import ABOVE, BELOW, HIGHEST, LOWEST, Distribution
from .nodes import Batch, BatchNode, shared

#: Of a histogram: as wide and tall as the style sheet has it, a margin below it left for the median.
WIDTH, HEIGHT, BINS = 200, 26, 40
#: Bounds that lie closer together than this part of themselves are drawn; a spread of them would say nothing.
_ONE_BOUND = 0.01
#: Nodes in one sentence.
_NAMED = 6
#: Rows that stand open; the rest opens on demand.
_OPEN = 60
#: Findings that nodes have in common, at most.
_MOST_SHARED = 20
#: Columns of checks whose titles stand across.
_ACROSS = 3

Fold = Callable[[Iterable[str]], str]


def render(batch: Batch, fold: Fold) -> str:
    """The page, one self-contained HTML document. ``fold`` writes names of nodes as a list: ``n[1-4]``."""
    blocks = [*_together(batch, fold), _nodes(batch), *_figures(batch, fold)]
    return rendered("batch.html", {
        "batch": batch, "lead": batch_lead(batch), "blocks": blocks, "words": wording,
        "signs": wording.SIGNS, "version": nearfar.__version__,
    })  # fmt: skip


def _together(batch: Batch, fold: Fold) -> list[Block]:
    """What is of several nodes: of the fleet, findings that they share, settings in which they differ."""
    found: list[Block] = []
    if batch.fleet:
        words = Text(("of all nodes together, and no fault of any node: an administrator accepts it",), "muted")
        found.append(Group("The fleet", (words, table((), [_said("DEGRADED", each) for each in batch.fleet]))))
    if common := shared(batch.nodes):
        words = Text(
            ("the same finding on many nodes speaks of a reference, a driver or a delivery more than of a node",),
            "muted",
        )
        rows = [
            _said(verdict, title(check), f"`{what}`", f"{wording.plural(len(names), 'node')}: {fold(names)}")
            for (verdict, check, what), names in common[:_MOST_SHARED]
        ]
        rest = len(common) - _MOST_SHARED
        more = [Text((f"and {wording.plural(rest, 'more finding')} on several nodes",), "muted")] if rest > 0 else []
        found.append(Group("What nodes have in common", (words, table((), rows), *more)))
    if settings := spread_settings(batch.settings):
        found.append(Group("Settings that differ", (Text(tuple(each.sentence for each in settings)),)))
    return found


def _said(verdict: str, *words: str) -> Row:
    *first, last = words
    return row(Entry(verdict=verdict, mark="tight"), *(Entry(each, mark="tight") for each in first), last)


def _nodes(batch: Batch) -> Group:
    bad = [node for node in batch.nodes if node.verdict != "PASS"]
    well = [node for node in batch.nodes if node.verdict == "PASS"]
    blocks: list[Block] = [_node_table(batch, bad)] if bad else []
    if well:
        folded = bool(bad) or len(well) > _OPEN
        blocks.append(Group(f"{wording.plural(len(well), 'node')} passed", (_node_table(batch, well),), folded=folded))
    blocks += [Text((f"{wording.SIGNS['INDETERMINATE']} {note}",), plain=True) for note in batch.notes]
    return Group("Node by node", tuple(blocks))


def _node_table(batch: Batch, nodes: Sequence[BatchNode]) -> Table:
    def sign(check: str, word: str) -> Entry:
        return Entry(wording.SIGNS[word], mark=f"mark sign {word}", tip=f"{title(check)}: {word}")

    rows = [
        row(
            Entry(verdict=node.verdict), Entry(node.name, href=node.href or ""),
            Entry(node.reason or "", (node.aside,) if node.aside else ()),
            *(sign(name, node.checks[name]) if name in node.checks else Entry() for name in batch.check_names), anchor=node.name,
        )
        for node in nodes
    ]  # fmt: skip
    columns = ["Verdict", "Node", "Why", *map(title, batch.check_names)]
    return table(columns, rows, kind="nodes upright" if len(batch.check_names) > _ACROSS else "nodes")


def _figures(batch: Batch, fold: Fold) -> list[Block]:
    """How each figure lies across nodes."""
    checks = [check for check in batch.check_names if batch.distributions.single(check)]
    if not checks:
        return []
    words = (
        "Vertical lines are the bounds that were in force, red bars are figures that did not pass. Figures that one reference entry "
        "judges stand together.",
    )
    groups = []
    for check in checks:
        single, pooled = batch.distributions.single(check), batch.distributions.pooled(check)
        name = f"{wording.plural(len(single), 'figure')} one by one"
        one_by_one = Group(name, (_figure_table("Figure", single, batch, fold),), folded=True, kind="long")
        groups.append(Group(title(check), (_figure_table("Reference entry", pooled, batch, fold), one_by_one)))
    return [Group("How the figures lie across nodes", (Text(words, "muted"), *groups))]


def _figure_table(what: str, found: Iterable[Distribution], batch: Batch, fold: Fold) -> Table:
    names = batch.distributions.nodes

    def entries(one: Distribution) -> list[Entry | str]:
        (low, lowest), (high, _) = one.extreme(True), one.extreme(False)
        most = f"{number(high, one.unit)} {unit_words(one.unit)}".rstrip()
        bad, more = one.bad_owners, len(one.bad_owners) - _NAMED
        named = fold(names[owner] for owner in bad[:_NAMED]) + (f" and {more} more" if more > 0 else "")
        return [
            Entry(f"`{one.name}`", mark="name"), str(one.nodes), Entry(drawing=histogram(one)),
            Entry(number(low, one.unit), (names[lowest],)), number(one.middle, one.unit), most, _limits(one),
            f"{len(bad)}: {named}" if bad else "",
        ]  # fmt: skip

    columns = (what, ">Nodes", "Low to high, dot: median", ">Lowest", ">Median", ">Highest", "Bounds", "Did not pass")
    return table(columns, map(entries, found), kind="distributions")


def _limits(one: Distribution) -> str:
    signs = {LOWEST: "≥", HIGHEST: "≤", BELOW: "DEGRADED <", ABOVE: "DEGRADED >"}
    found = ((sign, one.bound(which)) for which, sign in signs.items())
    return ", ".join(f"{sign} {wording.span(bounds, one.unit)}" for sign, bounds in found if bounds) or "no bound"


def batch_lead(batch: Batch) -> str:
    """The sweep in a sentence."""
    counts, all_of_them = batch.counts, len(batch.nodes)
    if not all_of_them:
        return "No node was asked for."
    if counts.get("PASS") == all_of_them:
        every = f"All {wording.plural(all_of_them, 'node')} are" if all_of_them > 1 else "The node is"
        return f"{every} as {'they' if all_of_them > 1 else 'it'} should be."
    told = {
        "FAIL": ("failed", "failed"), "INDETERMINATE": ("could not be judged", "could not be judged"),
        "DEGRADED": ("is good, but worse than it should be", "are good, but worse than they should be"),
    }  # fmt: skip
    some = [(wording.plural(counts[word], "node"), told[word][counts[word] > 1]) for word in told if word in counts]
    good = counts.get("PASS", 0)
    return f"{'; '.join(map(' '.join, some))}. {good or 'None'} of {all_of_them} passed."


def histogram(one: Distribution) -> Markup:
    """Counts over the figure's range, those that did not pass in a colour of their own; bounds as lines, the median as a
    dot below."""
    counts, bad, low, high = one.histogram(BINS)
    root = element("svg", class_="histogram", aria_hidden="true")
    most = max(counts)

    def at(value: float) -> str:
        return f"{(value - low) / (high - low) * WIDTH if high > low else WIDTH / 2:.4g}"

    known = (one.bound(LOWEST), one.bound(HIGHEST))
    drawn = [bounds[0] for bounds in known if bounds and bounds[-1] - bounds[0] <= _ONE_BOUND * abs(bounds[-1])]
    # Bars of one kind are one path: a page has hundreds of histograms.
    for class_, path in (
        ("bar", "".join(_bar(position, count / most) for position, count in enumerate(counts) if count)),
        ("bad", "".join(_bar(position, count / most) for position, count in enumerate(bad) if count)),
        ("bound", "".join(f"M{at(bound)} 0V{HEIGHT}" for bound in drawn)),
    ):
        if path:
            root.append(element("path", d=path, class_=class_))
    root.append(element("circle", cx=at(one.middle), cy=HEIGHT + 1.5, r=2.2))
    return markup(root)


def _bar(position: int, share: float) -> str:
    """A bar from the axis up; one node of a thousand is seen too."""
    step, tall = WIDTH / BINS, max(3.0, share * (HEIGHT - 2))
    return f"M{position * step:g} {HEIGHT}v{-tall:.3g}h{step - 0.8:.2g}v{tall:.3g}z"
