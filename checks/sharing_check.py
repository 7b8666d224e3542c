"""Tasks that share GPUs: one to four on every GPU, all GPUs at once."""

import reframe as rfm

from nearfar.question import named

from .base import node_check


@rfm.simple_test
class sharing_check(node_check):
    """Bandwidth of tasks that share GPUs, and each one's share."""

    question = named("sharing_check")
