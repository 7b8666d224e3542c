"""The twin beside the real tune, judge and ``act`` on the same figures: the word on each node-night, and who stands to be drained.

The real judge reads the documents of ``simulated_nights``; the twin gets the figures of the same documents.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.judged_faults import LATER, TIME
from benchmarks.simulated_nights import BETWEEN, CHECKS, NODE, PATHS, Night, figures
from nearfar.base import passes
from nearfar.measurement import Metric
from nearfar.site import Policy, drain_policy
from nearfar.slurm.act.decide import decide
from nearfar.slurm.act.decision import DRAIN
from nearfar.slurm.controller import NodeState
from nearfar.slurm.findings import CheckRun, LogSummary
from nearfar.slurm.results import ResultFinding
from nearfar.verdict import Baseline, CaseInfo, LaterLook, Verdict, figure_verdict, judge, references
from nearfar.verdict.references import ReferenceFile

from .columns import columns
from .judging import WORDS

_DAY = 86400.0
#: A site that drains for speed, without caps.
POLICY = Policy(
    "simulated", default=drain_policy.DrainSteps(DRAIN, DRAIN),
    per_day=drain_policy.DrainCap(10**6, 1.0), in_all=drain_policy.DrainCap(10**6, 1.0),
)  # fmt: skip


@dataclass(frozen=True)
class RealNights:
    """A node's nights, nights × columns: ``values`` and ``medians`` of the first look, ``later`` (2 × nights × columns, NaN where nobody
    looked again), the real judge's ``words``; and by night what ``act`` reads."""

    values: np.ndarray
    medians: np.ndarray
    later: np.ndarray
    words: np.ndarray
    runs: tuple[tuple[CheckRun, ...], ...]


def real_nights(name: str, host: str, left: np.ndarray, file: ReferenceFile, seed: str) -> RealNights:
    """The nights of one node through the real judge. ``left``, nights × columns, is what a fault leaves; ``file`` its references."""
    source = random.Random(seed)
    own = {path.cell: 1 + source.gauss(0, BETWEEN) for path in PATHS}
    nights, count = left.shape
    values, medians, words = (np.full((nights, count), np.nan) for _ in range(3))
    later = np.full((LATER, nights, count), np.nan)
    plateau = {each.path.cell: number for number, each in enumerate(columns()) if not each.share}
    runs = []
    for number in range(nights):
        levels = {cell: level * left[number, plateau[cell]] for cell, level in own.items()}
        night = Night(levels, host, source)
        verdicts = []
        for check in CHECKS:
            verdict, first, looks = _judged(night, check, file)
            verdicts.append(verdict)
            entries = {entry.name: entry for entry in verdict.metrics}
            for at, each in enumerate(columns()):
                if each.path.check != check:
                    continue
                metric = first[each.figures[0]]
                values[number, at] = metric.value / each.nominal
                medians[number, at] = (metric.value if metric.median is None else metric.median) / each.nominal
                words[number, at] = max(_number(entries[figure].verdict) for figure in each.figures)
                for which, look in enumerate(looks):
                    if each.figures[0] in look.figures:
                        later[which, number, at] = look.figures[each.figures[0]].value / each.nominal
        runs.append(tuple(_run(name, number, verdict) for verdict in verdicts))
    return RealNights(values, medians, later, words.astype(np.int8), tuple(runs))


def _number(word: str) -> int:
    return WORDS.index(word) if word in WORDS else 0


def _judged(night: Night, check: str, file: ReferenceFile) -> tuple[Verdict, dict[str, Metric], list[LaterLook]]:
    document = night.document(check)
    metrics = figures(check, document)
    past: Mapping[str, Baseline] = {}
    resolved = references.resolve(metrics, check, [file], NODE)
    subject = CaseInfo(check, "simulated", "gpu", "system", "n", TIME)
    beyond = [m for m in metrics if figure_verdict.word(m, resolved[m.name], past, False, NODE)[0] == "FAIL"]
    asked, cells = frozenset(each.name for each in beyond), {str(each.cell) for each in beyond}
    looks = []
    for _ in range(LATER if beyond else 0):
        again = night.document(check, cells)
        looks.append(LaterLook(asked, TIME, again, {each.name: each for each in figures(check, again)}))
    verdict = judge(document, resolved, past, subject=subject, metrics=metrics, host=night.host, later=looks)
    return verdict, {each.name: each for each in metrics}, looks


def _run(name: str, night: int, verdict: Verdict) -> CheckRun:
    """What ``act`` reads of a check."""
    failures = tuple(
        ResultFinding(m.name, "FAIL", False, m.reason or "", None, m.subject, m.class_in_name, m.value, None, m.unit)
        for m in verdict.metrics
        if m.verdict == "FAIL"
    )
    passed = frozenset(m.name for m in verdict.metrics if passes(m.verdict) and m.reference is not None)
    ended = (night + 1) * _DAY
    return CheckRun(name, verdict.check, f"r{night}", ended - 60, ended, verdict.verdict, failures, passed, came=ended)


def real_drains(nodes: list[RealNights], policy: Policy = POLICY) -> np.ndarray:
    """On which night the real ``act`` would drain which node if nobody had been drained before, nodes × nights."""
    names = [own[0][0].node for own in (each.runs for each in nodes)]
    states = {name: NodeState(name, "IDLE", partitions=("gpu",)) for name in names}
    nights = len(nodes[0].runs)
    found = np.zeros((len(nodes), nights), dtype=bool)
    for night in range(nights):
        past = range(max(0, night - round(policy.confirm_within / _DAY)), night + 1)
        runs = [run for each in nodes for earlier in past for run in each.runs[earlier]]
        made = decide(runs, states, policy, LogSummary(), (night + 1) * _DAY + 60)
        for decision in made.nodes:
            found[names.index(decision.node), night] = decision.action == DRAIN
    return found
