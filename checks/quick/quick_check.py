import reframe as rfm

from ..base import named, node_check


@rfm.simple_test
class quick_check(node_check):
    """Every path one way in a few seconds, pairs of GPUs side by side."""

    question = named("quick_check")
