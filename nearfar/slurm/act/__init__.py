"""``nearfar slurm act`` and the commands for administrators: the state of every node, and what is done about it, on one admin host.

Needs: base, cells, question, site, slurm.controller, slurm.drains, slurm.findings, slurm.ledger, slurm.sweep, slurm.trust.
"""

from __future__ import annotations

from . import admin_host, messages, node_states, quarantine
from .node_states import NodeStatus
from .one_call import STATE, ActOptions, ActResult, View, act, dry_run, read_policy, view_of
from .repairs import Repaired, RetestOptions, clear, retest
