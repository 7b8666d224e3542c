import reframe as rfm

from .base import copy_check, named


@rfm.simple_test
class host_device_check(copy_check):
    """Every path between host memory and the GPUs: H2D, D2H, both at once; one copy from pageable memory."""

    question = named("host_device_check")
