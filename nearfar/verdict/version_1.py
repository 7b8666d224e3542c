"""``nearfar-verdict/1``, as results were written until version 2: made into version 2 with what the document beside it knows.

Nothing else knows of version 1; without old results to read this module can go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nearfar.base import NOT_JUDGED, ORDER, NearfarError
from nearfar.cells import Cell, Flow, split_class
from nearfar.measurement import subject_key
from nearfar.verdict.references import question_of

from . import document_facts
from .verdict_types import cell_of

SCHEMA = "nearfar-verdict/1"
#: What findings spoke of that early versions called PASS, though they only inform.
_NOTES = ("topology", "cells", "nodes", "history", "binding", "repetitions", "starved", "split")
#: A rank that waited for its core for more than this part of its time shared it with others.
_BUSY = 0.25


def upgrade(raw: Mapping[str, Any], document: Mapping[str, Any] | None, path: Path) -> dict[str, Any]:
    """Version 2 of it. ``document`` None: what only a document knows is left empty. Raises ``NearfarError`` with ``path`` where it is
    not what version 1 wrote."""
    for key, kind in (("verdict", str), ("metrics", list)):
        if not isinstance(raw.get(key), kind):
            raise NearfarError(f"{path}: '{key}' is missing or of the wrong type; the file was changed or cut short")
    try:
        return _upgraded(raw, document)
    except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
        raise NearfarError(
            f"{path}: not what a verdict or document holds ({type(error).__name__}: {error}); the file was changed or cut short"
        ) from None


def _upgraded(raw: Mapping[str, Any], document: Mapping[str, Any] | None) -> dict[str, Any]:
    measured = document or {}
    info = None if document is None else vars(document_facts.info(document))
    skipped = [_unmeasured(each, "unknown") for each in measured.get("skipped") or []]
    told = [_unmeasured(each, "unknown") for each in raw.get("skipped") or []]
    known = {(each["cell"], each["reason"]) for each in skipped}
    metrics = _Metrics(measured)
    provenance = raw.get("provenance") or {}
    found = {
        "schema": "nearfar-verdict/2",
        **{key: str(raw.get(key) or "") for key in ("check", "system", "partition", "environ", "node", "time")},
        "kind": raw.get("kind", "measured"),
        "verdict": _word(raw["verdict"]),
        "reasons": list(map(str, raw.get("reasons") or [])),
        "metrics": [metrics.upgraded(each) for each in raw["metrics"] if isinstance(each, dict)],
        "findings": [_finding(each) for each in raw.get("findings") or []],
        "missing": list(map(str, raw.get("missing") or [])),
        "failed": [_unmeasured(each, "error") for each in measured.get("failed") or []],
        "skipped": skipped,
        "left_out": [each for each in told if (each["cell"], each["reason"]) not in known],
        "measurement": info and {**info, "gpus": [vars(gpu) for gpu in info["gpus"]]},
        "provenance": {
            "references": provenance.get("references") or [],
            "software": {**document_facts.software({"node": provenance}), **document_facts.software(measured)},
        },
    }
    words = [each["verdict"] for each in (*found["metrics"], *found["findings"])]
    if found["verdict"] == "PASS" and words and set(words) == {NOT_JUDGED}:
        found["verdict"] = NOT_JUDGED
    return found


def _word(verdict: Any) -> str:
    return str(verdict) if verdict in ORDER else "INDETERMINATE"


def _finding(raw: Mapping[str, Any]) -> dict[str, Any]:
    word = _word(raw.get("verdict"))
    told = NOT_JUDGED if word == "PASS" and raw.get("item") in _NOTES else word
    return {
        "item": str(raw.get("item")),
        "verdict": told,
        "reason": str(raw.get("reason")),
        "hard": bool(raw.get("hard")),
    }


def _unmeasured(raw: Mapping[str, Any], code: str) -> dict[str, Any]:
    reason = str(raw.get("reason") or raw.get("code") or "no reason given")
    found: dict[str, Any] = {"cell": str(raw.get("cell")), "reason": reason, "code": str(raw.get("code") or code)}
    unknown = [{"capacity": str(one.get("capacity")), "why": str(one.get("why"))} for one in raw.get("unknown") or []]
    return {**found, "unknown": unknown} if unknown else found


class _Metrics:
    """A document's results, to complete the figures that were made of them."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._held = document_facts.held_down(document)
        self._loaded = bool(document.get("aggressor"))
        waited = (document.get("mpi") or {}).get("waited") or {}
        self._busy = {case for case, part in waited.items() if part > _BUSY}
        self._results: dict[object, list[Mapping[str, Any]]] = {}
        for result in sorted(document.get("results") or [], key=lambda each: -(each.get("bytes") or 0)):
            self._results.setdefault(subject_key(str(result["cell"])), []).append(result)

    def upgraded(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """A figure of version 2."""
        name, subject, quantity = (
            str(raw.get("name", "")),
            str(raw.get("cell", raw.get("name", ""))),
            str(raw.get("quantity", "")),
        )
        path_class, derived = _class(name, str(raw.get("class", "")))
        flow = None if raw.get("flow") is None else str(raw["flow"])
        cell, lone = cell_of(subject), cell_of(flow or "")
        gpus = document_facts.gpus_of(flow or subject)
        result, rate = self._measured(subject, flow, quantity, raw.get("value"))
        of_others = bool(derived) and not quantity.startswith("latency.")
        interval, past, reference = raw.get("ci"), raw.get("past"), raw.get("reference")
        return {
            "name": name, "quantity": quantity, "subject": subject, "flow": flow, "bytes": result.get("bytes"),
            "path_class": path_class, "question": _question(name, path_class, derived, cell, lone.flows[0] if lone else None),
            "derived": derived, "gpus": list(gpus), "engine": document_facts.engine_of(quantity, flow or subject),
            "value": _number(raw.get("value")), "unit": str(raw.get("unit", "")),
            "interval": interval if isinstance(interval, list) and len(interval) == 2 else None,
            "n": rate.get("n"), "least": None if of_others else rate.get("min"), "most": None if of_others else rate.get("max"),
            "samples": [] if of_others or cell is None else list(rate.get("samples") or []),
            "converged": bool(result.get("converged", True)), "verified": result.get("verified", True),
            "limited_by": list(map(str, raw.get("limited_by") or [])), "ceiling": _number(raw.get("ceiling")),
            "rows": raw.get("rows") or [name], "beside": list(map(str, raw.get("beside") or [])),
            "remeasured": bool(raw.get("remeasured")), "throttled": document_facts.throttled(gpus, self._held),
            "contended": self._loaded or subject in self._busy or bool(raw.get("beside")),
            "reference": reference and _reference(reference, str(raw.get("unit", ""))),
            "degraded_below": _number(raw.get("degraded_below")),
            "baseline": past and {key: past[key] for key in ("median", "n", "since")},
            "verdict": _judged(raw), "reason": raw.get("reason"),
        }  # fmt: skip

    def _measured(
        self, subject: str, flow: str | None, quantity: str, value: Any
    ) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """The result and the rate that a figure is of; of a derived one, those of its cell."""
        results: Sequence[Mapping[str, Any]] = self._results.get(subject_key(subject)) or [{}]
        mine = [each for each in results if each.get("quantity") == quantity] or results[:1]
        # A curve has a result for each size of message.
        result = next((each for each in mine if _rate(each, flow).get("median") == value), mine[0])
        return result, _rate(result, flow)


def _rate(result: Mapping[str, Any], flow: str | None) -> Mapping[str, Any]:
    flows = result.get("flows") or []
    mine = next((each.get("rate") for each in flows if each.get("flow") == flow), None)
    return mine or result.get("total") or (flows[0].get("rate") if flows else None) or {}


def _class(name: str, told: str) -> tuple[str, str | None]:
    """The path class and what the figure is beside a rate, from what stood glued in the name and the class."""
    for glued in (name.partition(".")[0], told):
        path_class, derived = split_class(glued)
        if derived:
            return path_class, derived
    return told, None


def _question(name: str, path_class: str, derived: str | None, cell: Cell | None, flow: Flow | None) -> str:
    if cell is not None:
        return question_of(cell, flow, name.endswith(".total"))
    before = f"{path_class}_{derived}." if derived else f"{path_class}."
    return name.partition(before)[2] or name


def _reference(raw: Mapping[str, Any], unit: str) -> dict[str, Any]:
    return {
        "value": raw["value"], "lowest": raw.get("lower"), "highest": raw.get("upper"), "unit": str(raw.get("unit", unit)),
        "origin": raw.get("origin"), "note": str(raw.get("note") or ""), "stale": bool(raw.get("stale")), "file": None,
    }  # fmt: skip


def _judged(raw: Mapping[str, Any]) -> str:
    """Early versions called PASS what was compared with nothing."""
    word, reference = _word(raw.get("verdict")), raw.get("reference") or {}
    bounds = (reference.get("lower"), reference.get("upper"), raw.get("degraded_below")) if reference else ()
    return NOT_JUDGED if word == "PASS" and all(bound is None for bound in bounds) else word


def _number(value: Any) -> float | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
