"""Programs of a site under schemes as a measurement document (``nearfar-measurement/2``), which ``binding_check`` reads."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import nearfar
from nearfar.base import utc_text
from nearfar.measurement import PROGRAM, program_subject
from nearfar.topology import Node, node_to_document

from . import document, verdict, words
from .measured import Measured
from .words import Subject


def result(name: str, found: Measured, subject: Subject) -> dict[str, Any]:
    """One program: a flow for each scheme that was compared, its rate how many times the reference's time (or figure) it takes."""
    flows = []
    for each in found.compared:
        penalty = found.penalty(each)
        if penalty is None:
            continue
        rate: dict[str, Any] = {
            "unit": "1",
            "median": 1 + penalty.value,
            "min": 1 + penalty.least,
            "max": 1 + penalty.most,
            "n": penalty.pairs,
        }
        if penalty.interval is not None:
            rate["ci"] = [1 + penalty.interval[0], 1 + penalty.interval[1]]
        flows.append({"flow": each.name, "rate": rate})
    against = words.against(found)
    said = f"{words.answer(found)}{f'; {against}' if against else ''}"
    return {
        "quantity": PROGRAM, "cell": program_subject(name), "verified": None, "flows": flows,
        "converged": all(found.settled(each) for each in found.compared if each.active), "reference": found.reference.name,
        "at_most": found.plan.at_most, "good": verdict.good(found), "words": said, "cost": document.document(found, subject),
    }  # fmt: skip


def whole(
    node: Node,
    results: Sequence[Mapping[str, Any]],
    failed: Sequence[Mapping[str, str]],
    began: float,
    command: Sequence[str],
) -> dict[str, Any]:
    """The document; ``began``: seconds since 1970."""
    return {
        "schema": "nearfar-measurement/2", "kind": "measured",
        "program": {"name": "nearfar cost", "version": nearfar.__version__, "command": list(command)},
        "started": utc_text(began), "seconds": round(time.time() - began, 3), "node": node_to_document(node),
        "results": list(results), "skipped": [], "failed": list(failed),
    }  # fmt: skip
