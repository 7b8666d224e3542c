"""What findings about a document say."""

from __future__ import annotations
