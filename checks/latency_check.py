"""Latency of every path: a tiny copy, a load by a kernel, a launch."""

import reframe as rfm

from nearfar.question import named

from .base import node_check


@rfm.simple_test
class latency_check(node_check):
    """Three latencies of every (NUMA node, GPU) pair and every pair of GPUs."""

    question = named("latency_check")
