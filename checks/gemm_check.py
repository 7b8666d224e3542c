import reframe as rfm

from .base import named, node_check


@rfm.simple_test
class gemm_check(node_check):
    """GPU compute: matrix products in single precision, double precision and bf16."""

    question = named("gemm_check")
