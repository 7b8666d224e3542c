import reframe as rfm

from ..base import named, node_check


@rfm.simple_test
class beside_stream_check(node_check):
    """Copies beside STREAM: each NUMA node's cores on their memory while its GPUs copy in both directions."""

    question = named("beside_stream_check")
