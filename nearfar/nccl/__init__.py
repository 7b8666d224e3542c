"""NVIDIA's nccl-tests: run, and read with NCCL's own log; why a collective is slower than its node allows.

See docs/use.md.

Needs: base, topology, topology.inventory, measurement, model.prediction, collective, binding, mpi, mpi.osu.
"""

from . import installed
from .busbw_figures import SIZES, figures, size_of
from .causes import NcclEvidence
from .comparison import as_slow_as, expected_of, has_multicast
from .installed import INSTALL
from .log import NcclLog, read_log
from .messages import CAUSE_CODES
from .ring import ring_hops
from .run_findings import findings, nccl_block
from .subjects import BUSBW, WITH_MULTICAST, NcclCase, cases, parse_case
from .table import SIGN, NcclTable, nccl_version, read_tables
