"""A command does all that it was requested, and says how that went in its exit code, wherever its output goes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import CHECKOUT

#: A command that tells of each step, as `nearfar slurm clear` does, and then ends with the code 3 or the one in CODE.
STEPS = """
import os, sys
from pathlib import Path
from nearfar import cli
from nearfar.commands import schema

def run(args):
    for step in range(3):
        print(step, flush=True)
        print("step", step, file=sys.stderr)
        with open("done", "a") as done:
            done.write(str(step))
    return int(os.environ.get("CODE", "3"))

schema.run = run
sys.exit(cli.main(["schema", "system"]))
"""


def ended(tmp_path: Path, ending: str, code: int = 3) -> subprocess.CompletedProcess[str]:
    (tmp_path / "steps.py").write_text(STEPS)
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT), "CODE": str(code)}
    words = ["bash", "-c", f"{sys.executable} steps.py {ending}"]
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60)
    assert (tmp_path / "done").read_text() == "012", done.stderr
    return done


@pytest.mark.parametrize(
    "output", ["> >(exit)", "2> >(exit)", "> >(exit) 2>&1", ">&-", "2>&-", "<&- >&- 2>&-", "> /dev/full 2>&1"]
)
def test_the_work_and_its_code_are_the_same_wherever_the_output_goes(tmp_path: Path, output: str) -> None:
    done = ended(tmp_path, f"{output}; code=$?; wait; exit $code")
    assert done.returncode == 3 and "Traceback" not in done.stderr


def test_lost_output_is_told(tmp_path: Path) -> None:
    done = ended(tmp_path, "> /dev/full", code=0)
    last = "nearfar: standard output cannot be written: No space left on device; send it to another place"
    assert (done.returncode, done.stderr.splitlines()[-1]) == (3, last)
