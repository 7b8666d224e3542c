"""References from runs: limits with statistics that hold, as a diff that a person reviews.

Needs: base, topology, cells, measurement, model.prediction, question, verdict, verdict.references, verdict.thresholds, history.
"""

from . import limits, proposal, reference_text, samples, text
from .limits import TunedLimit
from .proposal import Proposal, TuneOptions
from .samples import ChosenSamples, NodeFigure, Pool
