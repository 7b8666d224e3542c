"""Copies beside computing: matrix products of each GPU while it copies from host memory and to it."""

import reframe as rfm

from nearfar.question import named

from ..base import node_check


@rfm.simple_test
class beside_compute_check(node_check):
    """Matrix products and copies of each GPU at once."""

    question = named("beside_compute_check")
