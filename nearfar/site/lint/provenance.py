"""Where a file's values come from: is it said, and can it be true?"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

from nearfar.base import did_you_mean
from nearfar.measurement import software_names
from nearfar.verdict.references import ReferenceFile, place_key

from .complaints import ERROR, WARNING, Complaint, at


def complaints(references: ReferenceFile, today: datetime.date) -> Iterator[Complaint]:
    """What is wrong with a file's provenance."""
    file, provenance = references.file, references.provenance

    def complaint(level: str, message: str, *steps: str) -> Complaint:
        return at(file, level, "provenance", ": ".join(["provenance", *steps, message]), "provenance", *steps)

    published, tuned = provenance.get("published"), provenance.get("tuned")
    if published is not None and not published["source"].strip():
        yield complaint(ERROR, "empty; name the source of the values", "published", "source")
    if published is not None and tuned is not None:
        yield complaint(WARNING, "both tuned and published: every value counts as tuned; use two files")
    if tuned is None:
        return
    for fault in _of_date(tuned["date"], today):
        yield complaint(WARNING, fault, "tuned", "date")
    stamp = tuned.get("stamp") or {}
    if not stamp:
        yield complaint(WARNING, "no stamp: after a change of driver nothing shows that the values are stale", "tuned")
    known = {place_key(row.place) for row in references.rows()}
    for key in references.of_rows:
        if key not in known:
            guess = did_you_mean(key, sorted(known), else_all=False)
            yield complaint(WARNING, f"unused: the file has no such row{guess}", "tuned", "rows", key)
    for key, version in stamp.items():
        if key not in software_names():
            yield complaint(
                WARNING, f"no document names it{did_you_mean(str(key), software_names())}", "tuned", "stamp", str(key)
            )
        elif isinstance(version, float):
            fault = f"{version} is a number, which loses closing zeros; put the version in quotes"
            yield complaint(WARNING, fault, "tuned", "stamp", str(key))


def _of_date(date: Any, today: datetime.date) -> Iterator[str]:
    day = date.date() if isinstance(date, datetime.datetime) else date
    if isinstance(day, str):
        try:
            day = datetime.date.fromisoformat(day[:10])
        except ValueError:
            day = None
    if not isinstance(day, datetime.date):
        yield f"'{date}' is not a day such as {today.isoformat()}"
    elif day > today + datetime.timedelta(days=1):
        yield f"{day} lies in the future; fix it, or this machine's clock ({today})"
