"""What findings about kernels say."""

from __future__ import annotations
