"""The slowest of 1,000 transfers over every path."""

import reframe as rfm

from nearfar.question import named

from .base import node_check


@rfm.simple_test
class tail_check(node_check):
    """What is too rare to show in a median."""

    question = named("tail_check")
