"""The nodes of the job that this process is in."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

from nearfar.base import CouldNotJudge


def of_job() -> tuple[str, ...]:
    """Slurm's or PBS's nodes of this job, this machine where there is neither."""
    if names := os.environ.get("SLURM_JOB_NODELIST"):
        command = ["scontrol", "show", "hostnames", names]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
        except (OSError, subprocess.SubprocessError) as error:
            raise CouldNotJudge(
                f"scontrol does not list which nodes this job has: {error}; name them with --hosts"
            ) from None
        return tuple(done.stdout.split())
    if file := os.environ.get("PBS_NODEFILE"):
        try:
            return tuple(dict.fromkeys(Path(file).read_text(encoding="utf-8").split()))
        except OSError as error:
            raise CouldNotJudge(f"{file}: {error.strerror}; name the nodes with --hosts") from None
    return (socket.gethostname(),)
