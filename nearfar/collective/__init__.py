"""What a collective of NCCL should reach on a node: its bus bandwidth as nccl-tests counts it, with the part that limits it.

Needs: base, topology, model.prediction.
"""

from __future__ import annotations

from .expectation import CAUSES, COLLECTIVES, Expected, Fabric, expected
