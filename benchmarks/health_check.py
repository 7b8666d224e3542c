#!/usr/bin/env python3
"""How long the health check takes as slurmd starts it, and the prolog: python benchmarks/health_check.py [RUNS]

Each run is a new process with slurmd's bare environment, on this machine. Prints wall seconds of the health check's process, with
those of CPU in brackets, of the look alone as the finding has it, and of the prolog, for which a job waits.
``HWLOC_XMLFILE`` and ``NEARFAR_SITE`` are handed on.
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

from nearfar.base import site_templates
from nearfar.base.places import IMPORT_PATH as CHECKOUT
from nearfar.slurm.health import QUICK_LIMIT


def main() -> None:
    """Time it and print a line a run."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 6
    with tempfile.TemporaryDirectory() as place:
        script, output = Path(place) / "health-check", Path(place) / "health"
        values = {
            "python": sys.executable,
            "checkout": str(CHECKOUT),
            "environment": {name: os.environ[name] for name in ("HWLOC_XMLFILE", "NEARFAR_SITE") if name in os.environ},
            "options": {"output": str(output), "state": place},
            "folder": place, "quick_limit": int(QUICK_LIMIT), "prolog": "note",
        }  # fmt: skip
        prolog = Path(place) / "prolog"
        for path, template in ((script, "health"), (prolog, "prolog")):
            path.write_text(site_templates.render(f"slurm/{template}.j2", values))
            path.chmod(0o755)
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; seconds: health check (CPU), its look, prolog")
        for _ in range(runs):
            whole, cpu = _timed(script)
            look = json.loads((output / "n1.json").read_text())["seconds"]
            print(f"{whole:.2f} ({cpu:.2f})  {look:.2f}  {_timed(prolog)[0]:.2f}")


def _timed(script: Path) -> tuple[float, float]:
    """Wall seconds of a program, and seconds of CPU of all that it has waited for."""
    began, before = time.monotonic(), os.times()
    environment = {"SLURMD_NODENAME": "n1", "PWD": "/", "SHLVL": "1"}
    subprocess.run([str(script)], env=environment, check=True, capture_output=True)
    wall, after = time.monotonic() - began, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return wall, cpu


if __name__ == "__main__":
    main()
