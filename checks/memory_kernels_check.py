import reframe as rfm

from .base import named, stream_check


@rfm.simple_test
class memory_kernels_check(stream_check):
    """What each kernel gets of each memory: the other STREAM kernels, reading and writing alone, fewer cores."""

    question = named("memory_kernels_check")
