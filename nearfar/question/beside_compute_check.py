"""What do copies and computing cost each other: matrix products of each GPU while it copies from host memory, and to it?"""

from nearfar import cells

from .question import Question

QUESTION = Question(
    name="beside_compute_check",
    title="Copies beside computing",
    description="matrix products and copies of each GPU at once",
    program="nearfar-copy",
    cells=cells.beside_products,
    # What a GPU computes is not predicted.
    systems=("+gpu -modelled",),
    nothing_to_ask="no GPU, or no host memory, on this node",
)
