"""What is asked, and what was measured of each scheme: runs, pairs, what is settled. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from nearfar.mpi import RankAccount

from . import pairs
from .figure import FigureOfMerit
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
        if self.plan.at_most is None or scheme.name not in {self.of(name).name for name in self.plan.judged}:
            return differs
        return penalty.above(self.plan.at_most) is not None
