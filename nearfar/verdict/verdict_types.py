"""A verdict as everybody reads it, whole: what ``verdict.json`` holds (docs/reference/verdict.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from nearfar.base import Finding, good
from nearfar.cells import Cell, CellError, Flow, parse
from nearfar.measurement import EXPLAINING, BaseMetric, Unmeasured

from .messages import JUDGED_ELSEWHERE
from .references import WIDENED, figure, more_digits, with_unit


@dataclass(frozen=True)
class JudgedReference:
    """What a figure should have been, in ``unit``: ``lowest`` and ``highest`` are the bounds in force (None: no bound). ``file``
    has the row, where it comes from one; ``stale``: tuned with other software; ``stale_bounds`` says how it judged then (``moved`` with
    its fleet, ``widened``; in older files ``as tuned``)."""

    value: float
    lowest: float | None
    highest: float | None
    unit: str
    origin: str
    note: str
    stale: bool
    file: str | None = None
    stale_bounds: str | None = None


@dataclass(frozen=True)
class PastRuns:
    """The same figure in the first ``n`` healthy nights of the node; ``since``: the day of the first, as 2026-11-01.

    ``worse``: how it is worse than that now: ``night``, ``step``, ``drift``, None: it is not. ``note``: what alike figures of the node
    lost as well, and what software has changed.
    """

    median: float
    n: int
    since: str
    worse: str | None = None
    note: str | None = None

    def to_raw(self) -> dict[str, object]:
        """As ``verdict.json`` has it."""
        return {key: value for key, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class FigureLook:
    """One time that a figure was measured: ``value`` in its unit (None: it was not measured), ``time`` in UTC as
    2026-11-20T09:00:00Z, ``beyond``: whether it lay outside the bounds (None: it could not be said, ``why``)."""

    value: float | None
    time: str
    beyond: bool | None
    why: str | None = None


@dataclass(frozen=True, kw_only=True)
class JudgedMetric(BaseMetric):
    """A metric with all that is known of it. Values are in ``unit``."""

    #: None: it was no number.
    value: float | None
    #: The cell, or what is no cell, as the document has it.
    subject: str
    #: The flow of a cell of several that it belongs to.
    flow: Flow | None
    #: What is asked of the path class: ``h2d``, ``both.total``.
    question: str
    #: Those of the flow, or of the cell.
    gpus: tuple[int, ...]
    #: What moved the bytes: ``ce``, ``sm``, ``cpu`` or ``mpi``.
    engine: str
    #: Names of references that may speak of it, the most precise first.
    rows: tuple[str, ...]
    #: Whether heat or power held down the clocks of a GPU.
    throttled: bool
    #: Whether other load used the same paths or cores.
    contended: bool
    reference: JudgedReference | None
    degraded_below: float | None
    degraded_above: float | None = None
    #: The same figure in the node's history.
    baseline: PastRuns | None
    verdict: str
    #: Code and text of the ``Message`` of its verdict; none where it passed.
    reason: str | None
    code: str = ""
    #: All the times that it was measured, the first first, where it was measured again, as it lay beyond a bound or did not settle.
    looks: tuple[FigureLook, ...] = ()
    #: What disturbed it: ``cpus``, ``steal``, ``gpu``, ``host``; None: nothing.
    disturbance: str | None = None

    def judged_as(self, finding: Finding, **changes: Any) -> JudgedMetric:
        """The same with the verdict, reason and code of a finding."""
        return replace(self, verdict=finding.verdict, reason=finding.reason, code=finding.code, **changes)

    @property
    def cell(self) -> Cell | None:
        """The cell that it is of; None where it is of something else."""
        return cell_of(self.subject)

    @property
    def passed(self) -> bool:
        """Whether it was judged and is inside its bounds. Bounds that were only widened, because the software is another and nobody
        knows yet what it does, do not count."""
        return self.reference is not None and self.reference.stale_bounds != WIDENED and good(self.verdict)

    @property
    def intermittent(self) -> bool:
        """Whether it lay beyond its bound once, and was within it most of the times."""
        beyond, within = (sum(look.beyond is which for look in self.looks) for which in (True, False))
        return 0 < beyond <= within and within > 1

    @property
    def full_reason(self) -> str:
        """The reason, with all looks where several found it beyond its bound."""
        confirmed = self.looks and self.verdict == "FAIL"
        return f"{self.reason or ''}; {self.looks_words}" if confirmed else self.reason or ""

    @property
    def looks_words(self) -> str:
        """``3 measurements: 31.2, 31.0, 31.1 GB/s, all beyond 50.0 GB/s``."""
        values = [look.value for look in self.looks if look.value is not None]
        unit = "" if self.unit == "1" else f" {self.unit}"
        beyond = sum(look.beyond is True for look in self.looks)
        how = "all" if beyond == len(self.looks) else f"{beyond} of {len(self.looks)}"
        bound = None
        if self.reference is not None:
            lowest = self.reference.lowest
            bound = lowest if any(lowest is not None and value < lowest for value in values) else self.reference.highest
        more = more_digits(values, [bound], self.unit)
        shown = ", ".join(figure(value, self.unit, more=more) for value in values)
        where = "its bound" if bound is None else with_unit(bound, self.unit, more=more)
        return f"{len(self.looks)} measurements: {shown}{unit}, {how} beyond {where}"

    @property
    def finding(self) -> Finding:
        """Its verdict as a finding."""
        fields = {
            "cell": self.subject,
            "class": self.class_in_name,
            "value": self.value,
            "limit": self._limit,
            "unit": self.unit,
        }
        known = {key: value for key, value in fields.items() if value is not None}
        return Finding(self.name, self.verdict, self.full_reason, code=self.code, fields=known)

    @property
    def _limit(self) -> float | None:
        """The bound that it is outside of; None where it is inside or there is none."""
        if self.verdict == "DEGRADED":
            above, value = self.degraded_above, self.value
            return above if above is not None and value is not None and value > above else self.degraded_below
        reference, value = self.reference, self.value
        if reference is None or value is None:
            return None
        low, high = reference.lowest, reference.highest
        return low if low is not None and value < low else high if high is not None and value > high else None

    @property
    def bounded(self) -> bool:
        """Whether its reference has a bound; without one there is nothing to pass."""
        if self.reference is None:
            return False
        bounds = self.reference.lowest, self.reference.highest, self.degraded_below, self.degraded_above
        return any(bound is not None for bound in bounds)

    @property
    def unlimited(self) -> bool:
        """Whether it was tuned, and healthy figures differ too much for any bound."""
        return self.reference is not None and self.reference.origin == "tuned" and not self.bounded

    @property
    def judged_elsewhere(self) -> bool:
        """Whether another figure judges the same fact."""
        return self.code == JUDGED_ELSEWHERE.code

    @property
    def explains(self) -> bool:
        """Whether this only explains others, and was never to be judged."""
        return self.judged_elsewhere or (self.quantity in EXPLAINING and not self.bounded)


@dataclass(frozen=True)
class MeasuredGpu:
    """A board as the document names it; None where the program did not say."""

    index: int
    pci: str | None
    name: str | None
    uuid: str | None
    serial: str | None


@dataclass(frozen=True)
class MeasurementInfo:
    """What the measurement document says of itself. ``mpi``: the library of figures that are MPI's, empty where it is not named;
    None for other programs. ``seconds``: how long it took. ``quick``: a quick look."""

    kind: str
    hostname: str | None
    product: str | None
    node_type: str | None
    program: str | None
    version: str | None
    quick: bool
    started: str | None
    seconds: float | None
    mpi: str | None
    gpus: tuple[MeasuredGpu, ...]


@dataclass(frozen=True)
class Verdict:
    """What one check says of one node.

    ``missing``: asked for, and nothing is said about it; ``failed`` and ``skipped`` as the program said; ``left_out``: never asked for.
    ``measurement``: None where there was no document. ``references`` are the files of the rows that were used; ``software`` the versions
    that the program named. ``by_itself``: the verdict before the other checks of the run were known, as ReFrame has it, where they changed
    it. ``document`` is the measurement document without its samples, for whoever shows the run; empty where there was none.
    """

    check: str
    system: str
    partition: str
    environ: str
    node: str
    kind: str
    time: str
    verdict: str
    reasons: tuple[str, ...]
    metrics: tuple[JudgedMetric, ...]
    findings: tuple[Finding, ...]
    missing: tuple[str, ...]
    failed: tuple[Unmeasured, ...]
    skipped: tuple[Unmeasured, ...]
    left_out: tuple[Unmeasured, ...]
    measurement: MeasurementInfo | None
    references: tuple[str, ...]
    software: Mapping[str, str]
    by_itself: str | None = None
    document: Mapping[str, Any] = field(default_factory=dict)

    @property
    def unmeasured(self) -> tuple[Unmeasured, ...]:
        """What was skipped, and what was never asked for, each cell once."""
        said = {entry.cell for entry in self.skipped}
        return (*self.skipped, *(entry for entry in self.left_out if entry.cell not in said))


@lru_cache(maxsize=8192)
def cell_of(text: str) -> Cell | None:
    """The cell that ``text`` names; None where it names none (MPI and kernels have subjects of other kinds)."""
    try:
        return parse(text)
    except CellError:
        return None
