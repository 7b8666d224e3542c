"""What does each kernel get of each memory: the other three of STREAM, reading and writing alone, and fewer cores."""

from nearfar import cells

from .question import ACCEPT, Question, smaller_sizes

QUESTION = Question(
    name="memory_kernels_check",
    title="Memory by kernel and cores",
    description="bandwidth of host and GPU memory by kernel and number of cores",
    program="nearfar-copy",
    cells=cells.memory_kernels,
    levels=(ACCEPT,),
    systems=("-modelled",),
    # Two rounds describe a figure that host_memory_check or gpu_memory_check judges; waiting for one that comes again costs more.
    options=("--rounds", "2"),
    in_kit=False,
    nothing_to_ask="no memory that this process may use",
    findings=smaller_sizes,
)
