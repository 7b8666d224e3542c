"""The files that a site installs for nightly sweeps, ``act``, the health check, prolog and epilog: rendered, compared, copied into place;
and ten questions about an installation (``doctor``), each answered in one line with what to type where it is bad.

Needs: base, site.lint, slurm.act, slurm.controller, slurm.health, slurm.results, slurm.trust.
"""

from __future__ import annotations

from . import doctor
from .installed import FOLDER, PARTS, Installed, InstallOptions, apply, changes, read, rendered
