"""The commands of ``nearfar``, one module each; ``nearfar.cli`` imports the one that was asked for."""

from __future__ import annotations

from .numbers import positive, refuse_outside

__all__ = [
    "positive",
    "refuse_outside",
]
