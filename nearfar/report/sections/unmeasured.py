"""What has no figure, grouped by why: a reason that forty cells share is said once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nearfar.base import grouped, listed
from nearfar.measurement import Unmeasured
from nearfar.report.charts import cell_anchor
from nearfar.report.figures import parsed, plural
from nearfar.verdict import CheckRecord

#: So many names of a list are told.
_NAMED = 4


@dataclass(frozen=True)
class Gap:
    """Cells without a figure: ``state`` (``failed``, ``skipped``, ``missing``), why, and each cell with its anchor."""

    state: str
    why: str
    cells: tuple[tuple[str, str], ...]


def gaps(check: CheckRecord, prefix: str) -> list[Gap]:
    """The gaps of a check, failures first; ``prefix`` makes anchors unique on a page."""
    verdict = check.verdict
    if verdict is None:
        return []
    every = [("failed", entry) for entry in verdict.failed] + [("skipped", entry) for entry in verdict.unmeasured]
    # What is not known differs from cell to cell by name alone.
    reasons = ("; ".join(dict.fromkeys(why for _, why in entry.unknown)) or entry.reason for _, entry in every)
    groups = grouped(((state, why), entry) for why, (state, entry) in zip(reasons, every))
    found = [Gap(state, _why(e), tuple(_place(each.cell, prefix) for each in e)) for (state, _), e in groups.items()]
    missing = tuple(_place(name, prefix) for name in verdict.missing)
    return found + ([Gap("missing", "asked for, and not reported", missing)] if missing else [])


def nothing(found: Sequence[Gap]) -> str | None:
    """Why a check has no figure, in a sentence, where all its cells were skipped; None where it has other gaps or none."""
    if not found or any(gap.state != "skipped" for gap in found):
        return None
    count = sum(len(gap.cells) for gap in found)
    more = f" (and {plural(len(found) - 1, 'more reason')})" if len(found) > 1 else ""
    cells = "the one cell was skipped" if count == 1 else f"all {count} cells were skipped"
    return f"{cells}: {found[0].why}{more}"


def _place(what: str, prefix: str) -> tuple[str, str]:
    cell = parsed(what)
    return what, cell_anchor(prefix, cell) if cell else ""


def _why(members: Sequence[Unmeasured]) -> str:
    unknown = grouped((why, name) for name, why in dict.fromkeys(each for entry in members for each in entry.unknown))
    named = ((listed(names, _NAMED), "is" if len(names) == 1 else "are", why) for why, names in unknown.items())
    return "; ".join(f"{names} {are} not known: {why}" for names, are, why in named) or members[0].reason
