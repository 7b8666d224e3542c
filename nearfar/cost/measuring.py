"""The whole measurement: what each scheme brings into effect, warm-up, blocks of runs in random order, and when it is enough."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Sequence

from nearfar.base import CouldNotJudge, statistics
from nearfar.mpi import RankAccount

from . import pairs
from .figure import answer_in
from .measured import Measured, Plan, Run, SchemeRuns
from .running import Ended, Runner
from .schemes import Scheme
from .words import OVER

#: Seconds that the launcher may take to start ranks that end at once.
_PROBE = 120.0
#: A scheme under which the program failed so often is left out.
MOST_FAILURES = 2


#: Told what happens: the scheme and its block, the seconds that its run has taken so far, the seconds that are left, about.
Tell = Callable[[Measured, str, int, float, float | None], None]


def measure(schemes: Sequence[Scheme], runner: Runner, plan: Plan, tell: Tell | None = None) -> Measured:
    """Measure the schemes. Ctrl-C ends it with what there is (``interrupted``).

    Raises ``CouldNotJudge`` where the ranks are not on this machine, or the reference cannot be had.
    """
    measured = Measured(plan, [SchemeRuns(scheme, left_out=scheme.left_out or None) for scheme in schemes])
    began = time.monotonic()
    try:
        probe(measured, runner)
        if measured.reference.left_out is not None:
            measured.ended = f"{measured.reference.name}: {measured.reference.left_out}"
        elif not any(runs.active for runs in measured.compared):
            measured.ended = "no two schemes differ on this machine"
        else:
            measured.ended = _Blocks(measured, runner, began, tell).run()
    except KeyboardInterrupt:
        measured.interrupted, measured.ended = True, "interrupted"
    measured.seconds = time.monotonic() - began
    return measured


def probe(measured: Measured, runner: Runner) -> None:
    """Read every scheme's binding back, without the program; schemes that are the same are run once."""
    for scheme in measured.schemes:
        if scheme.left_out is not None:
            continue
        done = runner.probe(scheme.scheme, _PROBE)
        scheme.bindings = done.bindings
        if done.problem is not None:
            scheme.left_out = f"cannot be started: {done.problem}"
            continue
        hosts, here = {binding.host for binding in done.bindings}, os.uname().nodename
        if hosts != {here}:
            raise CouldNotJudge(
                f"the ranks run on {', '.join(sorted(hosts)) or 'no host that they report'}, and this is {here}: start nearfar cost on "
                f"the node itself, as in a batch job"
            )
        # The reference gives its name to those that are the same.
        others = (other for other in measured.schemes if other is not scheme and other.bindings and other.active)
        alike = [other for other in others if effect(other.bindings) == effect(scheme.bindings)]
        if alike:
            other = min(alike, key=lambda each: each.name != measured.plan.reference)
            loser, winner = (other, scheme) if scheme.name == measured.plan.reference else (scheme, other)
            for each in measured.schemes:
                if each is loser or each.same_as == loser.name:
                    each.same_as = winner.name


def effect(bindings: Sequence[RankAccount]) -> tuple[object, ...]:
    """What tells one binding in effect from another."""
    # With one NUMA node's memory allowed any policy is the same.
    return tuple((b.cpus, b.gpus, b.memory_allowed.isdigit() or (b.policy, b.memory)) for b in bindings)


class _Blocks:
    """Runs block after block."""

    def __init__(self, measured: Measured, runner: Runner, began: float, tell: Tell | None) -> None:
        self.found, self.runner, self.plan = measured, runner, measured.plan
        self.began, self.tell = began, tell
        self.random = random.Random(measured.plan.seed)

    def run(self) -> str:
        """Until all is settled, or no more may be run; returns why it stopped."""
        for block in (*[0] * self.plan.warm_up, *range(1, self.plan.runs + 1)):
            stop = self._block(block)
            if stop is not None:
                return stop
            if block and all(self.found.settled(scheme) for scheme in self._asked()):
                what = "every difference" if self.plan.at_most is None else "what the bound speaks of"
                return f"{what} is settled"
        return f"{self.plan.runs} runs were made of each that is not settled (--runs)"

    def _asked(self) -> list[SchemeRuns]:
        """The schemes that have to be settled: with a bound those that it speaks of."""
        judged = [] if self.plan.at_most is None else [runs for runs in self.found.judged if runs.active]
        return judged or [runs for runs in self.found.compared if runs.active]

    def _block(self, block: int) -> str | None:
        """One run of every scheme that is not settled, and of the reference; returns why no further one may follow."""
        reference = self.found.reference
        open_ones = [scheme for scheme in self.found.compared if scheme.active and not self.found.settled(scheme)]
        order = [reference, *open_ones]
        self.random.shuffle(order)
        needed = sum(self._expected(scheme) or 0.0 for scheme in order)
        if self._left() < needed:
            return self._over
        for scheme in order:
            if not scheme.active:
                continue
            stop = self._one(scheme, block)
            if stop is not None:
                return stop
        if not reference.active:
            return f"{reference.name}, which the other schemes are compared with, {reference.left_out}"
        return None if any(scheme.active for scheme in open_ones) else "no scheme is left to be compared"

    @property
    def _over(self) -> str:
        return f"{OVER} {self.plan.budget:.0f} s is over (--budget)"

    def _left(self) -> float:
        return self.plan.budget - (time.monotonic() - self.began)

    def _expected(self, scheme: SchemeRuns) -> float | None:
        times = [run.seconds for run in scheme.runs if run.problem is None]
        return statistics.median(times) if times else None

    def _one(self, scheme: SchemeRuns, block: int) -> str | None:
        limit = self._left()
        if limit <= 0:
            return self._over
        began = time.monotonic() - self.began
        self._say(scheme, block, 0.0)
        ended = self.runner.run(scheme.scheme, limit, lambda seconds: self._say(scheme, block, seconds))
        run = self._counted(scheme, block, began, ended)
        scheme.runs.append(run)
        if ended.ended_early:
            if self._expected(scheme) is not None:
                return self._over
            return (
                f"a run of {scheme.name} did not end within the {ended.seconds:.0f} s that were left of the budget: give it more "
                f"(--budget 8h), or the program less to do"
            )
        first = block == 0 or not scheme.values
        if run.problem is not None and (first or len(scheme.failures) >= MOST_FAILURES):
            scheme.left_out = run.problem
        return None

    def _counted(self, scheme: SchemeRuns, block: int, began: float, ended: Ended) -> Run:
        answer = None if self.plan.answer is None else answer_in(ended.output, self.plan.answer)
        problem, value = ended.problem, None
        if problem is None and self.plan.expected is not None and not self.plan.expected.search(ended.output):
            problem = f"'{self.plan.expected.pattern}' is not in its output (--expect)"
        if problem is None:
            reading = self.plan.figure.read(ended.output, ended.seconds)
            value, problem = reading.value, reading.problem
        return Run(scheme.name, block, began, ended.seconds, value, problem, answer, ended.bindings, ended.left)

    def _say(self, scheme: SchemeRuns, block: int, seconds: float) -> None:
        if self.tell is not None:
            self.tell(self.found, scheme.name, block, seconds, self._remaining(scheme, block, seconds))

    def _remaining(self, scheme: SchemeRuns, block: int, seconds: float) -> float | None:
        """Seconds until the earliest block after which all may be settled, or the budget; None where no run has ended."""
        running = [other for other in [self.found.reference, *self.found.compared] if other.active]
        known = [self._expected(other) for other in running]
        times = [time for time in known if time is not None]
        if not times:
            return None
        each_block = sum(time if time is not None else statistics.median(times) for time in known)
        target = max(pairs.LEAST_PAIRS, block)
        blocks = min(target, self.plan.runs) - block + (self.plan.warm_up if block == 0 else 0)
        done = sum(run.seconds for other in running for run in other.runs if run.block == block) + seconds
        return max(0.0, min(self._left(), (blocks + 1) * each_block - done))
