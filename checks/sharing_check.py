import reframe as rfm

from .base import copy_check, named


@rfm.simple_test
class sharing_check(copy_check):
    """Tasks that share GPUs: one to four on every GPU, all GPUs at once."""

    question = named("sharing_check")
