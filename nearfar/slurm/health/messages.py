"""What findings about the health of a node say."""

from __future__ import annotations
