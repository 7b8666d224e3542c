"""``nearfar slurm doctor``: whether what nearfar slurm install has installed works, and what to do where not; nothing is written.

Needs: base, verdict, site, site.lint, prometheus, slurm.act, slurm.controller, slurm.findings, slurm.health, slurm.install, slurm.trust.
"""

from __future__ import annotations

from .answer import NOT_LOOKED, OK, PROBLEM, DoctorAnswer, exit_code
from .doctor import ask_all
from .installed_site import InstalledSite

__all__ = [
    "NOT_LOOKED",
    "OK",
    "PROBLEM",
    "DoctorAnswer",
    "InstalledSite",
    "ask_all",
    "exit_code",
]
