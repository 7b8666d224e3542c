"""A diagnosis in words and as JSON objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .node_diagnosis import DegradedPart, Diagnosis

#: Where healthy figures are from, in words.
ORIGINS = {
    "run": "the healthy run",
    "tuned": "the site's tuned references",
    "siblings": "siblings in the same run (what slows all of them alike stays unseen)",
    "prediction": "the node type's prediction, taken as right within 3 %",
}


def cells_text(count: int) -> str:
    """``1 cell``, ``2 cells``."""
    return f"{count} cell{'' if count == 1 else 's'}"


def sentence(diagnosis: Diagnosis) -> str:
    """What explains the slow cells, in one line: parts with factors of healthy and their 95 % intervals."""
    slow = len(diagnosis.bad)
    if not diagnosis.degraded:
        return "nothing is slow"
    if not diagnosis.sets:
        return f"no single part explains this, nor two: {cells_text(slow)} slow"
    rivals = " or, as likely, ".join(_short(blames) for blames in diagnosis.sets)
    explained = slow - len(diagnosis.unexplained)
    return f"explained by {rivals}: {explained} of {slow} slow cell{'' if slow == 1 else 's'}"


def _short(blames: Sequence[DegradedPart]) -> str:
    return " and ".join(f"{b.part.name} at {b.factor:.3f} [{b.low:.3f}–{b.high:.3f}] of healthy" for b in blames)


def as_json(diagnosis: Diagnosis, kind: str, node_type: str, source: str) -> dict[str, Any]:
    """``nearfar-diagnosis/1``. ``kind`` and ``source`` are those of the document that the cells are from."""
    return {
        "schema": "nearfar-diagnosis/1",
        "kind": kind,
        "node_type": node_type,
        "source": source,
        "sentence": sentence(diagnosis),
        "compared": diagnosis.compared,
        "healthy_from": dict(diagnosis.origins),
        "left_out": [str(cell) for cell in diagnosis.left_out],
        "sets": [
            [
                {
                    "part": blame.part.name,
                    "words": blame.part.description,
                    "factor": blame.factor,
                    "interval": [blame.low, blame.high],
                    "capacities": dict(blame.now),
                    "healthy": dict(blame.healthy),
                    "healthy_unknown": list(blame.unknown),
                }
                for blame in blames
            ]
            for blames in diagnosis.sets
        ],
        "slow": [{"cell": str(one.cell), "ratio": one.ratio, "explained": one.explained} for one in diagnosis.bad],
    }
