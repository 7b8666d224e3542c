"""A run for a terminal: the verdict in the page's first sentence, further reasons, the figures that did not pass, the page, and what to
type next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from nearfar.base import ORDER, Finding, columns, good, grouped, shown_verdict
from nearfar.report import blocks
from nearfar.report.blocks import block_lines, wrapped_line
from nearfar.report.explanations import Answer
from nearfar.report.figures import FigureKind, coverage, figure_kinds, figures, plural
from nearfar.verdict import SIBLINGS_ONLY, CheckRecord, NodeRun, RunDirectory

from . import headline
from .causes import ReasonGroup, answered
from .next_step import inspection, next_command

#: As many as a terminal has.
MOST_LINES = 24
_LEAST_REASONS, _MOST_REASONS = 2, 6
HEADING = ("verdict", "question", "figure", ">measured", ">reference", ">share")

#: A check of a node, and its rows.
CheckRows = tuple[NodeRun, CheckRecord, list[FigureKind]]
_COLOURS = {"PASS": "32", "DEGRADED": "33", "FAIL": "31", "INDETERMINATE": "35", "MODELLED": "34"}


def summarise(
    run: RunDirectory,
    colour: bool = False,
    explained: Mapping[str, Answer] | None = None,
    width: int | None = None,
    every: bool = False,
) -> str:
    """The verdict with what the page says first; the other reasons; the figures that did not pass, or were asked for by name; the other
    checks by verdict; what explains slow figures (by node folder), what is modelled; the page; the next command.

    ``width``: columns of a terminal (None: no terminal, so that no sentence is broken and no name cut); ``every``: all figures.
    """

    def paint(line: str, word: str) -> str:
        return f"\033[1;{_COLOURS[word]}m{word}\033[0m{line[len(word) :]}" if colour and word in _COLOURS else line

    def wrapped(lines: Iterable[str]) -> list[str]:
        return [line for said in lines for line in wrapped_line(said, width)]

    checks = [(node, check, check_rows(check)) for node in run.nodes for check in node.checks]
    several = len({node.name for node, *_ in checks}) > 1
    # The figures of checks that its command names, or of the quick one, are wanted.
    every = every or any(str(word).startswith(("--check", "--quick")) for word in run.raw.get("command") or ())
    shown = run.shown
    found = headline.reasons(run, explained)
    measured = [group for group in found if not group.cause.modelled]
    told = wrapped(
        [f"{shown}  {headline.lead(run, found, explained)}{' (interrupted)' if run.raw.get('interrupted') else ''}"]
    )
    more, unjudged = _reason_lines(run, measured), headline.slow_unjudged(run, found, explained)
    told_of = answered(measured) | ({unjudged.folder.name} if unjudged else set())
    notice, accepts = headline.modelled_notice(run), headline.acceptance_finding(run)
    inspect = inspection(run, found, explained)
    disturbed = plural(coverage.disturbed(run), "figure")
    # Where nothing is wrong the first line has the numbers.
    counted = coverage.line(run) if coverage.disturbed(run) or shown in ("FAIL", "DEGRADED", "INDETERMINATE") else None
    tail = wrapped([
        *(sentences(checks, several) if every else ()),
        *_by_verdict(checks, every),
        *([counted] if counted else []),
        *_answers(run, explained or {}, several, told_of),
        *_siblings_only(run),
        *([f"disturbed  other load disturbed {disturbed}, which nearfar tune leaves out"] if coverage.disturbed(run) else []),
        *(f"not run    {words}" for words in headline.not_asked(run)),
        *([f"MODELLED  {notice}"] if notice else []),
        *_collectives(run),
        *_foreign(run),
        *([accepts.reason] if accepts else []),
        *([f"next  {inspect}"] if inspect else []),
    ]) + columns([["page", str(run.folder / "index.html")], ["then" if inspect else "next", "   # ".join(next_command(run))]])  # fmt: skip
    room = MOST_LINES - len(told) - len(tail)
    reasons_told = wrapped(more if every else _at_most(more, max(_LEAST_REASONS, min(_MOST_REASONS, room // 2))))
    # One line for the heading and one for the rows that there is no room for.
    rows, hidden = table(checks, None if every else max(1, room - len(reasons_told) - 2), width, several, every)
    lines = [paint(line, word) for line, word in rows]
    lines += [f"… and {plural(hidden, 'more kind')} of figures on the page, none worse"] if hidden else []
    return "\n".join([
        *(paint(line, shown) if line.startswith(shown) else line for line in told), *reasons_told, *lines,
        *(paint(line, next((word for word in _COLOURS if line.startswith(f"{word}  ")), "")) for line in tail),
    ])  # fmt: skip


def _by_verdict(checks: Sequence[CheckRows], every: bool) -> list[str]:
    """``PASS  gpu_memory, gemm, peer``: the checks of which the table has no figure that did not pass, a line for each verdict; of several
    nodes each name once. ``every``: those alone that are worse than their figures, of which a reason says why."""
    names = grouped(
        (shown_verdict(check.word, node.modelled), headline.short_name(check.name))
        for node, check, rows in checks
        if all(kind.passes for kind in rows) and not (every and (not rows or good(check.word)))
    )
    return block_lines([blocks.table((), [(word, ", ".join(dict.fromkeys(found))) for word, found in names.items()])])


def _answers(run: RunDirectory, explained: Mapping[str, Answer], several: bool, told: set[str]) -> list[str]:
    """A line for the first node with slow figures whose answer neither the reasons nor the first line have (``told``: folders): what
    explains them; of more nodes the page tells."""
    nodes = [n for n in run.nodes if n.folder.name in explained and n.folder.name not in told]
    if not nodes:
        return []
    first, more = nodes[0], len(nodes) - 1
    what = ", ".join([*([first.name] if several else []), *(["modelled"] if first.modelled else [])])
    others = f"; {plural(more, 'more node')} on the page" if more else ""
    return [f"  · {explained[first.folder.name].sentence}{f' ({what})' if what else ''}{others}"]


def _findings(run: RunDirectory) -> Iterator[tuple[NodeRun, CheckRecord, Finding]]:
    checks = ((node, check) for node in run.nodes for check in node.checks)
    return ((node, check, f) for node, check in checks if check.verdict for f in check.verdict.findings)


def _collectives(run: RunDirectory) -> list[str]:
    """How NCCL ran, and why, where a check of collectives did not pass."""
    lines = [f.reason for _, check, f in _findings(run) if check.word in ORDER[:3] and f.code.startswith("nccl.")]
    return [f"  · {line}" for line in dict.fromkeys(lines)][:_MOST_REASONS]


def _foreign(run: RunDirectory) -> list[str]:
    """Whose figures they are, and what of other tools' output is not judged; the page has all of it."""
    notice = headline.foreign_notice(run)
    if notice is None:
        return []
    lines = [f"  · {each.reason}" for *_, each in _findings(run) if each.code.startswith("foreign.")]
    return [notice, *_at_most(lines, _MOST_REASONS + 1)]


def _siblings_only(run: RunDirectory) -> list[str]:
    """How many figures of a run that passes, of which checks, nobody knows the right value of; a fault comes first."""
    known = [each for each in _findings(run) if each[2].code == SIBLINGS_ONLY.code]
    figures = {(node.name, check.name): finding.fields["figures"] for node, check, finding in known}
    if not figures or not good(run.shown):
        return []
    named = ", ".join(dict.fromkeys(headline.short_name(name) for _, name in figures))
    system = "" if run.raw.get("foreign") else run.raw.get("system")
    return [f"references  {named}: {SIBLINGS_ONLY.text(named, {'figures': sum(figures.values()), 'system': system})}"]


def _at_most(lines: list[str], room: int) -> list[str]:
    more = [f"  · and {len(lines) - room + 1} more on the page"]
    return lines if len(lines) <= room else [*lines[: room - 1], *more]


def _reason_lines(run: RunDirectory, found: list[ReasonGroup]) -> list[str]:
    """The reasons after the first, which the run's sentence has."""
    lines = []
    for group in found[1:]:
        follows = f"; {group.words}" if group.words else ""
        lines.append(f"  · {group.cause.finding.reason}{headline.where(run, group)}{follows}")
        lines += [f"    {group.worst.finding.reason}"] if group.worst is not None else []
    return lines


def check_rows(check: CheckRecord) -> list[FigureKind]:
    """The figures of a check by kind: those that did not pass first, then by the smallest share; none where no figure has a
    reference."""
    rows = figure_kinds(figures(check, ""))
    if not any(f.reference for row in rows for f in row.figures):
        return []
    # What passes stands in the order of the run, as a reader expects it.
    return [*sorted((row for row in rows if not row.passes), key=_importance), *(row for row in rows if row.passes)]


def _rank(word: str) -> int:
    return ORDER.index(word) if word in ORDER[: ORDER.index("PASS")] else ORDER.index("PASS")


def _importance(row: FigureKind) -> tuple[int, bool, bool, bool, float]:
    """What did not pass; what has a reference, and is no input of the model; rates and times before what is made of them; then the
    farthest from its reference: the least share of a rate, the greatest of a time."""
    times = row.first.unit in ("us", "ms", "s")
    worst = min((1 / share if times else share for share in row.shares if share), default=1.0)
    made = bool(row.first.derived) and not times
    return _rank(row.first.verdict), not any(f.reference for f in row.figures), not row.shares, made, worst


def table(
    checks: Sequence[CheckRows], room: int | None, width: int | None, several: bool, every: bool
) -> tuple[list[tuple[str, str]], int]:
    """Lines with the verdict that each begins with, the heading first (none: no row), of a run's figures that did not pass (``every``:
    all), and how many kinds there was no room for.

    ``room``: rows at most, the worst (None: all); ``width``: columns (None: as many as it takes); ``several``: the node is one.
    """
    found = [(n, check, kind) for n, check, rows in checks for kind in rows if every or not kind.passes]
    worst_first = sorted(range(len(found)), key=lambda i: _rank(found[i][2].first.shown))
    chosen = [found[i] for i in sorted(worst_first[:room])]
    if not chosen:
        return [], 0
    last: CheckRecord | None = None
    rows = []
    for node, check, kind in chosen:
        names = ["" if check is last else name for name in _names(node, check, several)]
        rows.append([kind.first.shown, *names, *kind.cells])
        last = check
    heads = [HEADING[0], *(["node"] if several else []), *HEADING[1:]]
    lines = block_lines([blocks.table(heads, rows, cut=heads.index("figure"))], width)
    return list(zip(lines, ["", *(row[0] for row in rows)])), len(found) - len(chosen)


def sentences(checks: Sequence[CheckRows], several: bool) -> list[str]:
    """The answer of each check without a figure that has a reference, a line each."""
    rows = [
        [shown_verdict(check.word, node.modelled), *_names(node, check, several), headline.check_line(check, node)]
        for node, check, rows in checks if not rows
    ]  # fmt: skip
    return block_lines([blocks.table((), rows)])


def _names(node: NodeRun, check: CheckRecord, several: bool) -> list[str]:
    return [*([node.name] if several else []), headline.short_name(check.name)]
