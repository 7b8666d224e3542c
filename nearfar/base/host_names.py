"""Host names."""

from __future__ import annotations


def short_host_name(name: str) -> str:
    """A host's name without its domain; an IPv4 address as it is."""
    return name if name.replace(".", "").isdecimal() else name.partition(".")[0]
