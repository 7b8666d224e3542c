"""The page: what its templates see, and rendering them. A site's ``templates/`` may override any template of the same name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import nearfar
from nearfar.report.blocks import anchors, rendered
from nearfar.report.charts import Matrix, strips
from nearfar.report.explanations import Explained
from nearfar.report.figures import wording
from nearfar.report.sections import provenance
from nearfar.verdict import RunDirectory

from . import acceptance
from .causes import VerdictReason, answered
from .headline import foreign_notice, lead, missing_words, modelled_notice, not_asked, reasons, slow_unjudged, title
from .next_step import next_command
from .page_contents import section


def render(run: RunDirectory, explained: Mapping[str, Explained]) -> str:
    """The page of a run, one self-contained HTML document. ``explained`` is by the nodes' folders."""
    answers = {name: each.answer for name, each in explained.items() if each.answer is not None}
    found = reasons(run, answers)
    told = answered(found)
    faults = [str(fault) for fault in run.raw.get("degraded") or []]
    sections = [section(number, node, explained[node.folder.name], faults) for number, node in enumerate(run.nodes)]
    checks = [check for each in sections for check in each.checks]
    drawn = [check for check in checks if not check.nothing]
    placed = {anchor for check in drawn for matrix in [*check.matrices, *check.ratios] for anchor in _anchors(matrix)}
    placed |= {anchor for check in drawn for anchor in anchors(check.blocks)}
    rows = {row.figure.anchor for check in checks for row in check.rows if not row.alike}
    rows |= {anchor for check in checks for gap in check.gaps for _, anchor in gap.cells}

    def href(reason: VerdictReason) -> str | None:
        anchor = reason.anchor
        if reason.check is None and reason.node is not None and anchor is None:
            return next((f"#{each.id}.faults" for each in sections if each.run is reason.node), None)
        return None if anchor is None else f"#{anchor}" if anchor in placed or anchor not in rows else f"#row.{anchor}"

    words, only = lead(run, found, answers), found[0] if len(found) == 1 and not found[0].follows else None
    # The only reason stands on top, and nowhere again.
    whole = only is not None and words == f"{only.cause.finding.reason.rstrip('.')}."
    measured = (f for s in sections if not s.run.modelled for c in s.checks for f in c.figures)
    values = {
        "run": run,
        "raw": run.raw,
        "sections": sections,
        "reasons": found,
        "answered": {s.id for s in sections if s.run.folder.name in told},
        "href": href,
        "lead": words,
        "lead_href": href(only.cause) if only is not None and whole else None,
        "slow_unjudged": slow_unjudged(run, found, answers),
        "notice": modelled_notice(run),
        "foreign": foreign_notice(run),
        "not_asked": not_asked(run),
        "counts": Counter(figure.shown for figure in measured if not figure.explains),
        "shown": run.shown,
        "acceptance": acceptance.of_run(run),
        "next": next_command(run),
        "command": provenance.command(run.raw.get("command")),
        "version": nearfar.__version__,
        "provenance": provenance,
        "signs": wording.SIGNS,
        "words": wording,
        "title": title,
        "missing_words": missing_words,
        "bullet": strips.bullet,
        "scatter": strips.scatter,
    }
    return rendered("page.html", values)


def _anchors(matrix: Matrix) -> list[str]:
    if matrix.all_skipped:
        return []
    # A map of many has places for what stands out alone.
    places = [place for row in matrix.places for place in row if place.stands_out or not matrix.compact]
    figures = [p.figure for p in places if p.figure is not None]
    figures += [] if matrix.compact else [figure for place in places for _, figure in place.parts]
    if matrix.all_at_once and matrix.all_at_once.figure:
        figures.append(matrix.all_at_once.figure)  # its parts stand in the table alone
    return [figure.anchor for figure in figures] + [place.anchor for place in places]
