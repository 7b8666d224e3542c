"""A machine of two NUMA nodes made of two CPUs of this one, and a program that does what its words say."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from nearfar.topology import Gpu, Node, NumaNode, Package

#: Seeds ``random`` by the scheme, the program's words and how often it has run so: another value in each run, the same ones in each test.
SEEDED = """import os, random, sys
scheme = os.environ["NEARFAR_SCHEME"]
counted = os.path.join(os.path.dirname(sys.argv[0]), "-".join(["runs", scheme, *sys.argv[1:]]).replace("/", ""))
with open(counted, "a") as runs:
    runs.write("x")
    random.seed(counted.rpartition("/")[2] + str(runs.tell()))
"""
#: ``SCHEME=WORDS`` for what is done under a scheme, ``*`` for the others: ``slow`` takes half as long again by its own figure,
#: ``fail``, ``mute`` (no figure), ``twice``, ``answer``, ``move`` (binds itself), ``hang``, ``child`` (leaves one behind), ``tty``.
PROGRAM = (
    SEEDED
    + """
import subprocess, time
does = dict(word.split("=") for word in sys.argv[1:])
do = does.get(scheme, does.get("*", ""))
if do == "fail":
    sys.exit("Segmentation fault in " + scheme)
if do == "hang":
    time.sleep(60)
if do == "child":
    code = "import time; time.sleep(50)"
    child = subprocess.Popen([sys.executable, "-S", "-c", code], start_new_session=True)
    print("child", child.pid)
if do == "move":
    os.sched_setaffinity(0, {int(os.environ["FAKE_CPU"])})
    time.sleep(2.3)  # every two seconds it is looked at
if do == "tty":
    print("error: stdin is not a tty", file=sys.stderr)
    sys.exit(1)
where = ",".join(map(str, sorted(os.sched_getaffinity(0))))
if do != "mute":
    value = (15.0 if do == "slow" else 10.0) * random.gauss(1, 0.01)
    print("time of loop:", value, "on", where)
if do == "twice":
    print("time of loop: 3")
print("energy", -3.5 if do == "answer" else -3.25)
"""
)


def cpus() -> tuple[int, int]:
    """Two CPUs of this machine; skips where there is one."""
    here = sorted(os.sched_getaffinity(0))
    if len(here) < 2:
        pytest.skip("two CPUs are needed")
    return here[0], here[1]


def two_nodes(gpus: int = 1) -> Node:
    """Two NUMA nodes of one CPU each, the second without memory, so that memory binds nowhere; its GPUs hang on the first."""
    first, second = cpus()
    devices = tuple(Gpu(i, f"0000:0{i + 1}:00.0", numa_node=0, package=0) for i in range(gpus))
    nodes = (NumaNode(0, 0, (first,), 1 << 30), NumaNode(1, 1, (second,), 0))
    return Node(
        os.uname().nodename, (Package(0, (first,)), Package(1, (second,))), nodes, devices, allowed_cpus=(first, second)
    )


def program(folder: Path, *words: str) -> list[str]:
    """The command of the program."""
    path = folder / "fake.py"
    path.write_text(PROGRAM)
    return [sys.executable, "-S", str(path), *words]
