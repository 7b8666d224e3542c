"""``report.json``: what a run found, for machines that need no samples and no drawings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nearfar.base import shown_verdict
from nearfar.report.figures import coverage
from nearfar.report.sections import Explained
from nearfar.verdict import CheckRecord, NodeRun, RunDirectory

SCHEMA = "nearfar-report/1"


def digest(run: RunDirectory, explained: Mapping[str, Explained]) -> dict[str, Any]:
    """System, nodes, verdicts and metrics of a run; ``shown`` is MODELLED where a modelled document would pass.

    ``explained``, by the nodes' folders, is for readers: nothing of it went into a verdict.
    """
    raw = run.raw
    return {
        "schema": SCHEMA,
        **{
            key: raw.get(key)
            for key in ("system", "hostname", "started", "seconds", "verdict", "exit_code", "real", "modelled")
        },
        "figures": coverage.of_run(run)._asdict(),
        "nodes": [_node(node, explained[node.folder.name]) for node in run.nodes],
        "missing_cases": run.missing_cases,
        "programs": list(run.programs),
    }


def _node(node: NodeRun, explained: Explained) -> dict[str, Any]:
    kind = "modelled" if node.modelled else "measured"
    return {"node": node.name, "folder": node.folder.name, "system": node.system, "kind": kind, "verdict": node.word,
            "shown": shown_verdict(node.word, node.modelled), "checks": [_check(node, check) for check in node.checks],
            **explained.as_json()}  # fmt: skip


def _check(node: NodeRun, check: CheckRecord) -> dict[str, Any]:
    verdict = check.verdict or {}
    wanted = (
        "name",
        "cell",
        "flow",
        "class",
        "quantity",
        "value",
        "unit",
        "ci",
        "ceiling",
        "beside",
        "remeasured",
        "reference",
        "degraded_below",
        "past",
        "verdict",
        "reason",
    )
    return {
        "check": check.name, "partition": verdict.get("partition"), "environ": verdict.get("environ"), "time": verdict.get("time"),
        "verdict": check.word, "shown": shown_verdict(check.word, node.modelled), "problem": check.problem,
        "reasons": verdict.get("reasons") or [], "metrics": [{key: m.get(key) for key in wanted} for m in verdict.get("metrics") or []],
        "findings": verdict.get("findings") or [], "missing": verdict.get("missing") or [], "skipped": verdict.get("skipped") or [],
        "document": f"{node.folder.name}/{check.name}/document.json" if check.document is not None else None,
    }  # fmt: skip
