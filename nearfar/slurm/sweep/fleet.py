"""What the history says of the fleet once a sweep is through: its findings are of no node."""

from __future__ import annotations

from collections.abc import Iterable

from nearfar import history
from nearfar.base import Finding, NearfarError

from .outcome import Outcome


def findings(found: Iterable[Outcome]) -> tuple[Finding, ...]:
    """Of the systems of a sweep's nodes, DEGRADED and notes. What cannot be read is a note; without a history there is nothing."""
    told: list[Finding] = []
    names = sorted({one.result.system for one in found if one.result is not None})
    if not names or history.no_polars() is not None:
        return ()
    place = history.directory()
    store = history.History(place, lambda _: None, history.trusted(place))
    for name in names:
        try:
            if name in store.systems():
                told += history.fleet_findings.report(store, name).findings
        except NearfarError as error:
            told.append(history.messages.EFFECT_UNREADABLE.finding(history.fleet_findings.FLEET, error=str(error)))
    return tuple(told)
