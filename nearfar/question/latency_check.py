"""How long does the smallest transfer take: a tiny copy, a load by a kernel, a launch, on every path."""

from nearfar import cells

from .question import ACCEPT, Question

#: Three latencies, never mixed, of every (NUMA node, GPU) and every ordered pair of GPUs.
LATENCIES = ("latency.copy", "latency.chase", "latency.launch")

QUESTION = Question(
    name="latency_check",
    title="Latency",
    description="latencies between host memory and GPUs and between GPUs",
    program="nearfar-copy",
    cells=cells.latency_cells,
    levels=(ACCEPT,),
    # No latency is predicted.
    systems=("+gpu -modelled",),
    options=("--latency",),
    nothing_to_ask="no GPU, or no host memory, on this node",
    quantities=lambda subject: LATENCIES,
)
