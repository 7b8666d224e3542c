"""What do cores and GPUs leave each other of host memory: STREAM by a NUMA node's cores while its GPUs copy in both directions?"""

from nearfar import cells

from .question import Question

QUESTION = Question(
    name="beside_stream_check",
    title="Copies beside STREAM",
    description="STREAM by the cores of each NUMA node and copies of its GPUs at once",
    program="nearfar-copy",
    cells=cells.beside_stream,
    # The prediction gives cores and GPUs equal shares of a memory: benchmarks/studies/kernels.md has what was measured.
    systems=("+gpu -modelled",),
    nothing_to_ask="no GPU, or no NUMA node with cores and memory, on this node",
)
