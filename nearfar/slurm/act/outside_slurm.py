"""Measuring a drained node without a job: only where no job can be beside it."""

from __future__ import annotations

import os
import socket

from nearfar.base import NearfarError
from nearfar.slurm.controller import NodeState, Slurm


def refuse_unless_free(node: str, slurm: Slurm) -> NodeState:
    """The node's state; raises ``NearfarError`` unless this host is that node, and Slurm shows it drained and free of jobs.

    Between this look and the end of the measurement only a person's resume can bring jobs to it.
    """
    if "SLURM_JOB_ID" in os.environ:
        raise NearfarError("--outside-slurm: this is a job of Slurm; leave the option out")
    state = slurm.node(node)
    names = {node, state.fields.get("NodeHostName", node)}
    here = socket.gethostname()
    if not names & {here, here.split(".")[0]}:
        raise NearfarError(f"--node {node}: this host is {here}; run this on the node itself")
    if not state.drain:
        raise NearfarError(f"{node}: it is {state.words}, not drained: jobs could start beside the measurement")
    if not state.free_of_jobs:
        raise NearfarError(f"{node}: it is {state.words}: jobs still run on it; wait for them")
    return state
