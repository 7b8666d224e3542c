import reframe as rfm

from .base import named, node_check


@rfm.simple_test
class gpu_memory_check(node_check):
    """The memory of each GPU, and of all at once: STREAM triad over gigabytes."""

    question = named("gpu_memory_check")
