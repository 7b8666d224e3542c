import reframe as rfm

from .base import copy_check, named


@rfm.simple_test
class gpu_memory_check(copy_check):
    """The memory of each GPU, and of all at once: STREAM triad over gigabytes."""

    question = named("gpu_memory_check")
