"""What was measured as documents: ``nearfar-cost/1`` (``nearfar schema cost``), and programs of a site under schemes as a measurement
document (``nearfar-measurement/2``), which ``binding_check`` reads."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

import nearfar
from nearfar.base import statistics, utc_text
from nearfar.measurement import PROGRAM, program_subject
from nearfar.mpi import RankAccount
from nearfar.topology import Node, format_cpu_list, node_to_document

from . import words
from .measured import Measured, Run, SchemeRuns
from .pairs import CHANCE, Penalty
from .words import Subject

SCHEMA = "nearfar-cost/1"


def document(measured: Measured, subject: Subject) -> dict[str, Any]:
    """The measurement as JSON objects; parts are of 1, times in seconds, CPUs as Linux lists."""
    plan, figure = measured.plan, measured.plan.figure
    return {
        "schema": SCHEMA,
        "program": {"name": "nearfar cost", "version": nearfar.__version__},
        "made": utc_text(),
        "answer": words.answer(measured),
        "next": words.next_step(measured, subject),
        "good": measured.good,
        "command": list(subject.program),
        "launcher": {"name": subject.launcher_name, "words": subject.launcher},
        "node": {"hostname": subject.host, "numa_nodes": subject.numa_nodes, "gpus": subject.gpus},
        "ranks": subject.ranks,
        "figure": {
            "expression": figure.expression.pattern if figure.expression is not None else None, "take": figure.take,
            "less_is_better": figure.less_is_better, "words": figure.words,
        },
        "same": {
            "expression": plan.answer.pattern if plan.answer is not None else None, "within": plan.answer_within,
            "difference": measured.answer_difference,
        },
        "expect": plan.expected.pattern if plan.expected is not None else None,
        "plan": {
            "reference": plan.reference, "judged": list(plan.judged), "at_most": plan.at_most, "runs": plan.runs, "budget": plan.budget,
            "warm_up": plan.warm_up, "resolution": plan.resolution, "seed": plan.seed, "chance": CHANCE,
        },
        "seconds": measured.seconds,
        "ended": measured.ended,
        "interrupted": measured.interrupted,
        "schemes": [_scheme(measured, scheme) for scheme in measured.schemes],
        "notes": words.notes(measured),
    }  # fmt: skip


def text(measured: Measured, subject: Subject) -> str:
    """The document as JSON text."""
    return json.dumps(document(measured, subject), indent=1, ensure_ascii=False, allow_nan=False)


def _scheme(measured: Measured, scheme: SchemeRuns) -> dict[str, Any]:
    values = list(scheme.values.values())
    penalty = measured.penalty(scheme) if scheme.same_as is None else None
    return {
        "name": scheme.name, "words": scheme.scheme.words, "ranks": scheme.scheme.ranks,
        "same_as": scheme.same_as, "left_out": scheme.left_out,
        "median": statistics.median(values) if values else None,
        "penalty": None if penalty is None else _penalty(measured, scheme, penalty),
        "binds_itself": words.moved(scheme), "bindings": [_binding(binding) for binding in scheme.bindings],
        "runs": [_run(run) for run in scheme.runs],
    }  # fmt: skip


def _penalty(measured: Measured, scheme: SchemeRuns, penalty: Penalty) -> dict[str, Any]:
    interval = None if penalty.interval is None else list(penalty.interval)
    return {
        "value": penalty.value, "interval": interval, "pairs": penalty.pairs, "least": penalty.least, "most": penalty.most,
        "state": words.state(measured, scheme), "settled": measured.settled(scheme),
    }  # fmt: skip


def _run(run: Run) -> dict[str, Any]:
    return {
        "block": run.block, "began": run.began, "seconds": run.seconds, "value": run.value, "problem": run.problem, "answer": run.answer,
        "left": list(run.left), "bindings": [_binding(binding) for binding in run.bindings],
    }  # fmt: skip


def _binding(binding: RankAccount) -> dict[str, Any]:
    return {
        "rank": binding.rank, "cpus": format_cpu_list(binding.cpus), "policy": binding.policy, "memory": list(binding.memory),
        "memory_allowed": binding.memory_allowed, "gpus": binding.gpus, "running": format_cpu_list(binding.running), "moved": binding.moved,
        "unbound": binding.unbound,
    }  # fmt: skip


def result(name: str, measured: Measured, subject: Subject) -> dict[str, Any]:
    """One program: a flow for each scheme that was compared, its rate how many times the reference's time (or figure) it takes."""
    flows = []
    for scheme in measured.compared:
        penalty = measured.penalty(scheme)
        if penalty is None:
            continue
        median, least, most = (1 + part for part in (penalty.value, penalty.least, penalty.most))
        ci = {} if penalty.interval is None else {"ci": [1 + end for end in penalty.interval]}
        rate = {"unit": "1", "median": median, "min": least, "max": most, "n": penalty.pairs, **ci}
        flows.append({"flow": scheme.name, "rate": rate})
    against = words.against(measured)
    message = f"{words.answer(measured)}{f'; {against}' if against else ''}"
    return {
        "quantity": PROGRAM, "cell": program_subject(name), "verified": None, "flows": flows,
        "converged": all(measured.settled(scheme) for scheme in measured.compared if scheme.active), "reference": measured.reference.name,
        "at_most": measured.plan.at_most, "good": measured.good, "words": message, "cost": document(measured, subject),
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
