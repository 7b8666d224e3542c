"""The history: every real run's figures as rows in Parquet, beside the documents that they come from.

polars is loaded as ``pl`` when it is first used; without it the room can be imported, and what reads or writes rows raises
``NearfarError``.

Needs: base, measurement, verdict, verdict.references, verdict.thresholds, site.
"""

from . import fleet_findings, fleet_levels, messages, series, text
from .baselines import NodeHistory
from .compaction import compact
from .lazy_polars import need_polars, no_polars, pl
from .node_rows import begin_anew
from .places import VARIABLE, directory, readable
from .recording import record
from .rows import figure_rows, short_name
from .schema import unsound
from .series import LESS_IS_BETTER, Series
from .store import History, RowFilter, trusted
