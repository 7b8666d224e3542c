"""A site's files against their schemas, the checks, the hardware's limits and each other. See docs/lint.md.

Nothing is measured and nothing written. ``lint`` looks at everything, ``before_measuring`` at what one run uses,
``with_references`` at a site as it would be.
"""

from nearfar.lint.beforehand import with_references
from nearfar.lint.complaints import ERROR, INFO, WARNING, Complaint, sorted_once, strict, summary
from nearfar.lint.gate import before_measuring, tell_warnings
from nearfar.lint.whole import Looked, lint

__all__ = [
    "ERROR",
    "INFO",
    "WARNING",
    "Complaint",
    "Looked",
    "before_measuring",
    "lint",
    "sorted_once",
    "strict",
    "summary",
    "tell_warnings",
    "with_references",
]
