"""The twin beside the real tune, judge and ``act`` on the same figures: the word on each node-night, and who stands to be drained.

The real judge reads the documents of ``simulated_nights``; the twin gets the figures of the same documents.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np

from benchmarks.judged_faults import LATER, TIME
from benchmarks.simulated_nights import BETWEEN, CHECKS, NODE, PATHS, Night, figures
from nearfar.base import Finding
from nearfar.measurement import Metric
from nearfar.site import Policy, drain_policy
from nearfar.slurm.act.judge_nodes import Facts
from nearfar.slurm.act.judge_nodes import judge as judge_nodes
from nearfar.slurm.act.node_states import DRAIN
from nearfar.slurm.controller import NodeState
from nearfar.slurm.ledger import CheckRun, LastVerdict, Past
from nearfar.slurm.results.result import passing
from nearfar.verdict import (
    FELL_TOGETHER,
    Baseline,
    CaseInfo,
    LaterLook,
    Verdict,
    baseline,
    disturbances,
    figure_verdict,
    judge,
    of_one_run,
    references,
    thresholds,
)
from nearfar.verdict.looks import measured_again
from nearfar.verdict.references import ReferenceFile

from . import draining, twin
from .columns import columns
from .judging import WORDS, Measured
from .rules import Limits

_DAY = 86400.0
_FIRST = date(2026, 1, 1)
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
    plateau = {each.path.cell: number for number, each in enumerate(columns())}
    runs, before, slow = [], _Past(), 0
    for number in range(nights):
        levels = {cell: level * left[number, plateau[cell]] for cell, level in own.items()}
        night = Night(levels, host, source)
        verdicts = []
        for check in CHECKS:
            verdict, first, looks = _judged(night, check, file, before.of(check))
            verdicts.append(verdict)
            before.add(check, verdict, number)
            entries = {entry.name: entry for entry in verdict.metrics}
            for at, each in enumerate(columns()):
                if each.path.check != check:
                    continue
                metric = first[each.figure]
                values[number, at] = metric.value / each.nominal
                medians[number, at] = (metric.value if metric.median is None else metric.median) / each.nominal
                words[number, at] = _number(entries[each.figure].verdict)
                for which, look in enumerate(looks):
                    if each.figure in look.figures:
                        later[which, number, at] = look.figures[each.figure].value / each.nominal
        slow = slow + 1 if any(m.disturbance in disturbances.FELL for each in verdicts for m in each.metrics) else 0
        stays = [Finding("host", "FAIL", "")] if host == "own" and slow >= thresholds.HOST_BROKEN else []
        runs.append(tuple(_run(name, number, each, stays) for each in of_one_run(verdicts)))
    return RealNights(values, medians, later, words.astype(np.int8), tuple(runs))


class _Past:
    """The nights of a node's figures, as the history keeps and chooses them."""

    def __init__(self) -> None:
        self._nights: dict[str, dict[str, list[baseline.Night]]] = {}

    def of(self, check: str) -> dict[str, Baseline]:
        made = {name: baseline.of_nights(nights) for name, nights in self._nights.get(check, {}).items()}
        return {name: past for name, past in made.items() if past is not None}

    def add(self, check: str, verdict: Verdict, night: int) -> None:
        for entry in verdict.metrics:
            worse = entry.baseline is not None and entry.baseline.worse is not None
            counts = entry.verdict == "PASS" or (entry.verdict == "DEGRADED" and worse)
            if counts and entry.value is not None and entry.disturbance is None:
                day = str(_FIRST + timedelta(night))
                nights = self._nights.setdefault(check, {}).setdefault(entry.name, [])
                nights.append(baseline.Night(day, entry.value, entry.verdict == "PASS"))


def _number(word: str) -> int:
    return WORDS.index(word) if word in WORDS else 0


def _judged(
    night: Night, check: str, file: ReferenceFile, past: Mapping[str, Baseline]
) -> tuple[Verdict, dict[str, Metric], list[LaterLook]]:
    document = night.document(check)
    metrics = figures(check, document)
    resolved = references.resolve(metrics, check, [file], NODE)
    subject = CaseInfo(check, "simulated", "gpu", "system", "n", TIME)
    beyond = [m for m in metrics if measured_again(figure_verdict.of_figure(m, resolved[m.name], None, False, NODE))]
    asked, cells = frozenset(each.name for each in beyond), {str(each.cell) for each in beyond}
    looks = []
    for _ in range(LATER if beyond else 0):
        again = night.document(check, cells)
        looks.append(LaterLook(asked, TIME, again, {each.name: each for each in figures(check, again)}))
    verdict = judge(document, resolved, past, subject=subject, metrics=metrics, host=night.host, later=looks)
    return verdict, {each.name: each for each in metrics}, looks


def _run(name: str, night: int, verdict: Verdict, stays: Sequence[Finding]) -> CheckRun:
    """What ``act`` reads of a check; ``stays``: what the history finds of its host, if paths of it fell together."""
    fell = any(m.disturbance in disturbances.FELL for m in verdict.metrics)
    failures = tuple(
        Finding(m.name, "FAIL", m.reason or "", fields={"value": m.value, "unit": m.unit, "cell": m.subject})
        for m in verdict.metrics
        if m.verdict == "FAIL" and m.code != FELL_TOGETHER.code
    ) + (tuple(stays) if fell else ())
    ended = (night + 1) * _DAY
    return CheckRun(
        name,
        verdict.check,
        f"r{night}",
        ended - 60,
        ended,
        verdict.verdict,
        failures,
        *passing(verdict.metrics),
        came=ended,
    )


def real_drains(nodes: Sequence[RealNights], policy: Policy = POLICY) -> np.ndarray:
    """On which night the real ``act`` would drain which node if nobody had been drained before, nodes × nights."""
    names = [own[0][0].node for own in (each.runs for each in nodes)]
    states = {name: NodeState(name, "IDLE", partitions=("gpu",)) for name in names}
    nights = len(nodes[0].runs)
    found = np.zeros((len(nodes), nights), dtype=bool)
    for night in range(nights):
        past = range(max(0, night - round(policy.look_back / _DAY)), night + 1)
        runs = {name: [run for earlier in past for run in each.runs[earlier]] for name, each in zip(names, nodes)}
        now = (night + 1) * _DAY + 60
        checks = {run.check for these in runs.values() for run in these}
        last = {name: [LastVerdict(check, "", "PASS", "", now) for check in checks] for name in names}
        fleet = judge_nodes(Facts(policy, now, states, Past(), runs=runs, last=last))
        for status in fleet.nodes.values():
            found[names.index(status.node), night] = status.action == DRAIN
    return found


@dataclass(frozen=True)
class Agreement:
    """Of so many node-nights on how many the twin has the judge's word, and on how many it drains as ``act``; ``figures`` and ``same`` of
    all figures. ``words``: how often the judge had each word."""

    nights: int
    same_word: int
    same_drain: int
    drains: int
    figures: int
    same: int
    words: tuple[int, ...]


def agreement(nodes: Sequence[RealNights], limits: Limits, host: str) -> Agreement:
    """The twin on the figures of nodes of one kind of host; ``limits`` has those of each node."""
    later = np.stack([each.later for each in nodes], axis=1)
    seen = Measured(
        host,
        np.stack([each.values for each in nodes]),
        np.stack([each.medians for each in nodes]),
        lambda at: np.stack([look[at] for look in later]),
    )
    found = twin.judged(seen, limits)
    real = np.stack([each.words for each in nodes])
    real_word, word = real.max(axis=2), found.words.max(axis=2)
    drains, twins = real_drains(nodes), draining.drains(found, host, POLICY).confirmed
    counts = tuple(int((real_word == each).sum()) for each in range(len(WORDS)))
    return Agreement(
        word.size, int((word == real_word).sum()), int((drains == twins).sum()), int(drains.sum()), real.size,
        int((real == found.words).sum()), counts,
    )  # fmt: skip
