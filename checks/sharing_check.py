import reframe as rfm

from .base import named, node_check


@rfm.simple_test
class sharing_check(node_check):
    """Tasks that share GPUs: one to four on every GPU, all GPUs at once."""

    question = named("sharing_check")
