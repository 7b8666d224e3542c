"""What Prometheus is told: text files for node_exporter's textfile collector, and every metric in them.

``health_metrics`` needs no more than this package's base, since the health check starts every few minutes; ``run_metrics`` reads a
run, imports much, and is therefore not imported here.

Needs: base, measurement, verdict.
"""

from __future__ import annotations

from . import catalogue, health_metrics
from .catalogue import METRICS
from .exposition import VARIABLE, MetricsPage, directory

#: Modules that only those load who need them.
__all__ = ["run_metrics"]
