"""The comparison for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.base import columns
from nearfar.report.figures import plural, unit_words

from . import words
from .changes import BUDGET, FigureChange
from .comparison import RunComparison

#: No line is longer.
WIDTH = 100


def lines(found: RunComparison, everything: bool = False, at_most: float | None = None) -> list[str]:
    """The answer first, then what changed beside the figures, the significant ones, and what could not be compared;
    ``everything``: every pair of figures too; ``at_most``: the bound on what is worse, as a part."""
    said = _wrapped(words.answer(found))
    if at_most is not None:
        said += _wrapped(words.against(found, at_most))
    said.append("")
    for label, side in (("before", found.before), ("after", found.after)):
        said += _wrapped(f"{label:<7} {words.side(side)}")
    said += [line for note in found.notes for line in _wrapped(f"note    {note}")]
    said += ["", *_settings(found)]
    shown = [c for c in found.changes if not c.across or c.significant] if everything else found.significant
    said += _tables(shown, found)
    return [_plain(line) for line in [*said, "", *_counts(found), *_only(found)]]


def _settings(found: RunComparison) -> list[str]:
    if not found.settings:
        return ["changed beside the figures: nothing that the runs' files say"]
    said = ["changed beside the figures"]
    for one, nodes in words.by_nodes(found, found.settings):
        of = "" if one.of in ("software", "node") else f"{one.of} "
        place = f"{nodes}: " if nodes else ""
        short = f"  {place}{of}{one.what}: {one.before} → {one.after}"
        long = [f"  {place}{of}{one.what}:", *_wrapped(f"    {one.before}"), *_wrapped(f"  → {one.after}")]
        said += [short] if len(short) <= WIDTH else long
    return said


def _tables(shown: Sequence[FigureChange], found: RunComparison) -> list[str]:
    several = len(found.nodes) > 1
    checks = list(dict.fromkeys(change.check for change in shown))
    said = []
    for check in checks:
        rows = [["", "before", "after", "change", "95 % interval", ""]]
        for change in shown:
            if change.check == check:
                after = f"{words.value(change.after, change.metric.unit)} {unit_words(change.metric.unit)}".rstrip()
                rows.append([
                    f"  {words.name(change, several)}", words.value(change.before, change.metric.unit), after,
                    words.part(change.change), words.interval(change), words.mark(change),
                ])  # fmt: skip
        said += ["", words.heading(check), *columns(_fitted(rows), right=(1, 3, 4))]
    return said


def _fitted(rows: list[list[str]]) -> list[list[str]]:
    """With names cut where the table would be wider than a terminal."""
    rest = sum(max(len(row[i]) for row in rows) + 2 for i in range(1, 6))
    most = max(20, WIDTH - rest)
    return [[row[0] if len(row[0]) <= most else f"{row[0][: most - 1]}…", *row[1:]] for row in rows]


def _counts(found: RunComparison) -> list[str]:
    tested, significant = found.tested, found.significant
    worse = sum(change.worse for change in significant)
    said = [
        f"{plural(len(tested), 'figure')} compared: {worse} slower, {len(significant) - worse} faster, "
        f"{len(tested) - len(significant)} within chance (Holm, {BUDGET * 100:.0f} % for all together)"
    ]
    if found.doubtful:
        said.append(f"{plural(len(found.doubtful), 'more figure')} cannot tell: {words.doubts(found)}")
    uncounted = sum(not change.counted for change in found.changes)
    if uncounted:
        said.append(
            f"{plural(uncounted, 'ratio or share', 'ratios and shares')} derived from other figures: not counted"
        )
    if tested:
        said.append(f"a change would have been seen from: {words.seen_from(found)}")
    said.append(words.assumption(found))
    return [line for each in said for line in _wrapped(each)]


def _only(found: RunComparison) -> list[str]:
    said = []
    for one, nodes in words.by_nodes(found, found.only_one):
        place = f" of {nodes}" if nodes else ""
        said += _wrapped(f"only {one.side}: {plural(len(one.names), 'figure')} of {one.check}{place}: {one.why}")
    return said


def _wrapped(line: str) -> list[str]:
    """The line in lines that fit, no number parted from its unit; what follows the first is indented."""
    found, rest = [], line.replace(" %", "\u00a0%")
    while len(rest) > WIDTH:
        cut = rest.rfind(" ", 12, WIDTH)
        cut = WIDTH if cut < 0 else cut
        found.append(rest[:cut])
        rest = f"        {rest[cut:].strip()}"
    return [each.replace("\u00a0", " ") for each in (*found, rest)]


def _plain(line: str) -> str:
    """Without control characters: a host name or a reason must not drive the terminal."""
    return "".join(char if char.isprintable() else "�" for char in line)
