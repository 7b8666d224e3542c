"""References: the one place that says what a figure should be, and how that is known."""

from .reference import Reference, figure
from .reference_files import ReferenceFile, fastest_links, find, for_partition, known_checks
from .resolution import model_of, question_of, resolve, row_keys

__all__ = [
    "Reference",
    "ReferenceFile",
    "fastest_links",
    "figure",
    "find",
    "for_partition",
    "known_checks",
    "model_of",
    "question_of",
    "resolve",
    "row_keys",
]
