"""How does bandwidth grow with the size of a transfer: 1 KiB to 1 GiB, near and far, both directions, between GPUs."""

from nearfar import cells

from .. import ACCEPT, Question, of_cell, synthetic_documents

QUESTION = Question(
    name="size_sweep_check",
    title="Bandwidth over size",
    description="bandwidth over size",
    program="nearfar-copy",
    cells=cells.size_sweep,
    levels=(ACCEPT,),
    order=70,
    systems=("+gpu",),
    nothing_to_ask="no GPU, or no host memory, on this node",
    synthetic=lambda node, features: synthetic_documents.of_cells(
        cells.size_sweep(node)[0], node, of_cell, curves=True
    ),
)
