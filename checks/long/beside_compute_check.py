import reframe as rfm

from ..base import named, node_check


@rfm.simple_test
class beside_compute_check(node_check):
    """Copies beside computing: matrix products of each GPU while it copies from host memory and to it."""

    question = named("beside_compute_check")
