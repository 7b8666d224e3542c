import reframe as rfm

from .base import copy_check, named


@rfm.simple_test
class saturation_check(copy_check):
    """All GPUs at once: 1, 2, ... GPUs, spread over packages, packed on one, and across the package link."""

    question = named("saturation_check")
