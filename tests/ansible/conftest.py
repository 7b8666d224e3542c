"""Hosts that the roles are played on."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]


def ready_made() -> str:
    """Shell commands that put this checkout's environment and programs where the role ``pack`` would make them anew."""
    made = subprocess.run(
        [sys.executable, CHECKOUT / "setup/build", "--tests", "--print"], capture_output=True, text=True, check=True
    )
    build = Path(made.stdout.strip()).parent
    environment = Path(sys.prefix).resolve()
    return f"""
mkdir -p opt/nearfar/build
ln -s {shlex.quote(str(environment))} opt/nearfar/.venv
ln -s {shlex.quote(str(build.resolve()))} opt/nearfar/build/{build.name}
"""
