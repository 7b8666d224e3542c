"""Numbers of things in words."""

from __future__ import annotations


def plural(count: int, noun: str, many: str | None = None) -> str:
    """``1 figure``, ``2 figures``; ``many`` where the plural takes more than an s."""
    return f"{count} {noun if count == 1 else many or noun + 's'}"
