"""The whole measurement: what each scheme brings into effect, warm-up, blocks of runs in random order, and when it is enough."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence

from nearfar.base import CouldNotJudge, statistics

from . import pairs
from .answers import answer_in
from .measured import Measured, Plan, Run, SchemeRuns
from .running import Ended, RankBinding, Runner
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
    found = Measured(plan, [SchemeRuns(scheme, left_out=scheme.left_out or None) for scheme in schemes])
    began = time.monotonic()
    try:
        probe(found, runner)
        if found.reference.left_out is not None:
            found.ended = f"{found.reference.name}: {found.reference.left_out}"
        elif not any(each.active for each in found.compared):
            found.ended = "no two schemes differ on this machine"
        else:
            found.ended = _Blocks(found, runner, began, tell).run()
    except KeyboardInterrupt:
        found.interrupted, found.ended = True, "interrupted"
    found.seconds = time.monotonic() - began
    return found


def probe(found: Measured, runner: Runner) -> None:
    """Read every scheme's binding back, without the program; schemes that are the same are run once."""
    for each in found.schemes:
        if each.left_out is not None:
            continue
        done = runner.probe(each.scheme, _PROBE)
        each.bindings = done.bindings
        if done.problem is not None:
            each.left_out = f"cannot be started: {done.problem}"
            continue
        hosts = {binding.host for binding in done.bindings}
        if hosts != {_host()}:
            raise CouldNotJudge(
                f"the ranks run on {', '.join(sorted(hosts)) or 'no host that they say'}, and this is {_host()}: start nearfar cost on "
                f"the node itself, as in a batch job"
            )
        # The reference gives its name to those that are the same.
        order = sorted(found.schemes, key=lambda other: other.name != found.plan.reference)
        for other in order:
            if (
                other is not each
                and other.bindings
                and other.active
                and effect(other.bindings) == effect(each.bindings)
            ):
                loser, winner = (other, each) if each.name == found.plan.reference else (each, other)
                loser.same_as = winner.name
                for third in found.schemes:
                    if third.same_as == loser.name:
                        third.same_as = winner.name
                break


def _host() -> str:
    import os

    return os.uname().nodename


def effect(bindings: Sequence[RankBinding]) -> tuple[object, ...]:
    """What tells one binding in effect from another."""
    return tuple((each.cpus, *_memory(each), each.gpus) for each in bindings)


def _memory(binding: RankBinding) -> tuple[object, ...]:
    # With one NUMA node's memory allowed any policy is the same.
    if binding.memory_allowed.isdigit():
        return ("one",)
    return binding.policy, binding.memory


class _Blocks:
    """Runs block after block."""

    def __init__(self, found: Measured, runner: Runner, began: float, tell: Tell | None) -> None:
        self.found, self.runner, self.plan = found, runner, found.plan
        self.began, self.tell = began, tell
        self.random = random.Random(found.plan.seed)

    def run(self) -> str:
        """Until all is settled, or no more may be run; returns why it stopped."""
        for _ in range(self.plan.warm_up):
            stop = self._block(0)
            if stop is not None:
                return stop
        for block in range(1, self.plan.runs + 1):
            stop = self._block(block)
            if stop is not None:
                return stop
            if all(self.found.settled(each) for each in self._asked()):
                return (
                    "every difference is settled"
                    if self.plan.at_most is None
                    else "what the bound speaks of is settled"
                )
        return f"{self.plan.runs} runs were made of each that is not settled (--runs)"

    def _asked(self) -> list[SchemeRuns]:
        """The schemes that have to be settled: with a bound those that it speaks of."""
        active = [each for each in self.found.compared if each.active]
        judged = {self.found.of(name).name for name in self.plan.judged}
        return [each for each in active if each.name in judged] or active if self.plan.at_most is not None else active

    def _block(self, block: int) -> str | None:
        """One run of every scheme that is not settled, and of the reference; returns why no further one may follow."""
        reference = self.found.reference
        open_ones = [each for each in self.found.compared if each.active and not self.found.settled(each)]
        order = [reference, *open_ones]
        self.random.shuffle(order)
        needed = sum(self._expected(each) or 0.0 for each in order)
        if self._left() < needed:
            return self._over
        for each in order:
            if not each.active:
                continue
            stop = self._one(each, block)
            if stop is not None:
                return stop
        if not reference.active:
            return f"{reference.name}, which the others are compared with, {reference.left_out}"
        return None if any(each.active for each in open_ones) else "no scheme is left to be compared"

    @property
    def _over(self) -> str:
        return f"{OVER} {self.plan.budget:.0f} s is over (--budget)"

    def _left(self) -> float:
        return self.plan.budget - (time.monotonic() - self.began)

    def _expected(self, scheme: SchemeRuns) -> float | None:
        times = [run.seconds for run in scheme.runs if run.problem is None]
        return statistics.median(times) if times else None

    def _one(self, each: SchemeRuns, block: int) -> str | None:
        limit = self._left()
        if limit <= 0:
            return self._over
        began = time.monotonic() - self.began
        self._say(each, block, 0.0)
        ended = self.runner.run(each.scheme, limit, lambda seconds: self._say(each, block, seconds))
        run = self._counted(each, block, began, ended)
        each.runs.append(run)
        if ended.ended_early:
            return self._too_long(each, ended.seconds)
        first = block == 0 or not each.values
        if run.problem is not None and (first or len(each.failures) >= MOST_FAILURES):
            each.left_out = run.problem
        return None

    def _too_long(self, each: SchemeRuns, seconds: float) -> str:
        if self._expected(each) is None:
            return (
                f"a run of {each.name} did not end within the {seconds:.0f} s that were left of the budget: give it more (--budget 8h), "
                f"or the program less to do"
            )
        return self._over

    def _counted(self, each: SchemeRuns, block: int, began: float, ended: Ended) -> Run:
        answer = None if self.plan.answer is None else answer_in(ended.output, self.plan.answer)
        problem, value = ended.problem, None
        if problem is None and self.plan.expected is not None and not self.plan.expected.search(ended.output):
            problem = f"'{self.plan.expected.pattern}' is not in its output (--expect)"
        if problem is None:
            reading = self.plan.figure.read(ended.output, ended.seconds)
            value, problem = reading.value, reading.problem
        return Run(each.name, block, began, ended.seconds, value, problem, answer, ended.bindings, ended.left)

    def _say(self, each: SchemeRuns, block: int, seconds: float) -> None:
        if self.tell is not None:
            self.tell(self.found, each.name, block, seconds, self._remaining(each, block, seconds))

    def _remaining(self, each: SchemeRuns, block: int, seconds: float) -> float | None:
        """Seconds until the earliest block after which all may be settled, or the budget; None where no run has ended."""
        running = [one for one in [self.found.reference, *self.found.compared] if one.active]
        known = [self._expected(one) for one in running]
        times = [time for time in known if time is not None]
        if not times:
            return None
        each_block = sum(time if time is not None else statistics.median(times) for time in known)
        target = max(pairs.LEAST_PAIRS, block)
        blocks = min(target, self.plan.runs) - block + (self.plan.warm_up if block == 0 else 0)
        done = sum(run.seconds for one in running for run in one.runs if run.block == block) + seconds
        return max(0.0, min(self._left(), (blocks + 1) * each_block - done))
