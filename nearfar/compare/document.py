"""The comparison as a document: ``nearfar-compare/1``."""

from __future__ import annotations

import json
import shlex
from typing import Any

import nearfar
from nearfar.base import utc_text

from . import settings, words
from .changes import BUDGET, FigureChange, SideValue
from .comparison import RunComparison
from .sides import Side
from .spreads import ASSUMED, WEIGHT

SCHEMA = "nearfar-compare/1"


def document(comparison: RunComparison, at_most: float | None) -> dict[str, Any]:
    """The comparison as JSON objects; ``at_most`` is the bound on what is worse, as a part."""
    return {
        "schema": SCHEMA,
        "program": {"name": "nearfar compare", "version": nearfar.__version__},
        "made": utc_text(),
        "answer": words.answer(comparison),
        "before": _side(comparison.before),
        "after": _side(comparison.after),
        "nodes": [list(pair) for pair in comparison.nodes],
        "budget": {
            "chance": BUDGET, "method": "Holm", "tested": len(comparison.tested), "significant": len(comparison.significant),
            "assumed_spread": ASSUMED, "assumed_weight": WEIGHT,
        },
        "at_most": at_most,
        "beyond": None if at_most is None else [_key(change) for change in comparison.beyond(at_most)],
        "changed": [dict(vars(entry)) for entry in comparison.settings],
        "figures": [_figure(change) for change in comparison.changes],
        "only": [{**vars(entry), "names": list(entry.names)} for entry in comparison.only_one],
        "notes": list(comparison.notes),
    }  # fmt: skip


def text(comparison: RunComparison, at_most: float | None = None) -> str:
    """The document as JSON text."""
    return json.dumps(document(comparison, at_most), indent=1, ensure_ascii=False, allow_nan=False)


def _side(side: Side) -> dict[str, Any]:
    return {
        "runs": [
            {"folder": str(run.folder), "system": str(run.raw["system"]), "started": run.raw.get("started"),
             "command": _command(run.raw.get("command")), "verdict": run.shown}
            for run in side.runs
        ],
        "nodes": [
            {"name": node.name, "runs": len(node.runs),
             "stamps": [{"of": of, "what": what, "values": list(values)} for (of, what), values in settings.stamps(node).items()]}
            for node in side.nodes
        ],
    }  # fmt: skip


def _command(command: Any) -> str | None:
    return shlex.join(map(str, command)) if isinstance(command, list) else None


def _key(change: FigureChange) -> dict[str, Any]:
    return {"nodes": [list(pair) for pair in change.nodes], "check": change.check, "name": change.metric.name}


def _figure(change: FigureChange) -> dict[str, Any]:
    return {
        **_key(change), "words": words.figure(change.metric), "unit": change.metric.unit, "kind": change.kind,
        "less_is_better": change.less_is_better, "before": _value(change.before), "after": _value(change.after),
        "change": change.change, "interval": list(change.interval), "chance": change.chance, "counted": change.counted,
        "doubts": list(change.doubts), "significant": change.significant, "worse": change.worse, "seen_from": change.seen_from,
    }  # fmt: skip


def _value(side: SideValue) -> dict[str, Any]:
    interval = None if side.interval is None else list(side.interval)
    return {
        "value": side.value, "interval": interval, "runs": side.runs, "left_out": side.left_out,
        "doubts": list(side.doubts), "converged": side.converged,
    }  # fmt: skip
