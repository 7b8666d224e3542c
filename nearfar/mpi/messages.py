"""What findings about the ranks of MPI say."""

from __future__ import annotations

from nearfar.base import NOT_JUDGED, Message

_PAGE = "how-it-measures.md"
_SPEED = "bound beside their GPUs the ranks run {ratio:.3f} times as fast as the launcher binds them ({low:.3f} to {high:.3f})"

AS_ROOT = Message(
    "ranks.as_root", NOT_JUDGED,
    "the ranks run as root, which Open MPI refuses by default: OMPI_ALLOW_RUN_AS_ROOT is set for this launch alone", page=_PAGE,
)  # fmt: skip
DIED = Message("rank.died", "INDETERMINATE", "the launcher reports that rank {rank}[ on {host}] {ending}")

# Contention.
FEW_CORES = Message("cells.few_cores", NOT_JUDGED, "{cores:#core}, too few for MPI beside {gpus:#GPU}", page=_PAGE)
STARVED = Message("tasks.starved", NOT_JUDGED, "these tasks moved almost nothing beside MPI: {tasks}", page=_PAGE)
NOT_SPLIT = Message("threads.not_split", NOT_JUDGED, "threads are not split: {line}", page=_PAGE)
OVERSUBSCRIBED = Message(
    "threads.oversubscribed", "INDETERMINATE", "threads shared cores (--oversubscribe), so the figures depend on the scheduler",
    "run again without --oversubscribe", page=_PAGE,
)  # fmt: skip

# Load balance.
NO_BINDING = Message("balance.no_binding", NOT_JUDGED, "no binding to compare: {line}", page=_PAGE)
SAME_PLACES = Message(
    "balance.same_places", NOT_JUDGED,
    "nothing to compare: the launcher had already bound every rank to the CPUs and memory of its GPU's NUMA node", page=_PAGE,
)  # fmt: skip
ONE_MEMORY = Message(
    "balance.one_memory", NOT_JUDGED,
    "the node has one NUMA node: the launcher's binding uses the same memory as that beside the GPUs, and was not measured", page=_PAGE,
)  # fmt: skip
AS_GOOD = Message("balance.as_good", "PASS", _SPEED, page=_PAGE)
UNSETTLED = Message(
    "balance.unsettled", "INDETERMINATE", f"{_SPEED}; the interval contains the bound {{least:.2f}}", "run again on an idle node",
    page=_PAGE,
)  # fmt: skip
SLOWER = Message(
    "balance.slower", "DEGRADED",
    f"{_SPEED}, expected at least {{least:.2f}}; the system reports the wrong NUMA node as near, or the ranks slow each other there",
    "compare nvidia-smi topo -m with the node type", page=_PAGE,
)  # fmt: skip

# Where ranks ran. The subject ends with ``binding``.
OTHER_CPUS = Message(
    "rank.other_cpus", "INDETERMINATE", "{subject}: a rank ran on CPUs '{cpus}', not on those of NUMA node {numa_node}", page=_PAGE
)  # fmt: skip
OTHER_MEMORY = Message(
    "rank.other_memory", "INDETERMINATE",
    "{subject}: the memory of a rank on NUMA node {numa_node}[ (rank {rank})] is on NUMA node {memory}", page=_PAGE,
)  # fmt: skip
NO_NUMA_NODE = Message(
    "rank.no_numa_node", "INDETERMINATE",
    "{subject}: rank {rank} ran on CPUs '{cpus}', which belong to no single NUMA node", page=_PAGE,
)  # fmt: skip
UNKNOWN_DEVICE = Message(
    "rank.unknown_device", "INDETERMINATE", "{subject}: rank {rank} used a device that the node type does not list", page=_PAGE
)  # fmt: skip
OTHER_PLACEMENT = Message(
    "rank.other_placement", "INDETERMINATE", "{subject}: rank {rank} ran on NUMA node {numa_node}, {relation} to its device",
    page=_PAGE,
)  # fmt: skip
OTHER_NUMA_NODES = Message(
    "ranks.other_numa_nodes", "INDETERMINATE", "{subject}: the ranks ran on NUMA nodes {numa_nodes}", page=_PAGE
)
BINDING_LOST = Message(
    "ranks.binding_lost", "INDETERMINATE", "{subject}: {recorded} of {ranks:#rank} recorded their binding", page=_PAGE
)
UNKNOWN_CASE = Message("ranks.unknown_case", "INDETERMINATE", "{subject}: {error}", page=_PAGE)

# OSU's runs.
BUSY_CORES = Message(
    "cores.busy", "INDETERMINATE",
    "{cases}: other processes ran on the ranks' cores; a rank waited for its core up to {waited:.0%} of the time",
    "run again on an idle node", page=_PAGE,
)  # fmt: skip
FEWER_REPETITIONS = Message(
    "repetitions.fewer", NOT_JUDGED,
    "{cases}: OSU's default number of repetitions takes too long; each size was repeated at least {fewest} times", page=_PAGE,
)  # fmt: skip
