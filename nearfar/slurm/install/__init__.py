"""The files that a site installs for nightly sweeps, ``act``, the health check, prolog and epilog: rendered, compared, copied into place.

Needs: base, slurm.controller, slurm.health, slurm.results.
"""

from __future__ import annotations

from .installed import Installed, apply, changes, read, rendered
from .options import FOLDER, ON_NODES, PARTS, InstallOptions
