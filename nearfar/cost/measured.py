"""What is asked, and what was measured of each scheme: runs, pairs, what is settled. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from nearfar.mpi import RankAccount

from . import pairs
from .figure import FigureOfMerit, difference
from .pairs import Penalty
from .schemes import Scheme


@dataclass(frozen=True)
class Plan:
    """What is asked. ``reference`` is the scheme that the others are compared with, ``judged`` those that ``at_most`` speaks of (a
    part; None: nothing). ``runs`` of each scheme at most, ``budget`` in seconds for all, ``warm_up`` runs of each scheme before.
    ``resolution``: less than so much, as a part, is no difference. ``answer`` captures what must be the same,
    ``expected`` is in the output of a run that counts."""

    figure: FigureOfMerit
    reference: str
    judged: tuple[str, ...] = ()
    at_most: float | None = None
    runs: int = 20
    budget: float = 900.0
    warm_up: int = 1
    resolution: float = 0.01
    answer: re.Pattern[str] | None = None
    expected: re.Pattern[str] | None = None
    answer_within: float = 0.0
    seed: int = 1


@dataclass(frozen=True)
class Run:
    """One run. ``block`` counts from 1, 0 is warm-up; ``value`` is its figure, None with the ``problem`` that it had. ``began`` is in
    seconds since the measurement began."""

    scheme: str
    block: int
    began: float
    seconds: float
    value: float | None
    problem: str | None
    answer: str | None
    bindings: tuple[RankAccount, ...]
    left: tuple[str, ...] = ()


@dataclass
class SchemeRuns:
    """A scheme with what was measured of it. ``same_as`` names the scheme that has the same binding, and was run in its place;
    ``left_out`` says why it was not run, or not to the end. ``bindings`` are those that the probe read back."""

    scheme: Scheme
    bindings: tuple[RankAccount, ...] = ()
    same_as: str | None = None
    left_out: str | None = None
    runs: list[Run] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The scheme's."""
        return self.scheme.name

    @property
    def active(self) -> bool:
        """Whether it is run."""
        return self.same_as is None and self.left_out is None

    @property
    def values(self) -> dict[int, float]:
        """The figures by block, without warm-up."""
        return {run.block: run.value for run in self.runs if run.block and run.value is not None}

    @property
    def moved(self) -> RankAccount | None:
        """The last rank that was elsewhere than the scheme had put it, where it had put them anywhere."""
        ranks = (rank for run in reversed(self.runs) for rank in run.bindings if rank.moved)
        return None if self.scheme.places is None else next(ranks, None)

    @property
    def failures(self) -> list[Run]:
        """The runs that count for nothing."""
        return [run for run in self.runs if run.problem is not None]


@dataclass
class Measured:
    """All that was measured. ``ended`` says why it stopped, in words; ``settled`` whether every comparison was settled by then."""

    plan: Plan
    schemes: list[SchemeRuns]
    seconds: float = 0.0
    ended: str = ""
    interrupted: bool = False

    def of(self, name: str) -> SchemeRuns:
        """A scheme by name, or the one that ran in its place."""
        scheme = next(each for each in self.schemes if each.name == name)
        return self.of(scheme.same_as) if scheme.same_as is not None else scheme

    @property
    def reference(self) -> SchemeRuns:
        """What the others are compared with."""
        return self.of(self.plan.reference)

    @property
    def compared(self) -> list[SchemeRuns]:
        """Those that were run and are not the reference."""
        return [scheme for scheme in self.schemes if scheme.same_as is None and scheme is not self.reference]

    def _pairs(self, scheme: SchemeRuns) -> list[tuple[float, float]]:
        """The figures of the reference and of a scheme, by block."""
        values, other = scheme.values, self.reference.values
        return [(other[block], values[block]) for block in sorted(values.keys() & other.keys())]

    def ratios(self, scheme: SchemeRuns) -> list[float]:
        """What each pair of a scheme and the reference costs, as parts, by block."""
        less = self.plan.figure.less_is_better
        return [pairs.penalty([other], [own], less).value for other, own in self._pairs(scheme)]

    def penalty(self, scheme: SchemeRuns) -> Penalty | None:
        """What a scheme costs against the reference; None without a pair of runs."""
        found = self._pairs(scheme)
        if not found or scheme is self.reference:
            return None
        others, own = zip(*found)
        return pairs.penalty(others, own, self.plan.figure.less_is_better)

    def settled(self, scheme: SchemeRuns) -> bool:
        """Whether more runs of it would change no answer."""
        penalty = self.penalty(scheme)
        if penalty is None:
            return False
        differs = penalty.above(0.0) is not None or penalty.within(self.plan.resolution)
        if self.plan.at_most is None or scheme not in self.judged:
            return differs
        return penalty.above(self.plan.at_most) is not None

    @property
    def judged(self) -> list[SchemeRuns]:
        """The schemes that the bound speaks of and that were run; one that has the reference's binding costs nothing."""
        names = {self.of(name).name for name in self.plan.judged}
        return [scheme for scheme in self.compared if scheme.name in names]

    @property
    def answer_difference(self) -> str | None:
        """How the program's answers differ; None where they do not, or nobody asked."""
        if self.plan.answer is None:
            return None
        by_scheme = {s.name: [run.answer for run in s.runs if run.problem is None] for s in self.schemes if s.runs}
        return difference(by_scheme, self.plan.answer_within)

    @property
    def good(self) -> bool | None:
        """True: measured, and no scheme that the bound speaks of costs more than it; False: one does; None: it could not be judged.

        Without a bound it is judged whether there is anything to say: at least one comparison with an interval, and none by doubtful runs.
        """
        if self.interrupted or self.answer_difference or not any(scheme.values for scheme in self.schemes):
            return None
        bound = self.plan.at_most
        asked = self.compared if bound is None else self.judged
        # Where the program was elsewhere than the scheme, or the reference, put it, its figures are of neither.
        doubtful = self.reference.moved is not None
        penalties = [None if doubtful or scheme.moved is not None else self.penalty(scheme) for scheme in asked]
        if bound is None:
            return True if any(penalty is not None and penalty.interval is not None for penalty in penalties) else None
        if not asked:
            # The launcher's own binding may be the reference's: then there is nothing that it could cost.
            return True if any(self.of(name) is self.reference for name in self.plan.judged) else None
        above = [None if penalty is None else penalty.above(bound) for penalty in penalties]
        return False if True in above else None if None in above else True
