"""From measured cells to the parts that are degraded, with what they explain."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from nearfar.base import CouldNotJudge, Finding
from nearfar.cells import Cell
from nearfar.model.calibration import CLASS, MeasuredCell, calibrate
from nearfar.model.prediction import CompiledCell, NodeType, check_endpoints, known_values, with_host_peers

from . import thresholds
from .common_change import separate
from .healthy import Healthy, HealthyRuns, as_measured, from_itself, from_runs, sigmas
from .parts import DegradedPart, bridge_of_links, parts_of
from .responses import Responses, log_ratios
from .search import Fit, Search


@dataclass(frozen=True)
class SlowCell:
    """A cell that falls short: its worst figure ÷ healthy, and whether the blamed parts explain it."""

    cell: Cell
    ratio: float
    explained: bool


@dataclass(frozen=True)
class LowCell:
    """A cell below healthy by no more than what is uncertain: its worst figure ÷ healthy; below ``bad_below`` it were bad."""

    cell: Cell
    ratio: float
    bad_below: float


@dataclass(frozen=True)
class Diagnosis:
    """``sets`` of parts that explain equally well, the best first; none where no set does, or nothing is bad.

    ``bad`` are the cells that fall short, ``compared`` how many were looked at, ``origins`` where their healthy figures
    are from, ``left_out`` the cells that could not be compared. ``undetermined`` are sets that would explain what is slow, of
    which nobody can say by how much their parts are degraded: none of them is named then. ``lowest``: where no cell is bad, the one
    that is furthest below healthy by more than ``BAD_PART``. ``common``: a finding for each direction that all GPUs lost alike; it is
    taken out of all of the above.
    """

    sets: tuple[tuple[DegradedPart, ...], ...]
    bad: tuple[SlowCell, ...]
    compared: int
    origins: Mapping[str, int]
    left_out: tuple[Cell, ...]
    undetermined: tuple[tuple[DegradedPart, ...], ...] = ()
    lowest: LowCell | None = None
    common: tuple[Finding, ...] = ()

    @property
    def degraded(self) -> bool:
        """Whether anything is wrong."""
        return bool(self.sets or self.bad)

    @property
    def undecided(self) -> bool:
        """Whether what falls short only does so beside its siblings, and no part explains it: GPUs may differ by design."""
        return bool(self.bad) and not self.sets and set(self.origins) == {"siblings"}

    @property
    def unexplained(self) -> tuple[SlowCell, ...]:
        """The bad cells that no blamed part explains."""
        return tuple(cell for cell in self.bad if not cell.explained)


def diagnose(
    node_type: NodeType,
    cells: Sequence[MeasuredCell],
    healthy_run: HealthyRuns | Sequence[MeasuredCell] = (),
    tuned: Mapping[Cell, Healthy] | None = None,
) -> Diagnosis:
    """The smallest set of degraded parts that explains what is slow in ``cells``.

    Healthy figures are those of ``healthy_run`` (runs in good state; a bare sequence of cells is of this node; a cell may
    occur in several); without them the site's references (``tuned``), those of siblings, and where there are none what the
    node type predicts.
    """
    runs = healthy_run if isinstance(healthy_run, HealthyRuns) else HealthyRuns(tuple(healthy_run))
    for measured in (*cells, *runs.cells):
        check_endpoints(node_type.node, measured.cell, f"node type {node_type.name}")
    healthy = from_runs(runs) if runs.cells else {**from_itself(cells, node_type), **(tuned or {})}
    compared = [measured for measured in cells if measured.cell in healthy]
    if not compared:
        raise CouldNotJudge(
            "no figure has a healthy one to compare it with: give nearfar diagnose a healthy run (--healthy) or a node type with capacities"
        )
    model = with_host_peers(_model(node_type, healthy))
    known = known_values(model)
    compared = [
        measured
        for measured in compared
        if _is_slow(measured, healthy[measured.cell]) or _follows(model, known, healthy[measured.cell], measured.cell)
    ]
    uncertainties = {measured.cell: sigmas(measured, healthy[measured.cell]) for measured in compared}
    responses = Responses(model, [measured.cell for measured in compared], parts_of(model), sigmas=uncertainties)
    by_cell = {measured.cell: measured for measured in compared}
    observed = [
        log for cell in responses.cells for log in log_ratios(by_cell[cell.cell].rates, healthy[cell.cell].rates)
    ]
    search = Search(responses)
    separated = separate(search, observed)
    fits_found, observed = separated.fits, list(separated.observed)
    best = fits_found.best
    bad = _bad(responses, observed, search, best)
    explained = sum(measured.explained for measured in bad)
    only_siblings = all(healthy[cell.cell].origin == "siblings" for cell in responses.cells)
    if not explained or ((only_siblings or fits_found.rivals) and explained <= thresholds.LEAST_EXPLAINED * len(bad)):
        # It would be a compromise between figures that nothing explains, or that differ by design.
        best = replace(best, parts=(), factors=(), intervals=())
        bad = [replace(measured, explained=False) for measured in bad]
    fits = (best, *fits_found.rivals) if best.parts else ()
    sets = tuple(_blames(responses, fit) for fit in fits)
    sure = [_certain_parts(fit, blames) for fit, blames in zip(fits, sets)]
    sure = [fit for fit in sure if not any(set(other.parts) < set(fit.parts) for other in sure)]
    certain = all(fit.parts for fit in sure)
    if not certain:
        bad = [replace(measured, explained=False) for measured in bad]
    elif sure and sure[0] != best:
        bad = _bad(responses, observed, search, sure[0])
    return Diagnosis(
        sets=tuple(
            bridge_of_links(blames, model, [one.cell for one in bad])
            for blames in {fit.parts: _blames(responses, fit) for fit in sure}.values()
        )
        if certain
        else (),
        bad=tuple(bad),
        compared=len(responses.cells),
        origins=Counter(healthy[cell.cell].origin for cell in responses.cells),
        left_out=tuple(m.cell for m in cells if m.cell not in by_cell or m.cell in responses.left_out),
        undetermined=() if certain else sets,
        lowest=None if bad else _lowest(responses, observed),
        common=separated.findings,
    )


def _certain_parts(fit: Fit, blames: Sequence[DegradedPart]) -> Fit:
    """The fit with those of its parts whose factors are known."""
    kept = [place for place, blame in enumerate(blames) if blame.certain]
    return replace(
        fit,
        parts=tuple(fit.parts[place] for place in kept),
        factors=tuple(fit.factors[place] for place in kept),
        intervals=tuple(fit.intervals[place] for place in kept),
    )


def _lowest(responses: Responses, observed: Sequence[float]) -> LowCell | None:
    """The cell that is furthest below healthy, by more than ``BAD_PART``."""
    worst: tuple[float, float, Cell] | None = None
    for cell, place in zip(responses.cells, responses.place):
        at = slice(place.start, place.stop)
        for log, sigma in zip(_own(observed[at]), _own_deviations(responses.sigmas[at])):
            if log < -thresholds.BAD_PART and (worst is None or log < worst[0]):
                worst = log, sigma, cell.cell
    if worst is None:
        return None
    log, sigma, name = worst
    return LowCell(name, math.exp(log), math.exp(-thresholds.BAD_SIGMAS * sigma))


def _model(node_type: NodeType, healthy: Mapping[Cell, Healthy]) -> NodeType:
    """The node type as healthy figures calibrate it; what they do not say stays as it is. A capacity that may be what limits some cells
    has that value if more cells of several flows are as healthy then."""
    if not any(cell.lone for cell in healthy):
        return node_type
    calibration = calibrate(node_type, as_measured(healthy))
    calibrated = calibration.node_type
    capacities = {
        name: node_type.capacities.get(name, capacity) if capacity.value is None else capacity
        for name, capacity in calibrated.capacities.items()
    }
    model = replace(calibrated, capacities=capacities, caps={**node_type.caps, **calibrated.caps})
    unsure = {
        name: each.low for name, each in calibration.estimates.items() if each.kind == CLASS and name in capacities
    }
    if not unsure:
        return model
    filled = {name: replace(capacities[name], value=low, source="healthy figures") for name, low in unsure.items()}
    sure = replace(model, capacities={**capacities, **filled})
    several = [cell for cell in healthy if not cell.lone and all(flow.kind == "host" for flow in cell.flows)]

    def follow(one: NodeType) -> int:
        known = known_values(one)
        return sum(_follows(one, known, healthy[cell], cell) for cell in several)

    return sure if follow(sure) > follow(model) else model


def _is_slow(measured: MeasuredCell, healthy: Healthy) -> bool:
    return any(rate < (1 - thresholds.BAD_PART) * well for rate, well in zip(measured.rates, healthy.rates))


def _follows(model: NodeType, known: Mapping[str, float], healthy: Healthy, cell: Cell) -> bool:
    """Whether the model of the healthy node has about the cell's healthy total. Where a shared capacity is not known, it has more, and
    a degraded part would seem to slow what that capacity limits."""
    total = sum(CompiledCell(cell, model).rates(known))
    return not math.isfinite(total) or abs(math.log(total / sum(healthy.rates))) < thresholds.UNLIKE


def _blames(responses: Responses, fit: Fit) -> tuple[DegradedPart, ...]:
    blames = []
    for part, factor, (low, high) in zip(fit.parts, fit.factors, fit.intervals):
        worth = responses.worth(part)
        well = {name: value for name, (value, _) in worth.items()}
        now = {name: value * factor for name, value in well.items()}
        unknown = tuple(name for name, (_, known) in worth.items() if not known)
        blames.append(DegradedPart(responses.parts[part], factor, low, high, now, well, unknown))
    return tuple(blames)


def _bad(responses: Responses, observed: Sequence[float], search: Search, fit: Fit) -> list[SlowCell]:
    """The cells with a figure far below healthy, and whether the parts of ``fit`` explain them."""
    predicted, left = search.predicted(fit), search.residuals(observed, fit)
    slow = []
    for cell, place in zip(responses.cells, responses.place):
        at = slice(place.start, place.stop)
        deviations = responses.sigmas[at]
        rows = list(zip(_own(observed[at]), _own(predicted[at]), _own_deviations(deviations)))
        bad = [
            (log, expected)
            for log, expected, sigma in rows
            if log < -thresholds.BAD_SIGMAS * sigma and log < -thresholds.BAD_PART
        ]
        if bad:
            near = all(
                abs(z) < thresholds.BAD_SIGMAS or abs(y - expected) < thresholds.BAD_PART
                for z, y, expected in zip(left[at], observed[at], predicted[at])
            )
            most = all(expected <= thresholds.MOSTLY * log for log, expected in bad)
            slow.append(SlowCell(cell.cell, math.exp(min(log for log, _ in bad)), near and most))
    return slow


def _own(logs: Sequence[float]) -> list[float]:
    """The figures of a cell with each flow's own instead of the one beside the total's."""
    return [*logs[:1], *(log + logs[0] for log in logs[1:])]


def _own_deviations(sigmas: Sequence[float]) -> list[float]:
    return [*sigmas[:1], *(math.hypot(sigma, sigmas[0]) for sigma in sigmas[1:])]
