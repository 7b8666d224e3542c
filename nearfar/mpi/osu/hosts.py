"""The nodes of the job that this process is in."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path

from nearfar.base import CouldNotJudge


def of_job(environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Slurm's or PBS's nodes of this job, this machine where there is neither."""
    env = os.environ if environment is None else environment
    if env.get("SLURM_JOB_NODELIST"):
        command = ["scontrol", "show", "hostnames", env["SLURM_JOB_NODELIST"]]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
        except (OSError, subprocess.SubprocessError) as error:
            raise CouldNotJudge(
                f"scontrol does not list which nodes this job has: {error}; name them with --hosts"
            ) from None
        return tuple(done.stdout.split())
    if env.get("PBS_NODEFILE"):
        try:
            return tuple(dict.fromkeys(Path(env["PBS_NODEFILE"]).read_text(encoding="utf-8").split()))
        except OSError as error:
            raise CouldNotJudge(f"{env['PBS_NODEFILE']}: {error.strerror}; name the nodes with --hosts") from None
    return (socket.gethostname(),)
