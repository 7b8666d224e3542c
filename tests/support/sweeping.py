"""What tests of sweeps share: a site of four pretended H200 nodes, whose hardware is a word in each node's own directory."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from nearfar.base.places import IMPORT_PATH as CHECKOUT
from nearfar.slurm.sweep.sweep_file import Sweep, SweepJob
from tests.support import fake_quick
from tests.support.private_slurm import PrivateSlurm

_SYSTEM = """\
system: mine
hosts: ["n[1-9]"]
partitions:
  - {name: gpu, node_type: h200-x4-vm, references: mine, features: [{features}], scheduler: squeue, launcher: srun, access: [-p all]}
"""
_REFERENCES = """\
provenance: {tuned: {date: 2026-11-20, n: 4}}
host_device_check:
  sole.h2d: [55.5, -0.05, null, GB/s]
peer_check:
  NV18.write: [396, -0.05, null, GB/s]
"""
#: The file in a node's own directory that says how its hardware is: a case of ``fake_quick``.
HARDWARE = "hardware"


def site(place: Path, slurm: PrivateSlurm, features: str = "gpu", python: str = sys.executable) -> dict[str, str]:
    """Write the site and its stand-in for nearfar-copy, which measures the hardware of the node that it runs on; returns
    the variables that lead there."""
    for folder in ("site/systems", "site/references", "bin"):
        (place / folder).mkdir(parents=True)
    (place / "site/systems/mine.yaml").write_text(_SYSTEM.replace("{features}", features))
    (place / "site/references/mine.yaml").write_text(_REFERENCES)
    program = place / "bin/nearfar-copy"
    hardware = f"{slurm.node}/{HARDWARE}"
    program.write_text(
        f"#!/bin/sh\nwhile [ $(cat {hardware}) = busy ]; do sleep 0.1; done\n"
        f'FAKE_HOSTNAME=$(hostname) FAKE_CASE=$(cat {hardware}) exec {python} {fake_quick.__file__} "$@"\n'
    )
    program.chmod(0o755)
    for name in slurm.names:
        build(slurm, name, "good")
    return {
        "NEARFAR_SITE": str(place / "site"), "NEARFAR_PROGRAMS": str(place / "bin"), "PYTHONPATH": str(CHECKOUT),
        "NEARFAR_STATE": str(place / "state"),
    }  # fmt: skip


def planned(folder: Path, jobs: Sequence[str | SweepJob], **more: Any) -> Sweep:
    """A sweep in ``folder`` over some nodes, or of some jobs."""
    made = [SweepJob((job,)) if isinstance(job, str) else job for job in jobs]
    values = {
        "level": "accept",
        "partition": "gpu",
        "minutes": 10,
        "max_jobs": 32,
        "started": 1000.0,
        "deadline": 5000.0,
    }
    return Sweep(folder=folder, jobs={job.name: job for job in made}, **{**values, **more})


def build(slurm: PrivateSlurm, node: str, hardware: str) -> None:
    """Put hardware into a node: ``good`` or ``slow``; ``busy`` does not answer until it is another."""
    (slurm.own(node) / HARDWARE).write_text(hardware)


def stand_in_jobs(site_directory: Path, script: str) -> None:
    """Let a sweep's jobs run ``script`` (``$1``: the node, ``$2``: the attempt) in place of the measurement."""
    folder = site_directory / "templates/slurm"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "job.sh.j2").write_text("#!/bin/bash\n" + script)


def started(
    slurm: PrivateSlurm, variables: dict[str, str], *words: str, before: Sequence[str] = (sys.executable,)
) -> subprocess.Popen[str]:
    """``nearfar slurm`` in that Slurm; ``before`` is what starts it."""
    return subprocess.Popen(
        [*before, "-m", "nearfar", "slurm", *words], env={**slurm.environment, **variables},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def until_all_have_ended(slurm: PrivateSlurm) -> None:
    """Wait until no job is left. A squeue that fails under load says nothing either."""
    until(lambda: (asked := slurm.run(["squeue", "-h"])).returncode == 0 and not asked.stdout, "all jobs have ended")


def until(holds: Callable[[], bool], what: str, limit: float = 60.0) -> None:
    """Wait for a condition; ``what`` is said where it does not come."""
    end = time.monotonic() + limit
    while not holds():
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.1)
