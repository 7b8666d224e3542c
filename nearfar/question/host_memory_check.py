"""How fast is host memory: STREAM from the cores of each NUMA node to the memory of each, and all nodes at once."""

from nearfar import cells

from .question import ACCEPT, NIGHTLY, Question

QUESTION = Question(
    name="host_memory_check",
    title="Host memory",
    description="bandwidth of host memory (STREAM triad)",
    program="nearfar-copy",
    cells=lambda node: (cells.stream_matrix(node), cells.stream_left_out(node)),
    levels=(NIGHTLY, ACCEPT),
    # A modelled node takes part where its memory capacities are known (feature `memory`).
    systems=("-modelled", "+modelled +memory"),
    nothing_to_ask="no host memory that this process may use",
    explains=50,
    quick_kit=True,
)
