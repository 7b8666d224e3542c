"""What others are told: ``nearfar slurm status`` (the fleet in one screen, one node in full, what was done, whether what watches is alive),
and once ``act`` has done its work Prometheus and the site's program (``act_and_tell``), which changes nothing of what ``act`` does.

Needs: base, site, prometheus, slurm.act, slurm.controller, slurm.ledger.
"""

from __future__ import annotations

from . import status_page
from .on_event import act_and_tell
from .status_page import watchers
