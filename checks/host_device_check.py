import reframe as rfm

from .base import named, node_check


@rfm.simple_test
class host_device_check(node_check):
    """Every path between host memory and the GPUs: H2D, D2H, both at once; one copy from pageable memory."""

    question = named("host_device_check")
