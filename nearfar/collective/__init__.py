"""What a collective of NCCL should reach on a node: its bus bandwidth as nccl-tests counts it, with the part that limits it.

``expectation`` has the algorithms, ``links`` what a node's links carry for them, ``captures`` what owners of real nodes published.

Needs: base, topology, cells, model, model.prediction, model.typical.
"""

from __future__ import annotations

from . import captures
from .captures import (
    CollectiveBeside,
    PublishedCollectives,
    all_beside,
    errors,
    published_collectives,
    size_in_bytes,
    size_in_words,
)
from .expectation import (
    COLLECTIVES,
    NETWORKS,
    TRANSPORT_WORDS,
    TRANSPORTS,
    ExpectedBandwidth,
    Fabric,
    expected,
    parse_nics,
)
