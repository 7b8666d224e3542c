import reframe as rfm

from .base import copy_check, named


@rfm.simple_test
class host_memory_check(copy_check):
    """Host memory: STREAM by the cores of each NUMA node on the memory of each, and all nodes at once."""

    question = named("host_memory_check")
