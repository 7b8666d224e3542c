"""The numbers that a diagnosis rests on, each with its unit and reason (docs/reference/thresholds.md is made from this file)."""

from __future__ import annotations

# --- Diagnosis: what is slow ---

#: Standard deviations; part of the figure · A figure is bad that is further below healthy than both.
BAD_SIGMAS, BAD_PART = 5.0, 0.02
#: Standard deviation of a figure's logarithm · From run to run of one healthy machine, at least.
RUN_TO_RUN = 0.005
#: The same, by the number of machines that were measured · Between healthy machines, at least: those with H200s differ by 2 to 3 %; how
#: much those of a site do is estimated from several, and believed from the fifth on.
MACHINE_TO_MACHINE = (0.025, 0.021, 0.0175, 0.014, 0.01)
#: The same · How far a prediction may be off: capacities, and what is predicted of them.
MISFIT = 0.03
#: Part of 1 · How unequally flows may share a capacity.
SHARING = 0.10
#: Figures · So many of one kind are siblings.
LEAST_SIBLINGS = 3
#: Difference of logarithms · A cell that is not slow is left out where the model of the healthy node is further off its healthy total.
UNLIKE = 0.25

# --- Diagnosis: which parts ---

#: Score · So much better must a set of parts be than the best with a part less, and a direction that was taken out: of a set that is right
#: the score is about the number of figures.
NEEDED = 25.0
#: Score · A set of the same size that is worse by less is not told apart from the best.
APART = 6.0
#: Score · A second part is looked for where some part takes so much from what the first leaves.
WORTH_A_SECOND = 10.0
#: Part of its healthy rate · A part that kept more is not called degraded.
SLIGHT = 0.98
#: Score · Of 95 %: so much better than the best of a size the scores of an interval may be (chi-square, one degree of freedom).
INTERVAL = 3.84
#: Part of its healthy rate · A part is named whose interval of 95 % ends below SLIGHT and is no wider.
WIDEST = 0.3
#: Part of a figure's fall, as logarithms · A figure is explained where the parts predict so much of it, and nothing else stays far off.
MOSTLY = 0.5
#: Part of the slow cells · Where siblings alone say what is healthy, or other sets are as likely, parts must explain more.
LEAST_EXPLAINED = 0.5

# --- Diagnosis: what a whole direction lost ---

#: GPUs · With fewer it cannot be told from a fault of a link.
LEAST_GPUS = 2
#: Part of the figures · What all lost alike is taken out between these: less blames no part; paths that lost more want an inspection,
#: however many fell together.
LEAST_COMMON, MOST_COMMON = 0.01, 0.10
#: Part of the figures · Paths that differ by less are alike: four standard deviations of a ratio of two runs.
NEAR = 0.03
