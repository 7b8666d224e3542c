#!/usr/bin/env python3
"""How long the health check takes as slurmd starts it: python benchmarks/health_check.py [RUNS]

Each run is a new process with slurmd's bare environment, on this machine. Prints wall seconds of the whole process, and of
the look alone as the finding has it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nearfar.base.files import CHECKOUT
from nearfar.slurm.controller import templates


def main() -> None:
    """Time it and print a line a run."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 6
    with tempfile.TemporaryDirectory() as place:
        script, output = Path(place) / "health-check", Path(place) / "health"
        values = {
            "python": sys.executable,
            "checkout": str(CHECKOUT),
            "environment": {},
            "options": {"output": str(output)},
        }
        script.write_text(templates.render("health", values))
        script.chmod(0o755)
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; seconds: whole process, look alone")
        for _ in range(runs):
            began = time.monotonic()
            subprocess.run(
                [str(script)], env={"SLURMD_NODENAME": "n1", "PWD": "/", "SHLVL": "1"}, check=True, capture_output=True
            )
            whole = time.monotonic() - began
            print(f"{whole:.2f}  {json.loads((output / 'n1.json').read_text())['seconds']:.2f}")


if __name__ == "__main__":
    main()
