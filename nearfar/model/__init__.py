"""What a node should carry: ``prediction`` (capacities, max-min shares), ``link_limits`` (what is certain of a nominal link),
``typical`` (what healthy machines carry), ``calibration`` (capacities from measured cells), ``diagnosis`` (which parts explain what is
slow), ``published_nodes`` (real nodes with what their owners measured).

Needs: base, topology, cells, measurement.
"""

from __future__ import annotations

from . import link_limits, published_nodes
from .link_limits import link_text
from .published_nodes import CapturedFigure, PublishedNode
