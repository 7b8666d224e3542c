"""References from runs: limits with statistics that hold, as a diff that a person reviews.

Needs: base, cells, model.prediction, verdict, verdict.references, history.
"""

from . import proposal, reference_text, samples, text, tolerance
from .proposal import Proposal, TuneOptions
from .samples import ChosenSamples

__all__ = [
    "ChosenSamples",
    "Proposal",
    "TuneOptions",
    "proposal",
    "reference_text",
    "samples",
    "text",
    "tolerance",
]
