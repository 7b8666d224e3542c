"""What was measured as a document: ``nearfar-cost/1`` (``nearfar schema cost``)."""

from __future__ import annotations

import json
from typing import Any

import nearfar
from nearfar.base import statistics, utc_text
from nearfar.topology import format_cpu_list

from . import verdict, words
from .measured import Measured, Run, SchemeRuns
from .pairs import CHANCE, Penalty
from .running import RankBinding
from .words import Subject

SCHEMA = "nearfar-cost/1"


def document(found: Measured, subject: Subject) -> dict[str, Any]:
    """The measurement as JSON objects; parts are of 1, times in seconds, CPUs as Linux lists."""
    plan, figure = found.plan, found.plan.figure
    return {
        "schema": SCHEMA,
        "program": {"name": "nearfar cost", "version": nearfar.__version__},
        "made": utc_text(),
        "answer": words.answer(found),
        "next": words.next_step(found, subject),
        "good": verdict.good(found),
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
            "difference": words.answers(found),
        },
        "expect": plan.expected.pattern if plan.expected is not None else None,
        "plan": {
            "reference": plan.reference, "judged": list(plan.judged), "at_most": plan.at_most, "runs": plan.runs, "budget": plan.budget,
            "warm_up": plan.warm_up, "resolution": plan.resolution, "seed": plan.seed, "chance": CHANCE,
        },
        "seconds": found.seconds,
        "ended": found.ended,
        "interrupted": found.interrupted,
        "schemes": [_scheme(found, each) for each in found.schemes],
        "notes": words.notes(found),
    }  # fmt: skip


def text(found: Measured, subject: Subject) -> str:
    """The document as JSON text."""
    return json.dumps(document(found, subject), indent=1, ensure_ascii=False, allow_nan=False)


def _scheme(found: Measured, each: SchemeRuns) -> dict[str, Any]:
    values = list(each.values.values())
    penalty = found.penalty(each) if each.same_as is None else None
    return {
        "name": each.name, "words": each.scheme.words, "ranks": each.scheme.ranks, "same_as": each.same_as, "left_out": each.left_out,
        "median": statistics.median(values) if values else None, "penalty": None if penalty is None else _penalty(found, each, penalty),
        "binds_itself": words.moved(each), "bindings": [_binding(one) for one in each.bindings], "runs": [_run(run) for run in each.runs],
    }  # fmt: skip


def _penalty(found: Measured, each: SchemeRuns, penalty: Penalty) -> dict[str, Any]:
    interval = None if penalty.interval is None else list(penalty.interval)
    return {
        "value": penalty.value, "interval": interval, "pairs": penalty.pairs, "least": penalty.least, "most": penalty.most,
        "state": words.state(found, each), "settled": found.settled(each),
    }  # fmt: skip


def _run(run: Run) -> dict[str, Any]:
    return {
        "block": run.block, "began": run.began, "seconds": run.seconds, "value": run.value, "problem": run.problem, "answer": run.answer,
        "left": list(run.left), "bindings": [_binding(one) for one in run.bindings],
    }  # fmt: skip


def _binding(one: RankBinding) -> dict[str, Any]:
    return {
        "rank": one.rank, "cpus": format_cpu_list(one.cpus), "policy": one.policy, "memory": list(one.memory),
        "memory_allowed": one.memory_allowed, "gpus": one.gpus, "running": format_cpu_list(one.running), "moved": one.moved,
        "unbound": one.unbound,
    }  # fmt: skip
