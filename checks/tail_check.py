import reframe as rfm

from .base import copy_check, named


@rfm.simple_test
class tail_check(copy_check):
    """The slowest of 1,000 transfers over every path."""

    question = named("tail_check")
