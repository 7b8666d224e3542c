import reframe as rfm

from .base import named, node_check


@rfm.simple_test
class tail_check(node_check):
    """The slowest of 1,000 transfers over every path."""

    question = named("tail_check")
