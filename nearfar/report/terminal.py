"""A run for a terminal: a table of its checks, the page's first sentence, further reasons, the page, and what to type next."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from nearfar.base import columns, good, printable
from nearfar.report.explanations import Answer
from nearfar.report.figures import coverage, plural
from nearfar.verdict import SIBLINGS_ONLY, RunDirectory

from . import acceptance
from .causes import ReasonGroup, answered
from .headline import lead, modelled_notice, not_asked, reasons, short_name, where
from .next_step import next_step
from .terminal_rows import table

#: As many as a terminal has.
MOST_LINES = 24
_LEAST_REASONS, _MOST_REASONS = 2, 6
_COLOURS = {"PASS": "32", "DEGRADED": "33", "FAIL": "31", "INDETERMINATE": "35", "MODELLED": "34"}


def summarise(
    run: RunDirectory, colour: bool = False, explained: Mapping[str, Answer] | None = None, width: int | None = None
) -> str:
    """How much was judged; verdict, figure, reference and share of each check; what the page says first, the other reasons, what
    explains them (by node folder), what is modelled; the page; the next command.

    ``width``: columns of a terminal (None: no terminal, so that no sentence is broken and no name cut).
    """

    def paint(line: str, word: str) -> str:
        return f"\033[1;{_COLOURS[word]}m{word}\033[0m{line[len(word) :]}" if colour and word in _COLOURS else line

    checks = [(node, check) for node in run.nodes for check in node.checks]
    several = len({node.name for node, _ in checks}) > 1
    shown = run.shown
    found = reasons(run, explained)
    measured = [group for group in found if not (group.cause.node and group.cause.node.modelled)]
    first = f"{shown}  {lead(run, found)}{' (interrupted)' if run.raw.get('interrupted') else ''}"
    head = [line for said in [coverage.line(run)] if said for line in _wrapped(said, width)]
    told = _wrapped(first, width)
    more = _reason_lines(run, measured)
    notice = modelled_notice(run)
    after = [
        *_answers(run, explained or {}, several, answered(measured)),
        *_siblings_only(run),
        *_disturbed(run),
        *(f"not asked  {words}" for words in not_asked(run)),
        *([f"MODELLED  {notice}"] if notice else []),
    ]
    accepts = acceptance.of_run(run)
    after += [accepts.reason] if accepts else []
    tail = [line for said in after for line in _wrapped(said, width)]
    tail += columns([["page", str(run.folder / "index.html")], ["next", next_step(run)]])
    room = MOST_LINES - len(head) - len(told) - len(tail)
    few = min(len(more), max(_LEAST_REASONS, min(_MOST_REASONS, room - 1 - len(checks))))
    reasons_told = [line for said in _at_most(more, few) for line in _wrapped(said, width)]
    for rows_room in range(max(2, room - few - 1), 1, -1):
        rows = table(checks, rows_room, width, several)
        if len(rows.lines) + len(reasons_told) < room:
            break
    lines = [paint(line, word) for line, word in zip(rows.lines, rows.words)]
    if rows.hidden:
        lines.append(f"… and {plural(rows.hidden, 'more kind')} of figures on the page, none worse")
    return "\n".join([
        *head, *lines, *(paint(line, shown) if line.startswith(shown) else line for line in told), *reasons_told,
        *(paint(line, "MODELLED") if line.startswith("MODELLED") else line for line in tail),
    ])  # fmt: skip


def _wrapped(text: str, width: int | None) -> list[str]:
    text = printable(text)
    indent = "    " if text.startswith(" ") else "  "
    if width is None:
        return [text]
    return textwrap.wrap(text, max(40, width), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _answers(run: RunDirectory, explained: Mapping[str, Answer], several: bool, told: set[str]) -> list[str]:
    """A line for the first node with slow figures whose answer is not among the reasons (``told``: folders): what explains them; of more
    nodes the page tells."""
    lines = []
    for node in run.nodes:
        if node.folder.name in explained and node.folder.name not in told:
            what = ", ".join([*([node.name] if several else []), *(["modelled"] if node.modelled else [])])
            lines.append(f"  · {explained[node.folder.name].sentence}{f' ({what})' if what else ''}")
    more = len(lines) - 1
    return [lines[0] + (f"; {plural(more, 'more node')} on the page" if more else "")] if lines else []


def _siblings_only(run: RunDirectory) -> list[str]:
    """How many figures of a run that passes, of which checks, nobody knows the right value of; a fault comes first."""
    figures = {
        (node.name, check.name): finding.fields["figures"]
        for node in run.nodes
        for check in node.checks
        for finding in (check.verdict.findings if check.verdict else ())
        if finding.code == SIBLINGS_ONLY.code
    }
    if not figures or not good(run.shown):
        return []
    named = ", ".join(dict.fromkeys(short_name(name) for _, name in figures))
    said = SIBLINGS_ONLY.text(named, {"figures": sum(figures.values()), "system": run.raw.get("system")})
    return [f"references  {named}: {said}"]


def _disturbed(run: RunDirectory) -> list[str]:
    """That other load disturbed figures, which a reader of figures and ``nearfar tune`` have to know."""
    count = coverage.disturbed(run)
    return (
        [f"disturbed  other load disturbed {plural(count, 'figure')}, which nearfar tune leaves out"] if count else []
    )


def _at_most(lines: list[str], room: int) -> list[str]:
    if len(lines) <= room:
        return lines
    return [*lines[: room - 1], f"  · and {len(lines) - room + 1} more on the page"]


def _reason_lines(run: RunDirectory, found: list[ReasonGroup]) -> list[str]:
    """The reasons after the first, which the run's sentence has."""
    lines = []
    for group in found[1:]:
        lines.append(
            f"  · {group.cause.finding.reason}{where(run, group)}" + (f"; {group.words}" if group.words else "")
        )
        if group.worst is not None:
            lines.append(f"    {group.worst.finding.reason}")
    return lines
