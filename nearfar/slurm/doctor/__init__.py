"""``nearfar slurm doctor``: ten questions about an installation, each answered in one line with what to type where it is bad.

Needs: base, site.lint, slurm.act, slurm.controller, slurm.install, slurm.trust.
"""

from __future__ import annotations

from .questions import PROBLEM, Installation, ask_all
