import reframe as rfm

from .base import copy_check, named


@rfm.simple_test
class peer_check(copy_check):
    """GPU to GPU: every pair, each way and both, with peer access off; one with all, pairs side by side."""

    question = named("peer_check")
