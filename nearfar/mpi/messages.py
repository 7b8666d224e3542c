"""What findings about MPI say."""

from __future__ import annotations
