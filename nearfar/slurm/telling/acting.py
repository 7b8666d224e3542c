"""``act``, and then those who are to know of it."""

from __future__ import annotations

import time
from pathlib import Path

from nearfar.base import NearfarError
from nearfar.slurm.act import ActOptions, ActResult, act
from nearfar.slurm.controller import Slurm
from nearfar.slurm.ledger import Ledger

from . import fleet_metrics, on_event


def act_and_tell(options: ActOptions, slurm: Slurm, metrics: Path | None) -> tuple[ActResult, list[str]]:
    """Run ``act``, then tell the site's program, then write what Prometheus reads (``metrics``: its directory; None: nothing); with what
    ``act`` did, a line for each thing that could not be told. Raises what ``act`` does, and only that."""
    began = time.monotonic()
    result = act(options, slurm)
    took = time.monotonic() - began
    problems = on_event.tell(options.state, result.view)
    if metrics is not None:
        try:
            with Ledger.open(options.state) as ledger:
                fleet_metrics.write(fleet_metrics.page(result, ledger, took), metrics)
        except NearfarError as error:
            problems.append(f"metrics: {error}")
    return result, problems
