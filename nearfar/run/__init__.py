"""One run on this machine: ReFrame over the checks, the cases that ran against those expected, one verdict, one exit code.

``spack`` installs the programs where a site wants that.

Needs: base, model.diagnosis, model.prediction, question, verdict, verdict.references, site, site.lint, history, report.
"""

from __future__ import annotations

from . import expected_cases, not_asked, run_file, some_checks, validation
