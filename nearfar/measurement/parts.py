"""The part of a program's document that one of several questions asked for, where one run measured for all of them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from .document import subject_key


def part(raw: dict[str, Any], cells: Collection[object], aspect: str) -> dict[str, Any]:
    """The JSON objects of a valid document with these cells alone, measured in one ``aspect`` (empty: rates). What was skipped or failed
    without a cell concerns all of them. ``seconds`` are those of the part's own cells."""

    def is_own(entry: dict[str, Any]) -> bool:
        return not entry["cell"] or (entry.get("aspect", "") == aspect and subject_key(entry["cell"]) in cells)

    told = ("results", "skipped", "failed", "notes")
    lists = {key: [entry for entry in raw[key] if is_own(entry)] for key in told if key in raw}
    whole = {key: value for key, value in raw.items() if key != "curves"} | lists
    if aspect == "sizes" and "curves" in raw:
        whole["curves"] = [curve for curve in raw["curves"] if subject_key(curve["cell"]) in cells]
    # The results of one cell (its sizes, its latencies) share its seconds evenly.
    return {**whole, "seconds": sum(float(entry.get("seconds") or 0.0) for entry in lists["results"])}
