"""Schemes under a real srun: a private Slurm of one node, which is this machine."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.support.private_slurm import PrivateSlurm, needed

from . import fakes

pytestmark = pytest.mark.slurm


def test_ranks_are_bound_below_srun(tmp_path: Path) -> None:
    needed()
    first, second = fakes.cpus()
    options = "--launcher srun --ranks 2 --threads-per-rank 1 --no-gpus --schemes default,right,free-free --runs 1 --warm-up 0 --json"
    script = tmp_path / "job.sh"
    words = " ".join(fakes.program(tmp_path))
    fom = "--fom 'time of loop: (\\S+)' --take greatest"
    script.write_text(
        f"#!/bin/bash\nexec {sys.executable} -m nearfar cost {options} {fom} -- {words} 2>{tmp_path}/err\n"
    )
    output = tmp_path / "out"
    with PrivateSlurm(cpus=len(os.sched_getaffinity(0)), gpus=0, nodes=1) as slurm:
        slurm.batch("--nodes=1", "--exclusive", "--ntasks-per-node=2", f"--output={output}", script)
    said = output.read_text()
    assert said.startswith("{"), said + (tmp_path / "err").read_text()
    found = json.loads(said)
    schemes = {each["name"]: each for each in found["schemes"]}
    assert [rank["cpus"] for rank in schemes["right"]["bindings"]] == [str(first), str(second)]
    assert all(len(rank["cpus"]) > 1 for rank in schemes["free-free"]["bindings"])
    assert len(schemes["default"]["bindings"]) == 2 and found["launcher"]["name"] == "srun"
    ran = [each for each in found["schemes"] if each["same_as"] is None]
    assert all(run["value"] for each in ran for run in each["runs"]), said
