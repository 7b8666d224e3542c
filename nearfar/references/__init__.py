"""References: the one place that says what a figure should be, and how that is known."""

from nearfar.references.reference import Reference, figure
from nearfar.references.reference_files import ReferenceFile, find, for_partition
from nearfar.references.resolution import resolve, row_keys

__all__ = ["Reference", "ReferenceFile", "figure", "find", "for_partition", "resolve", "row_keys"]
