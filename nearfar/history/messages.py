"""What findings about the history say."""

from __future__ import annotations
