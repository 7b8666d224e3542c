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


def allowed(policy: Policy | None) -> bool:
    """Whether the site lets hard evidence of a health check drain."""
    return policy is not None and policy.step(HEALTH, True) == "drain"


def objection_to_fail(node: str, policy: Policy | None, path: str) -> str:
    """Why this node's prolog must not fail, which drains the node; empty where it may."""
    return objection(node, policy, _slurm(path))


def objection(node: str, policy: Policy | None, slurm: Slurm) -> str:
    """Why one node more must not be drained: the policy, a cap, a partition's floor; empty where it may be."""
    if policy is None or not allowed(policy):
        return "the site does not allow it"
    nodes = slurm.nodes()
    if node not in nodes:
        return f"Slurm has no node {node}"
    too_many = DrainCaps(nodes, policy, time.time()).objection(node)
    return "" if too_many is None else too_many.reason


def _slurm(path: str) -> Slurm:
    return Slurm({**os.environ, "PATH": f"{path}:{os.environ['PATH']}" if path else os.environ["PATH"]}, LIMIT)


def drain(node: str, evidence: Finding, run: str, policy: Policy | None, path: str) -> str:
    """Drain this node, unless its state, a cap or a partition's floor forbids it; what was done, in words. ``path``: directories of
    Slurm's commands. Nodes that do this in the same second do not see each other's drains. Raises ``NearfarError``."""
    slurm = _slurm(path)
    forbidden = objection(node, policy, slurm)
    if forbidden:
        return f"not drained: {forbidden}"
    reason = str(reasons.reason(HEALTH, evidence, run))
    try:
        slurm.update(node, objection_to_drain, state="drain", reason=reason)
    except Refused as refused:
        return f"not drained: {refused.why}"
    return f"drained: {reason}"
