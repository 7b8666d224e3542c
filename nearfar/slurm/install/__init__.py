"""What a site installs for nightly runs and health checks.

Needs: base, slurm.controller, slurm.health.
"""

from __future__ import annotations

from . import install

__all__ = [
    "install",
]
