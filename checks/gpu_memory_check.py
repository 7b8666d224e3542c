import reframe as rfm

from .base import named, stream_check


@rfm.simple_test
class gpu_memory_check(stream_check):
    """The memory of each GPU, and of all at once: STREAM triad over gigabytes."""

    question = named("gpu_memory_check")
