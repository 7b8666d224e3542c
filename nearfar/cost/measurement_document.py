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


def result(name: str, measured: Measured, subject: Subject) -> dict[str, Any]:
    """One program: a flow for each scheme that was compared, its rate how many times the reference's time (or figure) it takes."""
    flows = []
    for scheme in measured.compared:
        penalty = measured.penalty(scheme)
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
        flows.append({"flow": scheme.name, "rate": rate})
    against = words.against(measured)
    message = f"{words.answer(measured)}{f'; {against}' if against else ''}"
    return {
        "quantity": PROGRAM, "cell": program_subject(name), "verified": None, "flows": flows,
        "converged": all(measured.settled(scheme) for scheme in measured.compared if scheme.active), "reference": measured.reference.name,
        "at_most": measured.plan.at_most, "good": verdict.good(measured), "words": message, "cost": document.document(measured, subject),
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
