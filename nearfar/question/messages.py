"""What findings about a question say."""

from __future__ import annotations
