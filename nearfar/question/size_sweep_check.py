"""How does bandwidth grow with the size of a transfer: 1 KiB to 1 GiB, near and far, both directions, between GPUs."""

from nearfar import cells

from . import synthetic_documents
from .question import ACCEPT, Question, of_cell

#: The sizes, as ``nearfar-copy`` takes them.
SIZES = "1KiB..1GiB"

QUESTION = Question(
    name="size_sweep_check",
    title="Bandwidth over size",
    description="bandwidth over size",
    program="nearfar-copy",
    cells=cells.size_sweep,
    levels=(ACCEPT,),
    systems=("+gpu",),
    nothing_to_ask="no GPU, or no host memory, on this node",
    options=("--sizes", SIZES),
    maps=False,
    synthetic=lambda node, features: synthetic_documents.of_cells(
        cells.size_sweep(node)[0], node, of_cell, curves=True
    ),
)
