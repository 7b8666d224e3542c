import reframe as rfm

from .base import copy_check, named


@rfm.simple_test
class memory_kernels_check(copy_check):
    """What each kernel gets of each memory: the other STREAM kernels, reading and writing alone, fewer cores."""

    question = named("memory_kernels_check")
