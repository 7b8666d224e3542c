"""A diagnosis in words and as JSON objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nearfar.base import plural

from .node_diagnosis import Diagnosis
from .parts import DegradedPart

#: Where healthy figures are from, in words.
ORIGINS = {
    "run": "the healthy run of this machine",
    "machines": "healthy runs of other machines (one is trusted within 2.5 %, five within 1 %, or as they vary)",
    "tuned": "the site's tuned references",
    "siblings": "siblings in the same run (what slows all of them alike is not seen)",
    "prediction": "the node type's prediction, taken as right within 3 %",
}
#: What is said where no figure has a healthy one to compare it with.
NOTHING_COMPARED = "nothing was compared: no figure has a healthy one to compare it with"


def sentence(diagnosis: Diagnosis) -> str:
    """What explains the slow cells, in one line: what is common to a direction, parts with factors of healthy and their 95 % intervals."""
    return "; ".join([*(finding.reason for finding in diagnosis.common), _parts(diagnosis)])


def _parts(diagnosis: Diagnosis) -> str:
    slow = len(diagnosis.bad)
    if not diagnosis.compared:
        return NOTHING_COMPARED
    if not diagnosis.degraded:
        return nothing_slow(diagnosis)
    if diagnosis.undetermined:
        return undetermined(diagnosis)
    if not diagnosis.sets:
        return f"no single part explains this, nor two: {plural(slow, 'cell')} slow"
    rivals = " or, as likely, ".join(_short(blames) for blames in diagnosis.sets)
    explained = slow - len(diagnosis.unexplained)
    return f"explained by {rivals}: {explained} of {plural(slow, 'slow cell')}"


def nothing_slow(diagnosis: Diagnosis) -> str:
    """That no cell is slow beside its healthy figures, with the lowest where it may yet be."""
    low = diagnosis.lowest
    nothing = "nothing else" if diagnosis.common else "nothing"
    if low is None:
        return f"{nothing} is slow"
    below = f"{low.cell} has {low.ratio:.0%} of healthy, and differs from a healthy one only below {low.bad_below:.0%}"
    return f"{nothing} is clearly slow; the lowest, {below}"


def undetermined(diagnosis: Diagnosis) -> str:
    """That what is slow cannot be laid to one part, with those that would explain it."""
    names = [" and ".join(blame.part.name for blame in blames) for blames in diagnosis.undetermined]
    slow = f"{plural(len(diagnosis.bad), 'cell')} slow"
    if len(names) == 1:
        return f"ambiguous: {names[0]} would explain it, but these cells do not show by how much: {slow}"
    return f"ambiguous: these parts explain it equally: {', '.join(names)}: {slow}"


def _short(blames: Sequence[DegradedPart]) -> str:
    return " and ".join(
        f"{b.part.name} ({b.part.description}) at {b.factor:.3f} [{b.low:.3f}–{b.high:.3f}] of healthy" for b in blames
    )


def as_json(diagnosis: Diagnosis, kind: str, node_type: str, source: str) -> dict[str, Any]:
    """``nearfar-diagnosis/1``. ``kind`` and ``source`` are those of the document that the cells are from."""
    return {
        "schema": "nearfar-diagnosis/1",
        "kind": kind,
        "node_type": node_type,
        "source": source,
        "sentence": sentence(diagnosis),
        "findings": [finding.to_raw() for finding in diagnosis.common],
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
        "undetermined": [[blame.part.name for blame in blames] for blames in diagnosis.undetermined],
        "lowest": None
        if diagnosis.lowest is None
        else {
            "cell": str(diagnosis.lowest.cell),
            "ratio": diagnosis.lowest.ratio,
            "slow_below": diagnosis.lowest.bad_below,
        },
        "slow": [{"cell": str(slow.cell), "ratio": slow.ratio, "explained": slow.explained} for slow in diagnosis.bad],
    }
