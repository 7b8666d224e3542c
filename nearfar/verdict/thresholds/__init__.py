"""Every number that a verdict rests on: its unit or kind, why it is so, and where it comes from (docs/reference/thresholds.md is made
from this file).

Needs: nothing of the package.
"""

from __future__ import annotations

# --- Limits of tuned references (nearfar tune) ---

#: Part of the value · Standard deviation from host to host by kind of figure, before any host is measured: the spread of a GPU model
#: carries over between sites, its mean does not. `spread` of a file of site/gpus/ overrides it by model.
#: Measured on six machines with H100s and H200s: lone copies with the host 0.3 % (one pair of machines 1.2 % apart), over NVLink 0.02 %,
#: GPU memory kernels 0.02 to 1.1 %, single-precision products 0.2 to 0.35 %, double-precision and bf16 products, which run at the power
#: limit, 1.2 to 1.7 %; copies of pageable memory differ by 16 to 26 % from run to run, as a CPU drives them (benchmarks/studies/limits.md).
SPREAD = {
    "lone": 0.0045, "nvlink": 0.003, "gpu": 0.006, "fp32": 0.0045, "power": 0.014, "windowed": 0.012, "pageable": 0.05, "stream": 0.012,
    "latency": 0.03, "percentile": 0.2, "worst": 0.3,
}  # fmt: skip
#: Hosts · What is known of the spread weighs as much as so many hosts: three hosts do not know their own spread.
SPREAD_WEIGHT = 20
#: Part of the spread of runs · What is beyond a limit is measured twice more and judged by the middle one: that of three draws
#: of a normal distribution has so much of their spread; of runs in a row of H100s and H200s on shared hosts it has 0.6 to 0.8 of it.
MIDDLE_OF_THREE = 0.67
#: Pairs of runs · Fewer may agree by chance: the whole spread counts, and that which the intervals of single runs tell, if it is more.
LEAST_PAIRS = 6
#: Degrees of freedom · Student's t, whose tail stands for the tails that healthy figures have; with the normal one healthy nodes fail.
TAIL_FREEDOM = 12
#: Part of the value · No FAIL bound is nearer: one NVLink lane of 18 (5.6 %) and one memory channel of eight (12.5 %) lie beyond it, a
#: healthy host of a pool that is steadier than the next does not.
FAIL_FLOOR = {
    "lone": 0.055, "nvlink": 0.045, "gpu": 0.035, "fp32": 0.035, "power": 0.035, "windowed": 0.07, "pageable": 0.25, "stream": 0.10,
    "latency": 0.15, "percentile": 1.0, "worst": 1.0,
}  # fmt: skip
#: Part of the value · No DEGRADED bound is nearer.
DEGRADED_FLOOR = {
    "lone": 0.035, "nvlink": 0.035, "gpu": 0.02, "fp32": 0.02, "power": 0.02, "windowed": 0.05, "pageable": 0.15, "stream": 0.08,
    "latency": 0.10, "percentile": 1.0, "worst": 1.0,
}  # fmt: skip
#: Part of the value · Beyond it something is certainly broken, however much healthy figures differ: half of a link among others. Of the
#: worst of many transfers WORST_FAIL says it.
CERTAINLY_BROKEN = {
    "lone": 0.4, "nvlink": 0.4, "gpu": 0.4, "fp32": 0.4, "power": 0.4, "windowed": 0.4, "pageable": 0.4, "stream": 0.4, "latency": 0.8,
    "percentile": 7.0,
}  # fmt: skip
#: Times the median transfer · The slowest of many transfers is DEGRADED from at most the first on, FAIL from between the other two:
#: 1.04 to 1.10 were measured on H200s of a shared host, 16 were published.
WORST_DEGRADED, WORST_FAIL = 8.0, (12.0, 16.0)
#: Part of the hosts · Where more are better than the median by more than the FAIL bound, the others may be broken: no limit is made.
MOST_BETTER = 0.3
#: Times FAIL_FLOOR · Nodes of one delivery whose limit is farther are not alike, and say nothing of each other: of two halves at 55 and
#: 50 GB/s nobody knows which is right.
ALIKE = 2.0
#: Part of the runs · Where more runs of healthy hosts are certainly broken by the median, that is a state of theirs, and no limit is made.
SELDOM = 0.01
#: Part of the value, part of the FAIL bound · How far tunes may take either below the last one that an administrator accepted, all
#: together, a change of driver or not: steps of 1.4 %, nights of 0.1 %, and a spread that grows add up, and nobody sees each. A lost NVLink
#: lane is 5.6 %. Noisy figures have a quarter of the way to their limit, if more: tunes from two halves of the runs of shared H200 hosts
#: differ by 2 to 8 % in host memory.
ACCEPTED_LOSS = 0.02

#: Part of the way from the value to today's limit; the least way, part of the value · A new limit may be looser by so much without leave:
#: were every small step refused, the tightest of many tunes would stay.
LOOSER_STEP, LEAST_WAY = 0.25, 0.02

# --- Measured again ---

#: Times; seconds before each · How often a figure beyond its bound, or an unsettled one, is measured again: what disturbs a machine
#: outlasts the samples of one measurement.
MEASURED_AGAIN, SPACING = 2, 5.0
#: Measurements · Fewer have no range that an unsettled figure is judged by.
LEAST_MEASUREMENTS = 3

# --- The budget of false alarms ---

#: Node-nights; FAIL and at least DEGRADED among them · What healthy nodes may cost, over all judged figures of a node together. Half and a
#: third of what is aimed at (1 and 10): what is simulated is never the whole of a machine room, and healthy figures have longer tails
#: than the limits take them to have.
NODE_NIGHTS, FAILS, DEGRADEDS = 1000, 0.5, 3.0
#: Part of the figures · Where more were left out because measuring went wrong, the rest are the best of them, and nothing is tuned.
MOST_UNRELIABLE = 0.2

# --- Load of other processes ---

#: CPUs; part of the machine's CPUs · Other processes disturb a run above both: below, a benchmark of one thread loses less than it varies.
OTHER_CPUS, OTHER_CPU_SHARE = 1.0, 0.05
#: Part of the CPU time that the run and others used, at least of one CPU · Steal time disturbs from here on.
STEAL_SHARE = 0.05
#: Part of the greatest fall; part of what is expected · Paths fall together where the least fall is at least so much of the greatest, and
#: the greatest lies between the other two: a neighbour in host memory takes 5 to 35 % of all H2D paths alike.
TOGETHER, LEAST_FALL, MOST_FALL = 0.5, 0.02, 0.4
#: Part of the greatest share · The flows of a sum are even where the least moves so much of it.
EVEN = 0.9

# --- Steadiness ---

#: Median over plateau · The least of a lone copy on a host that nobody else uses.
LEAST_STEADINESS = 0.98
#: Rounds; bytes · Fewer rounds, and smaller transfers, say nothing of steadiness: they vary by themselves.
STEADY_ROUNDS, STEADY_BYTES = 3, 1 << 25
#: Part of the plateau · A path is low in a round whose median lies further below it.
LOW_ROUND = 0.03
#: Rounds; part of the rounds · On a shared host a path that is low in so many rounds is unsteady, if alike paths were low in none.
LOW_ROUNDS, LOW_ROUND_SHARE = 2, 1 / 3
#: Seconds · All measurements of one round lie within it.
ROUND = 0.5

# --- Errors that counters tell, and slow CPUs ---

#: Replays in a run · Above it a PCIe link is broken: DCGM's `max_pcie_replays` (4.6.0). Fewer are errors that the link corrected.
MOST_REPLAYS = 80
#: Flit CRC errors a second · Above it an NVLink is broken: DCGM's `crc_error_threshold`.
MOST_FLIT_ERRORS = 100.0
#: Times the median of the CPUs tried; CPUs · A CPU that takes longer to drive a copy is slow; of so many or fewer none is the odd one.
SLOW_CPU, SLOW_CPU_OF = 1.25, 2

# --- Other software than a reference was tuned with ---

#: Part of the figure · How far it may move a lone copy, and others, before any fleet has shown it: twice the 1.5 % that a driver is taken
#: to cost. With it a lost NVLink lane may pass a lone copy's FAIL bound until the fleet is known.
LONE_ALLOWANCE, ALLOWANCE = 0.03, 0.05
#: Nodes · Fewer with a software are no fleet.
FEWEST_NODES = 3
#: Part of a reference's value · A fleet that has so much less or more with other software is sick, or was mistaken for another kind of
#: node: references do not follow it.
MOST_SHIFT = 0.10
#: Part of the figure · A common change for the worse is DEGRADED from so much on: an administrator accepts it.
LEAST_SHIFT = 0.005
#: Days; of so many · A host is reported that was slow on so many of its last days with runs.
HOST_SLOW, HOST_DAYS = 3, 5
#: Days with runs · A host that nobody else uses and that was slow on all of them is broken or set wrong: load of three to five nights
#: follows on other load now and then.
HOST_BROKEN = 10

# --- The history of a node ---

#: Nights · Fewer are no history.
FEWEST_NIGHTS = 5
#: Nights · The first so many healthy nights are the baseline, which then stays as it is: four weeks, so that each weekday counts alike.
BASELINE_NIGHTS = 28
#: Part of the median · How far one night may lie below the baseline, however steady it was: a copy engine at 97 % is beyond.
ONE_NIGHT = {"lone": 0.03, "windowed": 0.06, "other": 0.10}
#: Robust deviations of the baseline · And this many, whichever is more; and it is below all nights of the baseline.
ONE_NIGHT_SPREADS = 5.0
#: Part of the median · The least deviation of a night: what its measurement resolves.
NIGHT_FLOOR = {"lone": 0.0025, "windowed": 0.005, "other": 0.012}
#: Place among the worst nights of the baseline · A night no worse than this one is not counted: a node may sit at two levels, as after
#: boots of two kinds.
WORST_KNOWN = 3
#: Deviations · Nor is one that lies less below the median.
ALLOWANCE_PER_NIGHT = 1.25
#: Part of the baseline · No more of a common loss is taken out: boots, seasons and drivers take less; what takes more is to be told.
MOST_COMMON = 0.02
#: Part of the baseline · A common change of alike figures is shown from here on: less is noise.
COMMON_SHOWN = 0.005
#: Deviations · One night counts no more, up or down, so that neither one bad night nor one good one decides.
ONE_NIGHT_COUNTS = 1.25
#: Nights · The figure of the last so many is the one that a reason names.
LAST_NIGHTS = 5
#: Sum of deviations · From here on the nights since the baseline are evidence, by kind of host: on a shared one a bad week is no fault.
EVIDENCE = {"own": 6.5, "shared": 14.0}

# --- References without a tune ---

#: Siblings · Fewer beside the figure in hand say nothing.
LEAST_SIBLINGS = 3
#: Part of the siblings' median · How far below it a figure may lie, alone and in windows; three deviations, if more.
SIBLING_SLACK = {True: 0.05, False: 0.10}
#: Part of the least healthy figure of a GPU's model · DEGRADED lies so far below it: lone copies of one model differ by up to 3 % between
#: machines, a plateau by 1 % from run to run (benchmarks/studies/prediction.md).
MODEL_MARGIN = 0.05
#: The same · Where `near` paths were seen and a `sole` one is judged, or the other way round: no machine of that kind was seen.
OTHER_KIND_MARGIN = 0.10
#: Part of a payload ceiling · What may lie above it: figures are written with few digits.
CEILING_ROUNDING = 0.005
#: Part of the healthy figure · A tuned value is as good as it within this: plateaus differ by it from run to run on noisy hosts.
AS_GOOD = 0.01
#: Part of the prediction · How far below it what many GPUs carry at once may lie, where all that limits is published: on Summit's node the
#: prediction meets the published table within 3 %, and figures varied by 9 % (Joubert 2019).
AT_ONCE_SLACK = 0.10

# --- What no figure can be ---

# No expectations: a few times above the best machine that is known (for times, below), so that the next generations fit. What lies beyond
# is a fault of the measurement: bytes that were not moved, a unit, a clock.

#: Part of what its link can carry · A rate further above it is no rounding: bytes that were not moved, or another link.
ABOVE_LINK = 0.02
#: Times a link's ceiling · A ceiling assumes the size of its packets; what is only compared with links has so much room.
LINK_ROOM = 1.25
#: GB/s · Memory of one NUMA node, by cores. The most that cores draw: about 1000 of a Xeon Max, 1750 of an MI300C; the stacks of an MI300A
#: have 5300, which its cores cannot ask for.
MOST_OF_NUMA_NODE = 5_000.0
#: GB/s · The same by one core, beyond any cache: about 20 on x86, 50 on A64FX, 100 on an M1.
MOST_OF_CORE = 150.0
#: GB/s · A GPU's link to the host, in one direction, by kind. PCIe 7 ×16: 242. NVLink 2 of POWER9: 77. NVLink-C2C: 450, of Rubin 900.
MOST_OF_HOST_LINK = {"pcie": 500.0, "nvlink": 500.0, "c2c": 2_000.0}
#: GB/s · Between GPUs through host memory: two crossings of the link and a buffer between. About 38 over PCIe 5.
MOST_STAGED = 1_000.0
#: GB/s · Between two GPUs directly, whatever joins them; NVLink by lane (25 of generation 4, 50 of 5); over PCIe as to the host. NVLink 6
#: has 1800 in all.
MOST_OF_PEERS, MOST_OF_LANE = 5_000.0, 200.0
#: GB/s · A GPU's own memory. 4800 of an H200, 8000 of a B200, 22,000 of Rubin.
MOST_OF_GPU_MEMORY = 60_000.0
#: GB/s · The least of a healthy node, of cores and of a GPU; less in a reference is another unit. A channel of DDR2-400 has 3.2.
LEAST_OF_NUMA_NODE, LEAST_OF_GPU_MEMORY = 0.5, 20.0
#: GB/s · Between two MPI ranks in host memory: what one core copies within its cache, about 120. Between all ranks of a node: 32 pairs.
MOST_OF_RANKS, MOST_OF_MESSAGES = 500.0, 16_000.0
#: GB/s · Whatever the kind.
MOST_RATE = 100_000.0
#: Million messages a second · Of one pair of ranks: tens.
MOST_MESSAGES = 500.0
#: GFLOP/s · What a GPU computes: 2.2 million in bf16 on a B200; ten times that.
MOST_COMPUTE = 2e7
#: us; us of all others · The least: a copy of a few bytes by a copy engine takes about 5, a load from a GPU over C2C 0.5, a launch 2; MPI
#: within a cache 0.1.
LEAST_TIME, LEAST_OTHER_TIME = {"latency.copy": 0.5, "latency.chase": 0.05, "latency.launch": 0.2}, 0.02
#: us of a transfer of a few bytes; us of all others · What takes a tenth of a second is no such transfer; nothing takes a hundred.
MOST_SMALL_TIME, MOST_TIME = 1e5, 1e8
#: us · A healthy transfer of a few bytes, a load or a launch takes no longer; more in a reference is another unit.
MOST_HEALTHY_TIME = 1000.0
#: Times · Greater than any ratio between two paths.
MOST_RATIO = 20.0
#: Part · A share of a whole is at most 1.
MOST_SHARE = 1.02
#: Times, gained and lost · What a figure loses beside others: all of a rate; a time may grow a thousandfold. What it gains is no multiple.
PENALTIES = (-20.0, 10_000.0)
#: Times the median transfer · The slowest of many: of 20 us, one that stood for two seconds.
MOST_WORST = 1e5
#: Bytes · Where half of the largest rate is reached: 1 TiB.
MOST_SIZE = 1.1e12
