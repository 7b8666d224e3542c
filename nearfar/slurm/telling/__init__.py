"""What ``nearfar slurm act`` tells others once it has done its work: Prometheus, and the site's program.

``act_and_tell`` is ``act`` with both. Nothing of it changes what ``act`` decides and does.

Needs: base, site, prometheus, slurm.act, slurm.controller, slurm.ledger.
"""

from __future__ import annotations

from .on_event import act_and_tell
