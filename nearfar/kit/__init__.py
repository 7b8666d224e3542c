"""Measuring where nothing can be installed: the archive of programs and a shell script, and the file that it leaves, judged.

Needs: base, topology, cells, measurement, question, verdict, verdict.references, site, history, report, run.
"""

from __future__ import annotations

from . import gpu_ranges, offline_pack, packing, result_file
from .importing import SYSTEM, import_file
from .packing import pack
