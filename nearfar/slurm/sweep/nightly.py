"""What is different at night: idle nodes alone, those that were measured longest ago first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from .state_file import FILE, SweepState


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


def left_out(journal: SweepState) -> dict[str, str]:
    """Why nodes of a nightly run were not measured, where that is no finding: others had them, or wanted them."""
    made_way = {t.node: f"{t.state}: {t.reason}" if t.reason else t.state for t in journal.tasks.values() if t.made_way}
    return {**journal.plan.left_out, **made_way} if journal.plan.idle_only else {}


def words(journal: SweepState) -> str:
    """``6 of 40 nodes measured; not: 30 allocated, 4 drained``."""
    others = left_out(journal)
    kinds = Counter(why.split(":")[0].split(" by ")[0] for why in others.values())
    told = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    measured = sum(task.has_result and not task.made_way for task in journal.tasks.values())
    all_of_them = len(set(journal.tasks) | set(others))
    return f"{measured} of {all_of_them} node{'' if all_of_them == 1 else 's'} measured" + (
        f"; not: {told}" if told else ""
    )
