"""Every path one way in a few seconds, pairs of GPUs side by side."""

import reframe as rfm

from nearfar.question import named

from ..base import node_check


@rfm.simple_test
class quick_check(node_check):
    """A quick look, judged by the references of host_device_check and peer_check."""

    question = named("quick_check")
