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


def lines(comparison: RunComparison, everything: bool = False, at_most: float | None = None) -> list[str]:
    """The answer first, then what changed beside the figures, the significant ones, and what could not be compared;
    ``everything``: every pair of figures too; ``at_most``: the bound on what is worse, as a part."""
    shown_lines = _wrapped(words.answer(comparison))
    if at_most is not None:
        shown_lines += _wrapped(words.against(comparison, at_most))
    shown_lines.append("")
    for label, side in (("before", comparison.before), ("after", comparison.after)):
        shown_lines += _wrapped(f"{label:<7} {words.side(side)}")
    shown_lines += [line for note in comparison.notes for line in _wrapped(f"note    {note}")]
    shown_lines += ["", *_settings(comparison)]
    shown = [c for c in comparison.changes if not c.across or c.significant] if everything else comparison.significant
    shown_lines += _tables(shown, comparison)
    return [_plain(line) for line in [*shown_lines, "", *_counts(comparison), *_only(comparison)]]


def _settings(comparison: RunComparison) -> list[str]:
    if not comparison.settings:
        return ["changed beside the figures: nothing that the runs' files say"]
    lines = ["changed beside the figures"]
    for setting, nodes in words.by_nodes(comparison, comparison.settings):
        of = "" if setting.of in ("software", "node") else f"{setting.of} "
        place = f"{nodes}: " if nodes else ""
        short = f"  {place}{of}{setting.what}: {setting.before} → {setting.after}"
        long = [f"  {place}{of}{setting.what}:", *_wrapped(f"    {setting.before}"), *_wrapped(f"  → {setting.after}")]
        lines += [short] if len(short) <= WIDTH else long
    return lines


def _tables(shown: Sequence[FigureChange], comparison: RunComparison) -> list[str]:
    several = len(comparison.nodes) > 1
    checks = list(dict.fromkeys(change.check for change in shown))
    lines = []
    for check in checks:
        rows = [["", "before", "after", "change", "95 % interval", ""]]
        for change in shown:
            if change.check == check:
                after = f"{words.value(change.after, change.metric.unit)} {unit_words(change.metric.unit)}".rstrip()
                rows.append([
                    f"  {words.name(change, several)}", words.value(change.before, change.metric.unit), after,
                    words.part(change.change), words.interval(change), words.mark(change),
                ])  # fmt: skip
        lines += ["", words.heading(check), *columns(_fitted(rows), right=(1, 3, 4))]
    return lines


def _fitted(rows: list[list[str]]) -> list[list[str]]:
    """With names cut where the table would be wider than a terminal."""
    rest = sum(max(len(row[i]) for row in rows) + 2 for i in range(1, 6))
    most = max(20, WIDTH - rest)
    return [[row[0] if len(row[0]) <= most else f"{row[0][: most - 1]}…", *row[1:]] for row in rows]


def _counts(comparison: RunComparison) -> list[str]:
    tested, significant = comparison.tested, comparison.significant
    worse = sum(change.worse for change in significant)
    paragraphs = [
        f"{plural(len(tested), 'figure')} compared: {worse} slower, {len(significant) - worse} faster, "
        f"{len(tested) - len(significant)} within chance (Holm, {BUDGET * 100:.0f} % for all together)"
    ]
    if comparison.doubtful:
        paragraphs.append(f"{plural(len(comparison.doubtful), 'more figure')} cannot tell: {words.doubts(comparison)}")
    uncounted = sum(not change.counted for change in comparison.changes)
    if uncounted:
        paragraphs.append(
            f"{plural(uncounted, 'ratio or share', 'ratios and shares')} derived from other figures: not counted"
        )
    if tested:
        paragraphs.append(f"a change would have been seen from: {words.seen_from(comparison)}")
    paragraphs.append(words.assumption(comparison))
    return [line for paragraph in paragraphs for line in _wrapped(paragraph)]


def _only(comparison: RunComparison) -> list[str]:
    lines = []
    for only, nodes in words.by_nodes(comparison, comparison.only_one):
        place = f" of {nodes}" if nodes else ""
        lines += _wrapped(f"only {only.side}: {plural(len(only.names), 'figure')} of {only.check}{place}: {only.why}")
    return lines


def _wrapped(line: str) -> list[str]:
    """The line in lines that fit, no number parted from its unit; what follows the first is indented."""
    wrapped, rest = [], line.replace(" %", "\u00a0%")
    while len(rest) > WIDTH:
        cut = rest.rfind(" ", 12, WIDTH)
        cut = WIDTH if cut < 0 else cut
        wrapped.append(rest[:cut])
        rest = f"        {rest[cut:].strip()}"
    return [part.replace("\u00a0", " ") for part in (*wrapped, rest)]


def _plain(line: str) -> str:
    """Without control characters: a host name or a reason must not drive the terminal."""
    return "".join(char if char.isprintable() else "�" for char in line)
