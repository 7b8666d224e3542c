"""How fast is every path between host memory and the GPUs: host to device, device to host, both at once."""

from nearfar import cells

from .question import ACCEPT, NIGHTLY, Question

QUESTION = Question(
    name="host_device_check",
    title="Host ↔ GPU",
    description="bandwidth between host memory and GPUs",
    program="nearfar-copy",
    cells=cells.host_device_cells,
    levels=(NIGHTLY, ACCEPT),
    order=30,
    systems=("+gpu",),
    nothing_to_ask="no GPU, or no host memory, on this node",
    explains=40,
)
