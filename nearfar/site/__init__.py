"""A site's files: its systems and what their nodes should be, environments, drain policy; ReFrame's configuration made of them.

Gives ``systems.site()`` and what follows from it; ``lint`` looks at all files. ``must_exist`` needs the judge, and is imported by those
who ask for it.

Needs: base, topology, topology.inventory, cells, measurement, model.prediction, binding, mpi.osu, nccl, question, verdict,
verdict.references.
"""

from __future__ import annotations

from . import (
    applications,
    drain_policy,
    environments,
    expectations,
    gpu_count,
    identity,
    orders,
    reframe_settings,
    reframe_system,
    systems,
    topology_diff,
)
from .drain_policy import HEALTH, DrainCap, Policy, program_problem
from .environments import SYSTEM, Environment
from .expectations import filled
from .first_site_files import write_first_site_files
from .messages import NOT_COMPARED
from .orders import Order, Promise
from .systems import Partition, System, shared_hosts

#: Modules that only those load who need them.
__all__ = ["must_exist"]
