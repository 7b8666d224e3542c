"""A site's files against their schemas, the checks, the hardware's limits and each other. See docs/reference/lint.md.

Nothing is measured and nothing written. ``lint`` looks at everything, ``before_measuring`` at what one run uses,
``with_references`` at a site as it would be.

Needs: base, topology, cells, measurement, model, model.prediction, model.typical, collective, binding, question,
verdict, verdict.references, verdict.thresholds, site.
"""

from .complaints import ERROR, Complaint, refused, sorted_once, strict, summary
from .every_rule import LintResult, lint
from .orders import sound_order
from .preflight import before_measuring, tell_warnings, with_references
