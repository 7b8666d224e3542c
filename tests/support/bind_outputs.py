"""What ``nearfar bind`` says of modelled and constructed nodes, kept in ``tests/data/bind/``.

Run ``python -m tests.support.bind_outputs`` after a change that is meant to change them, and read the difference.
"""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

from nearfar.cli import main

CHECKOUT = Path(__file__).resolve().parents[2]
FOLDER = CHECKOUT / "tests" / "data" / "bind"


def _constructed(name: str) -> list[str]:
    return ["--xml", str(CHECKOUT / "tests" / "data" / "topologies" / f"constructed-{name}.xml")]


#: File name -> the words after ``nearfar bind``.
CASES = {
    "keeneland": ["--node", "keeneland"],
    "keeneland-nic": ["--node", "keeneland", "--near", "nic", "--threads-per-rank", "2"],
    "keeneland-split": ["--node", "keeneland", "--near", "split"],
    "keeneland-12-ranks": ["--node", "keeneland", "--ranks-per-gpu", "4"],
    "keeneland-shared": ["--node", "keeneland", "--ranks-per-gpu", "5", "--oversubscribe"],
    "keeneland-wide": ["--node", "keeneland", "--threads-per-rank", "4"],
    "summit": ["--node", "summit", "--threads-per-rank", "7"],
    "summit-2-ranks": ["--node", "summit", "--ranks-per-gpu", "2"],
    "sierra": ["--node", "sierra"],
    "titan": ["--node", "titan"],
    "nic-behind-gpu-switch": _constructed("nic-behind-gpu-switch"),
    "eight-gpus": _constructed("eight-gpus-nvswitch-subnuma"),
    "four-numa-a-package-split": [*_constructed("four-numa-a-package"), "--near", "split", "--threads-per-rank", "4"],
    "restricted-cpuset": [*_constructed("restricted-cpuset"), "--gpus", "1"],
    "unknown-locality": _constructed("unknown-locality"),
    "grace-hopper": _constructed("grace-hopper"),
    "cpuless-memory": _constructed("cpuless-memory"),
    "mig": _constructed("mig"),
    "across-packages": ["--node", "jaguarpf", "--numa-nodes", "0,1", "--threads-per-rank", "1"],
    "keeneland-0-1-free": ["--node", "keeneland", "--numa-nodes", "0-1-free", "--gpus", "0-2"],
    "keeneland-0-0-1": ["--node", "keeneland", "--numa-nodes", "0-0-1", "--gpus", "0-2"],
    "keeneland-0-1-free.slurm": [
        "--node",
        "keeneland",
        "--numa-nodes",
        "0-1-free",
        "--gpus",
        "0-2",
        "--for",
        "slurm",
        "./xhpl",
    ],
    **{
        f"keeneland.{form}": ["--node", "keeneland", "--for", form, "./app", "--input", "a b"]
        for form in ("slurm", "openmpi", "mpich", "numactl", "taskset", "openmp")
    },
    "summit.slurm": ["--node", "summit", "--threads-per-rank", "7", "--for", "slurm", "./app"],
    "summit.openmpi": ["--node", "summit", "--threads-per-rank", "7", "--for", "openmpi", "./app"],
}


def said(words: list[str]) -> str:
    """The command's standard output."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(["bind", *words]) == 0
    return out.getvalue()


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, words in CASES.items():
        (FOLDER / f"{name}.txt").write_text(said(words))
