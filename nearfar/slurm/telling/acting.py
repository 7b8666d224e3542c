"""``act``, and then those who are to know of it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from nearfar.base import NearfarError
from nearfar.slurm.act import ActOptions, act, view
from nearfar.slurm.controller import Slurm

from . import fleet_metrics
from .hooks import HookRun


@dataclass(frozen=True)
class ActTold:
    """What ``act`` saw and did, and a line for each hook that failed and each file that could not be written."""

    seen: view.ActView
    done: act.ActResult
    problems: tuple[str, ...]


def act_and_tell(options: ActOptions, slurm: Slurm, metrics: Path | None) -> ActTold:
    """Run ``act``, then call the site's hooks, then write what Prometheus reads (``metrics``: its directory; None: nothing).

    Raises what ``act`` does, and only that.
    """
    hooks = HookRun(options)
    hooks.switch_on()
    began = time.monotonic()
    seen, done = act.run(options, slurm)
    took = time.monotonic() - began
    hooks.tell(seen)
    problems = list(hooks.problems)
    if metrics is not None:
        try:
            fleet_metrics.write(fleet_metrics.page(seen, done, options, took, hooks.waiting), metrics)
        except NearfarError as error:
            problems.append(f"metrics: {error}")
    return ActTold(seen, done, tuple(problems))
