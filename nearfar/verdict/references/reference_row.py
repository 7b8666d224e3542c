"""One row of a reference file: what a figure should be, of which check and GPU model, and where the row stands."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nearfar.cells import split_class

#: Check, GPU model (None: the rows of the check are not listed by model), name of the row.
RowPlace = tuple[str, "str | None", str]

#: The classes of paths to the host: theirs is the link that a figure is the rate of.
_HOST_CLASSES = ("near", "on_socket", "off_socket", "sole", "unknown")


@dataclass(frozen=True)
class ReferenceRow:
    """``name: [value, lower, upper, unit]``. ``lower`` and ``upper`` are fractions of ``value``, as YAML and ReFrame have them
    (None: no bound).

    ``model`` is the key of the GPU model as the file has it, an exact name or an expression. ``provenance`` is what the file's
    provenance says of this row alone. ``file`` and ``line`` say where the row stands; None and 0 for one that is not written yet.
    """

    check: str
    model: str | None
    name: str
    value: float
    lower: float | None
    upper: float | None
    unit: str
    provenance: Mapping[str, Any] = field(default_factory=dict, compare=False)
    file: Path | None = field(default=None, compare=False)
    line: int = field(default=0, compare=False)

    @property
    def place(self) -> RowPlace:
        """What tells rows of a file apart."""
        return self.check, self.model, self.name

    @property
    def steps(self) -> tuple[str, ...]:
        """The keys that lead to it in its file."""
        return tuple(step for step in self.place if step is not None)

    @property
    def path_class(self) -> str:
        """``off_socket`` of ``off_socket_over_near.h2d``."""
        return split_class(self.name.partition(".")[0])[0]

    @property
    def question(self) -> str:
        """What is asked of the path where it is not the rate: ``over_near`` of ``off_socket_over_near.h2d``; else empty."""
        return split_class(self.name.partition(".")[0])[1]

    @property
    def figure(self) -> str:
        """The name without path class and question: ``h2d`` of ``off_socket_over_near.h2d``."""
        return self.name.partition(".")[2]

    @property
    def lowest(self) -> float | None:
        """The least good value, in ``unit``, by the same arithmetic as ReFrame's."""
        return None if self.lower is None else self.value * (1 + self.lower)

    @property
    def highest(self) -> float | None:
        """The greatest good value, in ``unit``."""
        return None if self.upper is None else self.value * (1 + self.upper)

    @property
    def degraded(self) -> float | None:
        """The DEGRADED bound of a row from few nodes, as a part of ``value``, below it or (above 0) above it; None where the
        file says none."""
        found = self.provenance.get("degraded")
        return None if found is None else float(found)

    def stamp(self, tuned: Mapping[str, Any]) -> dict[str, str]:
        """The software that it was tuned with, by name, empty where nothing says so: what the provenance says of the row, else what it
        says of all rows (``tuned``)."""
        own: Mapping[str, Any] = {**tuned, **self.provenance}.get("stamp") or {}
        return {key: str(version) for key, version in own.items() if version is not None}

    @property
    def accepted(self) -> float:
        """The last value that an administrator accepted, or that was better; the row's own where the file says none."""
        return float(self.provenance.get("accepted", self.value))

    def fail_bound(self, less_is_better: bool) -> float | None:
        """Where FAIL begins on the worse side, in ``unit``."""
        return self.highest if less_is_better else self.lowest

    def accepted_bound(self, less_is_better: bool) -> float | None:
        """The FAIL bound that an administrator accepted last, or that was nearer; the row's own where the file says none."""
        found = self.provenance.get("accepted_bound")
        return self.fail_bound(less_is_better) if found is None else float(found)

    @property
    def inner(self) -> tuple[float | None, float | None]:
        """The lower and upper bound, as parts of ``value``, within which a figure is neither FAIL nor DEGRADED."""
        if self.degraded is None:
            return self.lower, self.upper
        return (self.lower, self.degraded) if self.degraded_above else (self.degraded, self.upper)

    @property
    def as_expected(self) -> tuple[float | None, float | None]:
        """The same bounds in ``unit``."""
        lower, upper = self.inner
        return None if lower is None else self.value * (1 + lower), None if upper is None else self.value * (1 + upper)

    @property
    def degraded_above(self) -> bool:
        """Whether the DEGRADED bound is one from above; one of 0 is on the side that has a FAIL bound."""
        return self.degraded is not None and (self.degraded > 0 or (self.degraded == 0 and self.lower is None))

    @property
    def misplaced(self) -> str | None:
        """What is wrong with its DEGRADED bound, in words; None where nothing is, or it has none."""
        degraded = self.degraded
        if degraded is None:
            return None
        bound, side = (self.upper, "upper") if self.degraded_above else (self.lower, "lower")
        if bound is None:
            return f"degraded: {degraded:g} needs the {side} bound that it is inside of, and the row has none"
        if not math.isfinite(degraded):
            return f"degraded: {degraded} is not a finite number; -0.02 is 2 % below the value"
        if abs(degraded) > abs(bound):
            return f"degraded: {degraded:g} is outside of the row's own bound {bound:g}, beyond which it is FAIL; swap them"
        return None

    @property
    def values(self) -> list[float | str | None]:
        """As the file has them: ``[value, lower, upper, unit]``."""
        return [self.value, self.lower, self.upper, self.unit]

    @property
    def expected_unit(self) -> str | None:
        """The unit that the name asks for; None where it does not say."""
        if self.question.startswith("latency"):
            return "us"
        if self.question == "over_near":
            return "1"
        return "GB/s" if not self.question and _directions(self.figure) else None

    @property
    def host_directions(self) -> int:
        """How many directions of a host link the figure is the sum of; 0 for ratios and other rows."""
        return _directions(self.figure) if self.path_class in _HOST_CLASSES and not self.question else 0


def place_key(place: RowPlace) -> str:
    """A place as the provenance names it: ``check/model/row``."""
    return "/".join(step for step in place if step is not None)


def row_name(path_class: str, question: str, figure: str) -> str:
    """``off_socket_over_near.h2d`` from ``off_socket``, ``over_near`` and ``h2d``."""
    return f"{path_class}{'_' if question else ''}{question}.{figure}"


def _directions(figure: str) -> int:
    if figure == "both.total":
        return 2
    return 1 if figure in ("h2d", "d2h", "both.h2d", "both.d2h") else 0
