"""What is different at night: idle nodes alone, those that were measured longest ago first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from .sweep_file import FILE, Sweep


def longest_ago(results: Path, nodes: Iterable[str]) -> list[str]:
    """The nodes, those first that no sweep in ``results`` has measured, then by the last sweep that did."""
    wanted = list(nodes)
    unseen, order = set(wanted), []
    for sweep in sorted(results.glob(f"*/{FILE}"), key=lambda path: path.stat().st_mtime, reverse=True):
        measured = {place.parent.name for place in sweep.parent.glob("nodes/*/[0-9]*")} & unseen
        order += [node for node in wanted if node in measured]
        unseen -= measured
        if not unseen:
            break
    return [node for node in wanted if node in unseen] + order[::-1]


def left_out(sweep: Sweep) -> dict[str, str]:
    """Why nodes of a nightly run were not measured, where that is no finding: others had them, or wanted them."""
    made_way = {j.name: f"{j.state}: {j.reason}" if j.reason else j.state for j in sweep.jobs.values() if j.made_way}
    return {**sweep.left_out, **made_way} if sweep.idle_only else {}


def summary(sweep: Sweep) -> str:
    """``6 of 40 nodes measured; not: 30 allocated, 4 drained``."""
    others = left_out(sweep)
    reasons = Counter(why.split(":")[0].split(" by ")[0] for why in others.values())
    why_not = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
    measured = sum(job.has_result and not job.made_way for job in sweep.jobs.values())
    all_of_them = len(set(sweep.jobs) | set(others))
    return f"{measured} of {all_of_them} node{'' if all_of_them == 1 else 's'} measured" + (
        f"; not: {why_not}" if why_not else ""
    )
