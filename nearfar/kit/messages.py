"""What findings about a kit's file say."""

from __future__ import annotations
