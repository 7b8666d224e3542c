"""A node with hard evidence drains itself, within the site's policy and caps as Slurm shows them now."""

from __future__ import annotations

import os
import time

from nearfar.base import Finding
from nearfar.site import HEALTH, Policy
from nearfar.slurm.controller import Refused, Slurm
from nearfar.slurm.drains import DrainCaps, objection_to_drain, reasons

#: Seconds that each of Slurm's commands may take.
LIMIT = 8.0


def _slurm(path: str) -> Slurm:
    return Slurm({**os.environ, "PATH": f"{path}:{os.environ['PATH']}" if path else os.environ["PATH"]}, LIMIT)


def objection(node: str, policy: Policy, path: str) -> str:
    """Why one node more must not be drained, also by a prolog that fails: a cap, a partition's floor; empty where it may be.
    ``path``: directories of Slurm's commands."""
    nodes = _slurm(path).nodes()
    if node not in nodes:
        return f"Slurm has no node {node}"
    too_many = DrainCaps(nodes, policy, time.time()).objection(node)
    return "" if too_many is None else too_many.reason


def drain(node: str, evidence: Finding, run: str, policy: Policy, path: str) -> str:
    """Drain this node, unless its state, a cap or a partition's floor forbids it; what was done, in words. Nodes that do this in the
    same second do not see each other's drains. Raises ``NearfarError``."""
    forbidden = objection(node, policy, path)
    if forbidden:
        return f"not drained: {forbidden}"
    reason = str(reasons.reason(HEALTH, evidence, run))
    try:
        _slurm(path).update(node, objection_to_drain, state="drain", reason=reason)
    except Refused as refused:
        return f"not drained: {refused.why}"
    return f"drained: {reason}"
