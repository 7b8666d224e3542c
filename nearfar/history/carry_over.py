"""By what a figure of other software is multiplied to be held beside one of now: the fleet's common shifts, one after the other. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nearfar.verdict import thresholds

from .fleet_shift import FleetShift, changed_words

#: The software of a figure, as far as it is known: pairs of name and version.
Stamp = frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Carry:
    """``factor`` of a figure, and by which part of it that may be off."""

    factor: float
    doubt: float


class CarryOver:
    """What the shifts of one row give for figures that are held beside one with the software ``now``; of the stamps the keys of ``now``
    count alone."""

    def __init__(self, now: Mapping[str, str], shifts: Sequence[FleetShift]) -> None:
        self._names = now.keys()
        self.now = self.stamp(now)
        self._ways: dict[Stamp, list[tuple[Stamp, Carry]]] = {}
        for shift in shifts:
            before, after = self.stamp(shift.before), self.stamp(shift.after)
            doubt = (shift.high - shift.low) / 2 / (1 + shift.part)
            self._ways.setdefault(after, []).append((before, Carry(1 + shift.part, doubt)))
            self._ways.setdefault(before, []).append((after, Carry(1 / (1 + shift.part), doubt)))
        self._found = self._walked()

    def stamp(self, software: Mapping[str, str | None]) -> Stamp:
        """The part of a software stamp that counts."""
        return frozenset((name, value) for name, value in software.items() if name in self._names and value is not None)

    def of(self, stamp: Stamp) -> Carry | None:
        """For figures with other software; None where no shift leads from it to now."""
        return self._found.get(stamp)

    def _walked(self) -> dict[Stamp, Carry]:
        """By the least number of shifts."""
        carries = {self.now: Carry(1.0, 0.0)}
        waiting = deque([self.now])
        while waiting:
            here = waiting.popleft()
            for there, step in self._ways.get(here, ()):
                if there not in carries:
                    carries[there] = Carry(carries[here].factor * step.factor, carries[here].doubt + step.doubt)
                    waiting.append(there)
        return carries

    def words(self, stamp: Stamp) -> str:
        """What became of figures with other software: ``driver 580 -> 590: -1.5 % as the fleet``."""
        changed = changed_words(dict(stamp), dict(self.now))
        carry = self.of(stamp)
        if carry is None:
            return f"{changed}: begun anew, as no shift that {thresholds.FEWEST_NODES} nodes have in common is known"
        return f"{changed}: its nights before are carried over by the fleet's {100 * (carry.factor - 1):+.1f} %"
