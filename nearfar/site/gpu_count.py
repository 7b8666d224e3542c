"""Whether a node shows as many GPUs as others say that it has: the site's feature ``gpu``, and Slurm's Gres."""

from __future__ import annotations

import os
from collections.abc import Mapping

from nearfar.base import Finding
from nearfar.measurement import Document
from nearfar.topology import Node

from . import messages
from .systems import Partition

#: How many GPUs Slurm has on the node that a job of it runs on.
VARIABLE = "NEARFAR_SLURM_GPUS"


def findings(
    partition: Partition, observed: Node | None, document: Document | None, environ: Mapping[str, str] | None = None
) -> list[Finding]:
    """INDETERMINATE where fewer GPUs are seen than Slurm has, or none where the site's file says that there are some.

    Seen are those on the bus that answer the driver, and those that were measured. In MIG mode Slurm may count instances:
    then only none at all is too few.
    """
    if partition.modelled or observed is None:
        return []
    seen = max(sum(not gpu.fault for gpu in observed.gpus), len(_measured(document)))
    slurms = (os.environ if environ is None else environ).get(VARIABLE, "")
    wanted = int(slurms) if slurms.isdecimal() else 0
    instances = seen > 0 and any(gpu.mig for gpu in observed.gpus)
    if wanted > seen and not instances:
        return [messages.GPUS_BELOW_GRES.finding("gpus", expected=wanted, seen=seen)]
    if seen == 0 and "gpu" in partition.features:
        return [messages.GPUS_NONE.finding("gpus", partition=partition.name)]
    return []


def _measured(document: Document | None) -> set[int]:
    results = () if document is None or document.kind != "measured" else document.results
    return {gpu for result in results if result.cell is not None for flow in result.cell.flows for gpu in flow.gpus}
