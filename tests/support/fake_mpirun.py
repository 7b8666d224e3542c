#!/usr/bin/env python3
"""Stands in for mpirun and for OSU's benchmarks in tests: nothing runs, and the table of a machine with a slow package link
is printed. ``FAKE_MPI`` bends it in one way; the wrapper's files are written as it would write them.
"""

from __future__ import annotations

import marshal
import os
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from nearfar.mpi.osu.benchmarks import BENCHMARKS
from nearfar.mpi.osu.table import sizes

HELP = """Usage: osu_latency [options]
Options:
  -h, --help                print this help
  -m, --message-size        [MIN:]MAX - set the minimum and/or the maximum message size
  -c, --validation          Enable validation. Disabled by default.
  -T, --type                [all,mpi_char,mpi_int,mpi_float]
"""
CUDA_HELP = HELP + "  -d, --accelerator         TYPE - use accelerator device buffers\n"
CASE = os.environ.get("FAKE_MPI", "good")


def write_accounts(plan: Path) -> list[list[int]]:
    """What each rank would have left; returns the CPUs of each."""
    ranks = marshal.loads(plan.read_bytes())["ranks"]
    for number, rank in enumerate(ranks):
        if CASE == "no_wrapper" and number == 1:
            continue
        cpus = ranks[0]["cpus"] if CASE == "shares_a_core" else rank["cpus"]
        host = f"node{number // max(1, len(ranks) // 2)}" if CASE.startswith("two_nodes") else "here"
        lines = [{"rank": number, "pid": 1000 + number, "host": host, "cpus": cpus, "policy": rank["policy"] or "default",
                  "memory": rank["memory"], "memory_allowed": "0-63"},
                 {"running": [0, 1, 2, 3] if CASE == "moves_ranks" and number else cpus},
                 {"ended": True}]  # fmt: skip
        if CASE == "unbound":
            words = ",".join(map(str, cpus))
            lines = [{"unbound": f"rank {number} on here: cannot be bound to CPUs {words}: Invalid argument"}]
        Path(f"{plan}.{number}").write_text("".join(f"{dict(line, time=time.time())!r}\n" for line in lines))
    return [rank["cpus"] for rank in ranks]


def table(name: str, arguments: Sequence[str], slow: bool) -> str:
    """A table: half as fast where ranks are of two parities of CPUs (Keeneland's packages)."""
    benchmark = BENCHMARKS[name]
    accelerator = "-CUDA" if "cuda" in arguments and benchmark.says_cuda else ""
    bounds = arguments[arguments.index("-m") + 1]
    least, most = map(int, bounds.split(":"))
    validates = "-c" in arguments and CASE != "not_validated"
    heads = [heads[-1] for heads, *_ in benchmark.columns] + (["Validation"] if validates else [])
    lines = [f"# OSU MPI{accelerator} {benchmark.title} v7.4", "# Datatype: MPI_CHAR.", "# Size  " + "  ".join(heads)]
    for size in sizes(least, most):
        times = (0.4 + size / 5000) * (2 if slow else 1)
        figures = [
            times if "Latency" in head else size / times if "MB/s" in head else 1e6 / times
            for head in heads[: len(benchmark.columns)]
        ]
        words = [f"{figure:.2f}" for figure in figures]
        bad = CASE == "wrong_data" and size == 1024
        lines.append("  ".join([str(size), *words, *(["Fail" if bad else "Pass"] if validates else [])]))
    if CASE == "half_table" and not validates:
        lines = lines[:-2]
    if CASE == "other_benchmark":
        lines[0] = "# OSU MPI Broadcast Latency Test v7.4"
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """As ``mpirun [OPTION…] -n N PYTHON -I -S rank.py PLAN PROGRAM [ARGUMENT…]``, and ``--version``."""
    if "--version" in arguments:
        print("slurm 22.05.8" if CASE == "alone" else "mpirun (Open MPI) 4.1.4")
        return 0
    wrapper = next(i for i, word in enumerate(arguments) if word.endswith("rank.py"))
    plan, program, rest = Path(arguments[wrapper + 1]), Path(arguments[wrapper + 2]).name, arguments[wrapper + 3 :]
    if CASE == "refuses":
        print("mpirun has detected an attempt to run as root.", file=sys.stderr)
        return 1
    cpus = write_accounts(plan)
    if CASE == "unbound":
        return 3
    if "-h" in rest:
        print(CUDA_HELP if CASE.startswith("cuda") else HELP)
        return 0
    if CASE == "alone":
        print("This test requires exactly two processes", file=sys.stderr)
        return 1
    if CASE == "hang" and "-c" not in rest:
        time.sleep(60)
    if CASE == "dies" and "-c" not in rest:
        print(
            "mpirun noticed that process rank 1 with PID 0 on node here exited on signal 9 (Killed).", file=sys.stderr
        )
        return 137
    if CASE == "cuda_dies" and "cuda" in rest:
        print("[here:1001] *** Process received signal 11 ***", file=sys.stderr)
        print("process rank 0 with PID 0 on node here exited on signal 11 (Segmentation fault).", file=sys.stderr)
        return 139
    if CASE.startswith("two_nodes"):
        nic = marshal.loads(plan.read_bytes())["ranks"][0]["environment"].get("UCX_NET_DEVICES", "")
        if CASE != "two_nodes_silent":
            print(f"UCX  INFO  ep_cfg[1]: tag(rc_mlx5/{'mlx5_7:1' if CASE == 'two_nodes_other_nic' else nic})")
    text = table(program, rest, len({cpu % 2 for each in cpus for cpu in each}) > 1)
    if CASE == "cuda_host_table":
        text = re.sub("MPI-CUDA", "MPI", text)
    print(text, end="")
    return 1 if CASE == "wrong_data" and "Fail" in text else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
