import reframe as rfm

from .base import named, node_check


@rfm.simple_test
class latency_check(node_check):
    """Latency of every path: a tiny copy, a load by a kernel, a launch."""

    question = named("latency_check")
