import reframe as rfm

from .base import named, stream_check


@rfm.simple_test
class host_memory_check(stream_check):
    """Host memory: STREAM by the cores of each NUMA node on the memory of each, and all nodes at once."""

    question = named("host_memory_check")
