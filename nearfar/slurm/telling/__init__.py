"""What ``nearfar slurm act`` tells others once it has done its work: Prometheus, and the site's hooks.

``act_and_tell`` is ``act`` with both. Nothing of it changes what ``act`` decides and does.

Needs: base, site, prometheus, slurm.act, slurm.controller, slurm.findings, slurm.results, slurm.status, slurm.trust.
"""

from __future__ import annotations

from .acting import ActTold, act_and_tell

__all__ = [
    "ActTold",
    "act_and_tell",
]
