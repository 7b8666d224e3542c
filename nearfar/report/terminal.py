"""A run in at most ten lines for a terminal."""

from __future__ import annotations

from collections.abc import Mapping

from nearfar.base import ORDER, columns, shown_verdict
from nearfar.report.explanations import Answer
from nearfar.report.figures import coverage, plural
from nearfar.verdict import RunDirectory

from .causes import ReasonGroup
from .headline import check_line, modelled_notice, not_asked, reasons, short_name

MOST_LINES = 10
_COLOURS = {"PASS": "32", "DEGRADED": "33", "FAIL": "31", "INDETERMINATE": "35", "MODELLED": "34"}


def summarise(run: RunDirectory, colour: bool = False, explained: Mapping[str, Answer] | None = None) -> str:
    """How much was judged, verdict and figures of each check, the worst reasons, what explains them (by node folder), what
    is modelled, and where the page is."""

    def paint(word: str) -> str:
        return f"\033[1;{_COLOURS[word]}m{word}\033[0m" if colour and word in _COLOURS else word

    checks = [(shown_verdict(check.word, node.modelled), node, check) for node in run.nodes for check in node.checks]
    several = len({node.name for _, node, _ in checks}) > 1
    rows = []
    for word, node, check in checks:
        where = [_plain(node.name)] if several else []
        rows.append([paint(word), *where, short_name(check.name), _plain(check_line(check, node))])
    lines = columns(rows)
    notice = modelled_notice(run)
    tail = [paint("MODELLED") + "  " + _plain(notice)] if notice else []
    found = [g for g in reasons(run, explained) if not (g.cause.node and g.cause.node.modelled)]
    tail[:0] = [f"not asked  {_plain(words)}" for words in not_asked(run)]
    tail[:0] = _answers(run, explained or {}, several, {g.cause.text for g in found})
    interrupted = ", interrupted" if run.raw.get("interrupted") else ""
    nothing = coverage.nothing(run)
    tail.append(f"{paint(coverage.shown_run(run))}{interrupted}  {run.folder / 'index.html'}")
    if nothing:
        tail.append(f"nothing was judged: {_plain(nothing)}")
    unjudged = coverage.line(run)
    head = [_plain(unjudged)] if unjudged else []
    room = MOST_LINES - len(tail) - len(head)
    told = min(len(_reason_lines(found, several)), max(2, room - len(lines)))
    if len(lines) + told > room:
        lines = _fewer(lines, [word for word, _, _ in checks], room - told)
    return "\n".join([*head, *lines, *_told(found, room - len(lines), several), *tail])


def _answers(run: RunDirectory, explained: Mapping[str, Answer], several: bool, told: set[str]) -> list[str]:
    """A line for the first node with slow figures whose answer is not among the reasons (``told``): what explains them; of more
    nodes the page tells."""
    lines = []
    for node in run.nodes:
        if node.folder.name in explained and explained[node.folder.name].sentence not in told:
            what = ", ".join([*([node.name] if several else []), *(["modelled"] if node.modelled else [])])
            lines.append(_plain(f"  · {explained[node.folder.name].sentence}{f' ({what})' if what else ''}"))
    more = len(lines) - 1
    return [lines[0] + (f"; {plural(more, 'more node')} on the page" if more else "")] if lines else []


def _fewer(lines: list[str], words: list[str], room: int) -> list[str]:
    """The worst checks, in their order, and a line that counts the others."""
    rank = {word: position for position, word in enumerate([*ORDER, "MODELLED"])}
    kept = sorted(sorted(range(len(lines)), key=lambda i: rank.get(words[i], 1))[: max(0, room - 1)])
    return [lines[i] for i in kept] + [f"… and {plural(len(lines) - len(kept), 'more check')}, none worse"]


def _told(found: list[ReasonGroup], room: int, several: bool) -> list[str]:
    lines = _reason_lines(found, several)
    if len(lines) <= room:
        return lines
    return [*lines[: room - 1], f"  · and {len(lines) - room + 1} more on the page"]


def _reason_lines(found: list[ReasonGroup], several: bool) -> list[str]:
    lines = []
    for group in found:
        cause = group.cause
        where = f" ({cause.node.name})" if several and cause.check is None and cause.node is not None else ""
        lines.append(_plain(f"  · {cause.text}{where}" + (f"; {group.words}" if group.words else "")))
        if group.worst is not None:
            lines.append(_plain(f"    {group.worst.text}"))
    return lines


def _plain(words: str) -> str:
    """Without control characters: a host name or a reason must not drive the terminal."""
    return "".join(c if c.isprintable() else "�" for c in words)
