"""References: the one place that says what a figure should be, and how that is known.

Needs: base, topology, cells, measurement, model, model.prediction, model.typical, nccl, question, verdict.thresholds.
"""

from . import model_ranges, software_changes, usual_rates
from .adjustments import of_one_measurement, on_host
from .model_ranges import ModelRanges, is_model_row
from .reference import Reference, figure, more_digits, with_unit
from .reference_files import INDEX, PROVENANCE, ReferenceFile, fastest_links, find, for_partition, known_checks
from .reference_row import ReferenceRow, RowPlace, place_key, row_name
from .resolution import by_check, model_of, of_question, question_of, resolve, row_keys
from .software_changes import SOFTWARE, WIDENED, FleetLevel
