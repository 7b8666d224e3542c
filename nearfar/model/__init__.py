"""What a node should carry: ``prediction`` (capacities, max-min shares), ``link_limits`` (what is certain of a nominal link),
``calibration`` (capacities from measured cells), ``diagnosis`` (which parts explain what is slow).

Needs: topology, cells, measurement.
"""

from __future__ import annotations

from . import link_limits
from .link_limits import link_text
