"""References from runs: limits with statistics that hold, as a diff that a person reviews."""

from . import proposal, reference_text, samples, text, tolerance
from .proposal import How, Proposal
from .samples import Chosen

__all__ = [
    "Chosen",
    "How",
    "Proposal",
    "proposal",
    "reference_text",
    "samples",
    "text",
    "tolerance",
]
