"""The comparison as a document: ``nearfar-compare/1``."""

from __future__ import annotations

import json
import shlex
from typing import Any

import nearfar
from nearfar.base import utc_text

from . import settings, words
from .changes import BUDGET, FigureChange
from .comparison import RunComparison
from .sides import Side
from .spreads import ASSUMED, WEIGHT

SCHEMA = "nearfar-compare/1"


def text(comparison: RunComparison, at_most: float | None = None) -> str:
    """The document as JSON text; ``at_most`` is the bound on what is worse, as a part."""
    document = {
        "schema": SCHEMA,
        "program": {"name": "nearfar compare", "version": nearfar.__version__},
        "made": utc_text(),
        "answer": words.answer(comparison),
        "before": _side(comparison.before),
        "after": _side(comparison.after),
        "nodes": comparison.nodes,
        "budget": {
            "chance": BUDGET, "method": "Holm", "tested": len(comparison.tested), "significant": len(comparison.significant),
            "assumed_spread": ASSUMED, "assumed_weight": WEIGHT,
        },
        "at_most": at_most,
        "beyond": None if at_most is None else [_key(change) for change in comparison.beyond(at_most)],
        "changed": [vars(entry) for entry in comparison.settings],
        "figures": [_figure(change) for change in comparison.changes],
        "only": [vars(entry) for entry in comparison.only_one],
        "notes": comparison.notes,
    }  # fmt: skip
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)


def _side(side: Side) -> dict[str, Any]:
    return {
        "runs": [
            {"folder": str(run.folder), "system": str(run.raw["system"]), "started": run.raw.get("started"),
             "command": _command(run.raw.get("command")), "verdict": run.shown}
            for run in side.runs
        ],
        "nodes": [
            {"name": node.name, "runs": len(node.runs),
             "stamps": [{"of": of, "what": what, "values": values} for (of, what), values in settings.stamps(node).items()]}
            for node in side.nodes
        ],
    }  # fmt: skip


def _command(command: Any) -> str | None:
    return shlex.join(map(str, command)) if isinstance(command, list) else None


def _key(change: FigureChange) -> dict[str, Any]:
    return {"nodes": change.nodes, "check": change.check, "name": change.metric.name}


def _figure(change: FigureChange) -> dict[str, Any]:
    return {
        **_key(change), "words": words.figure(change.metric), "unit": change.metric.unit, "kind": change.kind,
        "less_is_better": change.less_is_better, "before": vars(change.before), "after": vars(change.after),
        "change": change.change, "interval": change.interval, "chance": change.chance, "counted": change.counted,
        "doubts": change.doubts, "significant": change.significant, "worse": change.worse, "seen_from": change.seen_from,
    }  # fmt: skip
