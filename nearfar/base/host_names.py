"""Host names."""

from __future__ import annotations


def short_host_name(name: str) -> str:
    """A host's name without its domain."""
    return name.partition(".")[0]
