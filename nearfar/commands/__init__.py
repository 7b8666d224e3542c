"""The commands of ``nearfar``, one module each; ``nearfar.cli`` imports the one that was asked for.

Needs: base, topology, topology.inventory, cells, measurement, model, model.calibration, model.diagnosis, model.prediction, model.typical,
collective, binding, mpi, mpi.osu, verdict, verdict.references, verdict.thresholds, site, site.lint, history, history.tuning, report,
report.batch, report.blocks, compare, cost, reproduce, delivery, prometheus, run, run.spack, kit, foreign, slurm.health.
"""

from __future__ import annotations

from . import metrics_option
from .command_line import positive, print_json, refuse_outside
