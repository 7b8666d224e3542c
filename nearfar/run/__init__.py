"""One run on this machine: ReFrame over the checks, the cases that ran against those expected, one verdict, one exit code.

``spack`` installs the programs where a site wants that. ``by_hand`` and ``on_the_node`` are started by themselves, and are therefore not
imported here.

Needs: base, topology, topology.inventory, model.diagnosis, model.prediction, question, verdict, verdict.references,
verdict.thresholds, site, site.lint, history, report.
"""

from __future__ import annotations

from . import expected_cases, not_asked, run_file, some_checks, validation

__all__ = ["by_hand", "on_the_node"]
