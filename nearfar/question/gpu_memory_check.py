"""How fast is the memory of each GPU, and of all at once: STREAM triad over gigabytes."""

from nearfar import cells

from .question import ACCEPT, NIGHTLY, Question, smaller_sizes

QUESTION = Question(
    name="gpu_memory_check",
    title="GPU memory",
    description="bandwidth of the GPUs' memory (STREAM triad)",
    program="nearfar-copy",
    cells=cells.gpu_memory,
    levels=(NIGHTLY, ACCEPT),
    # Of a modelled GPU's memory the nominal rate alone is known, which no kernel reaches: there is nothing to show.
    systems=("+gpu -modelled",),
    nothing_to_ask="no GPU on this node",
    findings=smaller_sizes,
)
