"""What people ask: how the fleet is, what is known of a node, and what was done. Nothing is written, and no rights are needed.

Needs: base, site, slurm.act, slurm.controller, slurm.findings, slurm.results, slurm.trust.
"""

from __future__ import annotations

from . import node_page, status_page
from .fleet_status import FleetStatus, SharedByMany, status_of
from .node_group import DECIDE, GOOD, GROUPS, TO_TEST, WAITS, NodeStatus
from .node_log import LogEvent, events, since

__all__ = [
    "DECIDE",
    "GOOD",
    "GROUPS",
    "TO_TEST",
    "WAITS",
    "FleetStatus",
    "LogEvent",
    "NodeStatus",
    "SharedByMany",
    "events",
    "node_page",
    "since",
    "status_of",
    "status_page",
]
