"""Every number that a verdict rests on: its unit or kind, why it is so, and where it comes from (docs/reference/thresholds.md is made
from this file)."""

from __future__ import annotations

# --- Limits of tuned references (nearfar tune) ---

#: Part of the value · Standard deviation from host to host by kind of figure, before any host is measured: the spread of a GPU model
#: carries over between sites, its mean does not. `spread` of a file of site/gpus/ overrides it by model.
#: Lone copies of H100s and H200s differ by 0.2 to 0.5 % between machines, GPU memory kernels by 0.1 to 2 %, host STREAM by up to 9 % on
#: shared hosts (docs/method/limits.md).
SPREAD = {
    "lone": 0.006, "gpu": 0.006, "windowed": 0.012, "stream": 0.012, "latency": 0.03, "percentile": 0.2, "worst": 0.3,
}  # fmt: skip
#: Hosts · What is known of the spread weighs as much as so many hosts: three hosts do not know their own spread.
SPREAD_WEIGHT = 20
#: Degrees of freedom · Student's t, whose tail stands for the tails that healthy figures have; with the normal one healthy nodes fail.
TAIL_FREEDOM = 12
#: Part of the value · No FAIL bound is nearer: one NVLink lane of 18 (5.6 %) and one memory channel of eight (12.5 %) lie beyond it, a
#: healthy host of a pool that is steadier than the next does not.
FAIL_FLOOR = {
    "lone": 0.045, "gpu": 0.035, "windowed": 0.07, "stream": 0.10, "latency": 0.15, "percentile": 1.0, "worst": 1.0,
}  # fmt: skip
#: Part of the value · No DEGRADED bound is nearer.
DEGRADED_FLOOR = {
    "lone": 0.03, "gpu": 0.02, "windowed": 0.05, "stream": 0.07, "latency": 0.10, "percentile": 1.0, "worst": 1.0,
}  # fmt: skip
#: Part of the value · Beyond it something is certainly broken, however much healthy figures differ: half of a link among others.
CERTAINLY_BROKEN = {
    "lone": 0.4, "gpu": 0.4, "windowed": 0.4, "stream": 0.4, "latency": 0.8, "percentile": 7.0, "worst": 15.0,
}  # fmt: skip
#: Times the median transfer · The slowest of many transfers is DEGRADED from at most the first on, FAIL from between the other two:
#: 1.04 to 1.10 were measured on H200s of a shared host, 16 were published.
WORST_DEGRADED, WORST_FAIL = 8.0, (12.0, 16.0)
#: Part of the hosts · Where more are better than the median by more than the FAIL bound, the others may be broken: no limit is made.
MOST_BETTER = 0.3
#: Part of the runs · Where more runs of healthy hosts are certainly broken by the median, that is a state of theirs, and no limit is made.
SELDOM = 0.01
