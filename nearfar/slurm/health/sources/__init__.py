"""Evidence that needs no measuring, one file per source: the kernel's log, what the driver and the kernel count, ports, daemons.

Each source reads (a tree of files, a handle of NVML), classifies what it read in a pure function, and says what it could not read.
What counts up is judged by its growth since the last look, and by the node's own past (``counters``).

Needs: base, topology.
"""

from __future__ import annotations

from .every_source import QUICK, SHARE, SOURCES, SourcesSeen, look
from .messages import SHOWN_ONCE
from .source import Now

__all__ = ["QUICK", "SHARE", "SHOWN_ONCE", "SOURCES", "Now", "SourcesSeen", "look"]
