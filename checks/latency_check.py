import reframe as rfm

from .base import copy_check, named


@rfm.simple_test
class latency_check(copy_check):
    """Latency of every path: a tiny copy, a load by a kernel, a launch."""

    question = named("latency_check")
