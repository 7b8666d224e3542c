"""What can be made of a rate's visits: figures, intervals, and the rule that says when there are enough visits.

A visit is its samples in GB/s; a run is its visits in order of time. Figures and intervals are in GB/s.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from statistics import fmean, median, stdev

Run = Sequence[Sequence[float]]
Figure = Callable[[Run], float]
Interval = tuple[float, float]

#: What a visit reached is this quantile of its samples: of four, the second highest.
OF_A_VISIT = 2 / 3
#: The plateau is this quantile of all samples.
OF_ALL = 0.9
#: A visit within this part of the best visit has reached it.
TOLERANCE = 0.003
#: So many visits have reached the best one, itself included, when there are enough.
CONFIRMED = 3
#: More visits are not made.
MOST = 8
#: No interval is narrower than this part of the figure to each side.
FLOOR = 0.002
#: Two-sided 97.5 % points of Student's t, by degrees of freedom; above the last, the last.
STUDENT = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20)
RESAMPLES = 60


def quantile(ordered: Sequence[float], part: float) -> float:
    """The quantile of ascending values, interpolated at ``part · (n − 1)``."""
    at = part * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


def pooled(run: Run) -> list[float]:
    """All samples, ascending."""
    return sorted(sample for visit in run for sample in visit)


def medians(run: Run) -> list[float]:
    """The visits' medians, ascending."""
    return sorted(median(visit) for visit in run)


def reached_by(visit: Sequence[float]) -> float:
    """What a visit reached."""
    return quantile(sorted(visit), OF_A_VISIT)


def plateau(run: Run) -> float:
    """What the path can do: of few samples in all, the second highest."""
    values = pooled(run)
    return quantile(values, min(OF_ALL, 1 - 1 / (len(values) - 1)) if len(values) > 2 else OF_ALL)


def pooled_median(run: Run) -> float:
    """What the path did."""
    return median(pooled(run))


def steadiness(run: Run) -> float:
    """What it did of what it can do."""
    return pooled_median(run) / plateau(run)


def agreeing(run: Run) -> float:
    """The median of the medians of the visits within 0.5 % of the best."""
    ordered = medians(run)
    return median(m for m in ordered if m >= ordered[-1] * 0.995)


def trimmed_top(run: Run) -> float:
    """The mean of the samples between their 80th and 95th percentile."""
    ordered = pooled(run)
    low = int(0.80 * len(ordered))
    return fmean(ordered[low : max(low + 1, math.ceil(0.95 * len(ordered)))])


def half_mode(run: Run) -> float:
    """The half-sample mode: where the samples lie closest together."""
    values = pooled(run)
    while len(values) > 3:
        half = math.ceil(len(values) / 2)
        at = min(range(len(values) - half + 1), key=lambda i: values[i + half - 1] - values[i])
        values = values[at : at + half]
    return median(values)


#: Candidates for the plateau, by name.
FIGURES: dict[str, Figure] = {
    "one visit: median": lambda run: median(run[0]),
    "visit medians: median": lambda run: median(medians(run)),
    "visit medians: 75 %": lambda run: quantile(medians(run), 0.75),
    "visit medians: second best": lambda run: medians(run)[-2 if len(run) > 1 else -1],
    "visit medians: mean of two best": lambda run: fmean(medians(run)[-2:]),
    "visit medians: those within 0.5 % of the best": agreeing,
    "visit medians: best": lambda run: medians(run)[-1],
    "best visit's 80 %": lambda run: max(map(reached_by, run)),
    "all samples: half-sample mode": half_mode,
    "all samples: median": pooled_median,
    "all samples: 80 %": lambda run: quantile(pooled(run), 0.80),
    "all samples: mean of 80 to 95 %": trimmed_top,
    "all samples: 90 %": plateau,
    "all samples: 95 %": lambda run: quantile(pooled(run), 0.95),
    "all samples: highest": lambda run: max(map(max, run)),
}


def student(degrees: int) -> float:
    """Student's t for a two-sided 95 %."""
    return STUDENT[min(degrees, len(STUDENT)) - 1]


def jackknife(run: Run, figure: Figure) -> float:
    """Half the width of the interval from leaving out one visit after the other; needs two."""
    n = len(run)
    left = [figure([*run[:i], *run[i + 1 :]]) for i in range(n)]
    middle = fmean(left)
    return student(n - 1) * math.sqrt((n - 1) / n * sum((value - middle) ** 2 for value in left))


def upper_half(run: Run) -> float:
    """From what the median visit reached (of an even number the lower) to what the best one did."""
    ordered = sorted(map(reached_by, run))
    return ordered[-1] - ordered[(len(ordered) - 1) // 2]


def plateau_interval(run: Run) -> Interval:
    """The interval of the plateau: the widest of jackknife, upper half and floor to each side; needs two visits."""
    figure = plateau(run)
    half = max(jackknife(run, plateau), upper_half(run), FLOOR * figure)
    return figure - half, figure + half


def median_interval(run: Run) -> Interval:
    """The interval of the median: Student's of the visit medians, at least the floor; needs two visits."""
    figure, values = pooled_median(run), medians(run)
    half = max(student(len(values) - 1) * stdev(values) / math.sqrt(len(values)), FLOOR * figure)
    return figure - half, figure + half


def student_of_visits(run: Run) -> float:
    """Half the width of Student's interval of what the visits reached."""
    return student(len(run) - 1) * stdev(map(reached_by, run)) / math.sqrt(len(run))


def _about(half: Callable[[Run], float]) -> Callable[[Run], Interval]:
    def interval(run: Run) -> Interval:
        return plateau(run) - half(run), plateau(run) + half(run)

    return interval


def bootstrap(run: Run) -> Interval:
    """Percentiles of the plateau over visits drawn with replacement; the draws are the same for the same run."""
    source = random.Random(round(1e6 * run[0][0]))
    found = sorted(plateau(source.choices(run, k=len(run))) for _ in range(RESAMPLES))
    return quantile(found, 0.025), quantile(found, 0.975)


def _best(count: int) -> Callable[[Run], Interval]:
    def interval(run: Run) -> Interval:
        ordered = sorted(map(reached_by, run))
        return ordered[-min(count, len(ordered))], max(map(max, run))

    return interval


#: Candidates for the plateau's interval, by name; each is widened to the floor.
INTERVALS: dict[str, Callable[[Run], Interval]] = {
    "one visit's range": lambda run: (min(run[0]), max(run[0])),
    "second best visit to highest sample": _best(2),
    "third best visit to highest sample": _best(3),
    "bootstrap over visits": bootstrap,
    "Student of what visits reached": _about(student_of_visits),
    "upper half of visits": _about(upper_half),
    "jackknife over visits": _about(lambda run: jackknife(run, plateau)),
    "the greater of the last two": plateau_interval,
}


def floored(interval: Interval, figure: float) -> Interval:
    """At least the floor to each side of the figure."""
    return min(interval[0], figure * (1 - FLOOR)), max(interval[1], figure * (1 + FLOOR))


def visits_needed(run: Run, tolerance: float, least: int, confirmed: int) -> tuple[int, bool]:
    """After how many visits `confirmed` of them lie within `tolerance` of the best, and whether they ever did.

    At least `least` visits are made, at most as many as the run has.
    """
    seen: list[float] = []
    for visit in run:
        seen.append(reached_by(visit))
        if len(seen) >= least and sum(one >= max(seen) * (1 - tolerance) for one in seen) >= confirmed:
            return len(seen), True
    return len(seen), False
