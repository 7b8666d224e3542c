"""Run nearfar from this checkout under a Python that has its dependencies but not nearfar (modules, a Spack view)."""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])

from nearfar.cli import main  # noqa: E402

sys.exit(main())
