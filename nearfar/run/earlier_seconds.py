"""How long a system's cases took when they last ran here."""

from __future__ import annotations

import json

from nearfar.base import places

#: A case by check, partition and environment.
CaseKey = tuple[str, str, str]


def earlier_seconds(system: str) -> dict[CaseKey, float]:
    """Seconds of each case's program, by what the newest run of the system that has the case says; empty where there is none."""
    took: dict[CaseKey, float] = {}
    for path in sorted(places.reports_directory().glob(f"{system}/*/run.json")):
        try:
            ran = json.loads(path.read_text(encoding="utf-8")).get("ran_cases", [])
            took |= {
                (str(case["check"]), str(case.get("partition")), str(case.get("environ"))): float(case["seconds"])
                for case in ran
                if float(case["seconds"]) > 0
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
    return took
